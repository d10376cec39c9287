"""A backup brought into an empty store: all digests first, then the files, then the rows."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from miner_service.operations.backup import (
    AUDIT,
    FORMAT,
    LIST,
    ROWS,
    Progress,
    StoredFile,
    files_of,
)
from miner_service.operations.rows import copy_rows, is_empty
from miner_service.services import Services
from miner_service.store.files.durable import settle, storing
from miner_service.store.files.segments import file_sha256
from miner_service.store.identity import require_one_store
from miner_service.store.sqlite import SqliteStore
from pramana_core.errors import Conflict, OptionError, StoreCorrupt


@dataclass(frozen=True)
class RestoreSummary:
    """What was restored; `made` is when the backup was."""

    made: str
    rows: int
    files: int


def restore(services: Services, folder: Path, progress: Progress) -> RestoreSummary:
    """Bring a backup into an empty store, whatever kind of store it was made of.

    The store has an identity of its own, not that of the store the backup is of. Interrupted, it
    leaves a store without rows, into which the same backup can be brought again.

    Raises:
        OptionError: the folder holds no backup, or one of a later version.
        StoreCorrupt: the backup is damaged; nothing was changed.
        Conflict: the store is not empty; nothing was changed.
        StoreMismatch: its place of files is another store's; nothing was changed.
        StorageFull, NotReady: the store's disk, or its database.
    """
    told = read_list(folder)
    _require_empty(services, told["files"].get(AUDIT))
    require_undamaged(folder, told["files"], progress)
    require_one_store(services.database, services.segments, begin=True)
    services.segments.prepare()
    with _rows_of(services, folder) as backup:
        with backup.read() as session:
            files = list(files_of(session))
        _require_all(folder, files, told["files"])
        for done, file in enumerate(files):
            progress(done, len(files))
            _put(services, folder, file)
        if AUDIT in told["files"]:
            scratch = services.segments.scratch_path()
            with storing("The audit log", scratch):
                shutil.copyfile(folder / AUDIT, scratch)
                scratch.chmod(0o600)
                settle(scratch, services.audit.path)
        with backup.read() as source, services.database.write() as target:
            if not is_empty(target):
                raise _not_empty()
            rows = copy_rows(source, target)
    return RestoreSummary(str(told["made"]), rows, len(files))


def read_list(folder: Path) -> dict[str, Any]:
    """Return the list of a backup's files. Raises OptionError."""
    try:
        told = json.loads((folder / LIST).read_bytes())
        form, files = int(told["format"]), dict(told["files"])
        told["made"], files[ROWS]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise OptionError(
            f"There is no finished backup in {folder}.",
            where="folder",
            remedy=f"Name a folder that `miner-service backup` made, with its {LIST}.",
        ) from error
    if form != FORMAT:
        raise OptionError(
            f"The backup in {folder} has format {form}; this version reads {FORMAT}.",
            where="folder",
            remedy="Use the version of the miner that made it.",
        )
    return dict(told)


def require_undamaged(folder: Path, digests: dict[str, str], progress: Progress) -> None:
    """Check every file of a backup against the list. Raises StoreCorrupt."""
    for done, (name, digest) in enumerate(sorted(digests.items())):
        progress(done, len(digests))
        path = folder / name
        if not path.is_file() or file_sha256(path) != digest:
            raise _damaged(f"The file {name} of the backup is not as it was made.", name)


def _require_all(folder: Path, files: list[StoredFile], digests: dict[str, str]) -> None:
    for file in files:
        if digests.get(file.path) != file.sha256:
            raise _damaged(f"The rows of the backup in {folder} name other files.", file.path)


def _damaged(message: str, where: str) -> StoreCorrupt:
    return StoreCorrupt(message, where=where, remedy="Nothing was restored. Use another backup.")


def _require_empty(services: Services, audit: str | None) -> None:
    """Check that nothing is there, but what an interrupted restoration of this backup left."""
    with services.database.read() as session:
        empty = is_empty(session)
    log = services.audit.path
    other = log.exists() and log.stat().st_size > 0 and file_sha256(log) != audit
    if not empty or other:
        raise _not_empty()


def _not_empty() -> Conflict:
    return Conflict(
        "The store is not empty; nothing was restored.",
        where="data",
        remedy="Name a data directory that is not there yet (--data), and an empty database.",
    )


@contextmanager
def _rows_of(services: Services, folder: Path) -> Iterator[SqliteStore]:
    """Open a copy of a backup's rows, whose tables may be of an earlier revision."""
    scratch = services.segments.scratch_path()
    with storing("A copy of the backup's rows", scratch):
        shutil.copyfile(folder / ROWS, scratch)
        database = SqliteStore(scratch)
        try:
            yield database
        finally:
            database.close()
            scratch.unlink()


def _put(services: Services, folder: Path, file: StoredFile) -> None:
    scratch = services.segments.scratch_path()
    with storing("The backup", scratch):
        shutil.copyfile(folder / file.path, scratch)
    if file.number is None:
        services.segments.put_data(file.release, scratch)
    else:
        services.segments.put_part(file.release, file.number, scratch)
