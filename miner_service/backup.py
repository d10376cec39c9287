"""Backups: a copy of everything a miner stores, made while it runs, and restored.

The rows are those of one moment, at which the files that they name are linked: no file changes.
The list of all files with their digests is written last; without it the folder is no backup.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from miner_service.services import Services
from miner_service.store.durable import file_sha256, flush, settle, storing, sync_directory
from miner_service.store.identity import require_one_store
from miner_service.store.releases import kind_of_release
from miner_service.store.schema import PartRow, ReleaseRow
from miner_service.store.segments import part_name
from miner_service.store.sql_database import HEAD
from miner_service.store.sqlite import SqliteStore
from miner_service.store.tables import copy_rows, is_empty
from pramana_core.audit import LONGEST
from pramana_core.errors import Conflict, OptionError, StorageFull, StoreCorrupt

Progress = Callable[[float, float | None], None]
"""Receives the work done, and the whole."""

FORMAT = 1
LIST, ROWS, AUDIT = "backup.json", "rows.sqlite", "audit.jsonl"


@dataclass(frozen=True)
class StoredFile:
    """A file that rows name: a part of an open release, or the columns of a sealed one."""

    release: str
    number: int | None
    sha256: str

    @property
    def path(self) -> str:
        """Its path in a backup, and below the folder of the records."""
        if self.number is None:
            return f"columns/{self.release}.arrow"
        return f"parts/{self.release}/{part_name(self.number)}"


@dataclass(frozen=True)
class BackupSummary:
    """The size of a backup, and when it was made."""

    made: str
    rows: int
    files: int
    bytes: int


def files_of(session: Session) -> Iterator[StoredFile]:
    """Yield the files that rows name."""
    for release in session.scalars(select(ReleaseRow).order_by(ReleaseRow.seq)).all():
        if not kind_of_release(release).has_records:
            continue
        if release.state == "sealed":
            yield StoredFile(release.id, None, str(release.data_sha256))
        elif release.state == "open":
            parts = select(PartRow).where(
                PartRow.release == release.id, PartRow.received.is_not(None)
            )
            for part in session.scalars(parts.order_by(PartRow.number)):
                yield StoredFile(release.id, part.number, part.sha256)


def back_up(services: Services, folder: Path, progress: Progress) -> BackupSummary:
    """Copy a store into a new folder; after an error nothing of it is left.

    Raises:
        OptionError: the folder is not empty.
        StoreCorrupt: a file of the store is damaged.
        StorageFull, NotReady: the folder's disk, or the store.
    """
    with storing("The backup"):
        new = not folder.exists()
        if not new and (not folder.is_dir() or any(folder.iterdir())):
            raise OptionError(
                f"The folder {folder} is not empty.",
                where="folder",
                remedy="Name a new folder: each backup has one of its own.",
            )
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    links = services.segments.scratch_path()
    try:
        with storing("The backup"):
            return _back_up(services, folder, links, progress)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if not new:
            folder.mkdir(mode=0o700)
        if isinstance(error, StorageFull):
            raise StorageFull(
                f"There is no room for a backup in {folder}; nothing of it is left there.",
                where="folder",
                remedy="Make room there, or name a folder on another disk.",
            ) from error
        raise
    finally:
        shutil.rmtree(links, ignore_errors=True)


def _back_up(services: Services, folder: Path, links: Path, progress: Progress) -> BackupSummary:
    with services.database.read() as source:
        # While nobody else may write, the files are those of the rows.
        with services.database.write():
            files = list(files_of(source))
            for file in files:
                _link(services.segments.root / file.path, links / file.path, file)
        with closing(SqliteStore(folder / ROWS)) as database, database.write() as target:
            rows = copy_rows(source, target)
    digests = {file.path: file.sha256 for file in files}
    for done, file in enumerate(files):
        progress(done, len(files))
        (folder / file.path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(links / file.path, folder / file.path)
        if file_sha256(folder / file.path) != file.sha256:
            raise _damaged_file(file)
    _copy_audit(services.audit.path, folder / AUDIT)
    for name in (ROWS, AUDIT):
        if (folder / name).exists():
            digests[name] = file_sha256(folder / name)
    for name in digests:
        flush(folder / name)
    for path in folder.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
        if path.is_dir():
            sync_directory(path)
    size = sum((folder / name).stat().st_size for name in digests)
    summary = BackupSummary(services.now().isoformat(), rows, len(files), size)
    listing = {
        "format": FORMAT,
        "schema": HEAD,
        "made": summary.made,
        "rows": rows,
        "files": digests,
    }
    scratch = folder / f".{LIST}"
    scratch.write_text(json.dumps(listing, indent=1) + "\n", encoding="utf-8")
    scratch.chmod(0o600)
    settle(scratch, folder / LIST)
    return summary


def _link(path: Path, link: Path, file: StoredFile) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(path, link)
    except FileNotFoundError as error:
        raise _damaged_file(file) from error


def _damaged_file(file: StoredFile) -> StoreCorrupt:
    return StoreCorrupt(
        f"The file {file.path} is not as it was acknowledged; there is no backup.",
        where=file.release,
        remedy="Restore an earlier backup, or withdraw the release; `check` lists all damage.",
    )


def _copy_audit(source: Path, target: Path) -> None:
    """Copy the whole lines of the audit log, which may grow meanwhile."""
    if not source.exists():
        return
    shutil.copyfile(source, target)
    with target.open("r+b") as file:
        end = file.seek(0, 2)
        tail = file.seek(max(end - 2 * LONGEST, 0))
        file.truncate(tail + file.read().rfind(b"\n") + 1)


def restore(services: Services, folder: Path, progress: Progress) -> BackupSummary:
    """Copy a backup into an empty store, of whatever kind.

    The store keeps an identity of its own. Interrupted, it has no rows, and the same backup can be
    restored again.

    Raises:
        OptionError: the folder holds no backup, or one of another format.
        StoreCorrupt: the backup is damaged; nothing was changed.
        Conflict: the store is not empty; nothing was changed.
        StoreCorrupt: the files belong to another store; nothing was changed.
        StorageFull, NotReady: the store's disk, or its database.
    """
    listing = _read_list(folder)
    digests = listing["files"]
    _require_empty(services, digests.get(AUDIT))
    for done, (name, digest) in enumerate(sorted(digests.items())):
        progress(done, len(digests))
        if not (folder / name).is_file() or file_sha256(folder / name) != digest:
            raise _damaged_backup(f"The file {name} of the backup is damaged.", name)
    require_one_store(services.database, services.segments, begin=True)
    services.segments.prepare()
    copy = services.segments.scratch_path()
    with storing("The backup", copy):
        shutil.copyfile(folder / ROWS, copy)
        with closing(SqliteStore(copy)) as backup, backup.read() as source:
            files = list(files_of(source))
            for file in files:
                if digests.get(file.path) != file.sha256:
                    raise _damaged_backup("The rows of the backup name other files.", file.path)
            for done, file in enumerate(files):
                progress(done, len(files))
                _put(services, folder, file)
            if AUDIT in digests:
                scratch = services.segments.scratch_path()
                shutil.copyfile(folder / AUDIT, scratch)
                scratch.chmod(0o600)
                settle(scratch, services.audit.path)
            with services.database.write() as target:
                if not is_empty(target):
                    raise _not_empty()
                rows = copy_rows(source, target)
        copy.unlink()
    size = sum((folder / name).stat().st_size for name in digests)
    return BackupSummary(str(listing["made"]), rows, len(files), size)


def _read_list(folder: Path) -> dict[str, Any]:
    try:
        listing = json.loads((folder / LIST).read_bytes())
        form, files = int(listing["format"]), dict(listing["files"])
        listing["made"], files[ROWS]
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
    return dict(listing)


def _damaged_backup(message: str, where: str) -> StoreCorrupt:
    return StoreCorrupt(message, where=where, remedy="Nothing was restored. Use another backup.")


def _require_empty(services: Services, audit: str | None) -> None:
    """Check that the store is empty, but for what an interrupted restore of this backup left."""
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
        remedy="Name a new data directory (--data), and an empty database.",
    )


def _put(services: Services, folder: Path, file: StoredFile) -> None:
    scratch = services.segments.scratch_path()
    shutil.copyfile(folder / file.path, scratch)
    if file.number is None:
        services.segments.put_data(file.release, scratch)
    else:
        services.segments.put_part(file.release, file.number, scratch)
