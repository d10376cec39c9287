"""Backups: copying the whole store of a running miner, and restoring it.

The list of all files with their digests is written last. A folder without the list is not a backup.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session

from miner_service.services import Services
from miner_service.store.durable import file_sha256, settle, storing
from miner_service.store.identity import note_backup, require_one_store
from miner_service.store.releases import kind_of_release
from miner_service.store.schema import PartRow, ReleaseRow
from miner_service.store.segments import part_name
from miner_service.store.sqlite import SqliteStore
from miner_service.store.tables import copy_rows, is_empty
from pramana_core.audit import AUDIT
from pramana_core.errors import Conflict, OptionError, StorageFull, StoreCorrupt

Progress = Callable[[float, float | None], None]
"""A function that receives the work done and the total work."""

FORMAT = 1
LIST, ROWS = "backup.json", "rows.sqlite"


@dataclass(frozen=True)
class StoredFile:
    """A file of a release: a part of an open release, or the columns of a sealed release."""

    release: str
    number: int | None
    sha256: str

    @property
    def path(self) -> str:
        """The path of the file, relative to the backup and to the folder of records."""
        if self.number is None:
            return f"columns/{self.release}.arrow"
        return f"parts/{self.release}/{part_name(self.number)}"


@dataclass(frozen=True)
class BackupSummary:
    """The time of a backup, and its counts of rows and files."""

    made: str
    rows: int
    files: int


def files_of(session: Session) -> Iterator[StoredFile]:
    """Yield the files that the rows of the database refer to."""
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
    """Copy a store into a new folder. Raises OptionError, StoreCorrupt, StorageFull, NotReady."""
    if folder.exists():
        raise OptionError(
            f"{folder} already exists.", where="folder", remedy="Name a new folder for each backup."
        )
    links = services.segments.scratch_path()
    try:
        with storing("The backup"):
            folder.mkdir(parents=True, mode=0o700)
            return _back_up(services, folder, links, progress)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, StorageFull):
            raise StorageFull(
                f"The disk has no space for a backup in {folder}; the partial backup was removed.",
                where="folder",
                remedy="Free space on the disk, or name a folder on another disk.",
            ) from error
        raise
    finally:
        shutil.rmtree(links, ignore_errors=True)


def _back_up(services: Services, folder: Path, links: Path, progress: Progress) -> BackupSummary:
    with services.database.read() as source:
        # Under the write lock, the files match the rows.
        with services.database.write():
            files = list(files_of(source))
            for file in files:
                _link(services.segments.root / file.path, links / file.path, file)
        with closing(SqliteStore(folder / ROWS)) as database, database.write() as target:
            rows = copy_rows(source, target)
    digests = {ROWS: file_sha256(folder / ROWS)}
    for done, file in enumerate(files):
        progress(done, len(files))
        digests[file.path] = _copy(links / file.path, folder / file.path)
        if digests[file.path] != file.sha256:
            raise _damaged_file(file)
    digests[AUDIT] = _copy(services.audit.path, folder / AUDIT)
    os.sync()
    made = services.now().isoformat()
    scratch = folder / f".{LIST}"
    scratch.touch(mode=0o600)
    listing = {"format": FORMAT, "made": made, "files": digests}
    scratch.write_text(json.dumps(listing, indent=1) + "\n", encoding="utf-8")
    settle(scratch, folder / LIST)
    with services.database.write() as session:
        note_backup(session, services.now())
    return BackupSummary(made, rows, len(files))


def _link(path: Path, link: Path, file: StoredFile) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(path, link)
    except FileNotFoundError as error:
        raise _damaged_file(file) from error


def _copy(source: Path, target: Path) -> str:
    """Copy a file so that only its owner can read it; return the SHA-256 of the copy."""
    for folder in reversed(target.parents):
        folder.mkdir(exist_ok=True, mode=0o700)
    target.touch(mode=0o600)
    shutil.copyfile(source, target)
    return file_sha256(target)


def _damaged_file(file: StoredFile) -> StoreCorrupt:
    return StoreCorrupt(
        f"The file {file.path} is damaged or missing; no backup was made.",
        where=file.release,
        remedy="Restore an earlier backup, or withdraw the release; `check` lists all damage.",
    )


def restore(services: Services, folder: Path, progress: Progress) -> BackupSummary:
    """Copy a backup into an empty store. A restore that was interrupted can be repeated.

    Raises OptionError, StoreCorrupt, Conflict, StorageFull, NotReady.
    """
    made, digests = _read_list(folder)
    log, segments = services.audit.path, services.segments
    with services.database.read() as session:
        empty = is_empty(session)
    # After an interrupted restore, the log is the backup's.
    if not empty or (log.stat().st_size and file_sha256(log) != digests.get(AUDIT)):
        raise _not_empty()
    for done, (name, digest) in enumerate(sorted(digests.items())):
        progress(done, len(digests))
        if not (folder / name).is_file() or file_sha256(folder / name) != digest:
            raise _damaged_backup(f"The file {name} of the backup is damaged.", name)
    require_one_store(services.database, segments, begin=True)
    segments.prepare()
    copy = segments.scratch_path()
    with storing("The backup", copy):
        shutil.copyfile(folder / ROWS, copy)
        with closing(SqliteStore(copy)) as backup, backup.read() as source:
            files = list(files_of(source))
            for file in files:
                if digests.get(file.path) != file.sha256:
                    raise _damaged_backup("The backup's rows do not match its files.", file.path)
            for done, file in enumerate(files):
                progress(done, len(files))
                scratch = segments.scratch_path()
                shutil.copyfile(folder / file.path, scratch)
                if file.number is None:
                    segments.put_data(file.release, scratch)
                else:
                    segments.put_part(file.release, file.number, scratch)
            if AUDIT in digests:  # a backup of an earlier version may have none
                scratch = segments.scratch_path()
                _copy(folder / AUDIT, scratch)
                settle(scratch, log)
            services.audit.require_room()
            with services.database.write() as target:
                if not is_empty(target):
                    raise _not_empty()
                rows = copy_rows(source, target)
        copy.unlink()
    return BackupSummary(made, rows, len(files))


def _read_list(folder: Path) -> tuple[str, dict[str, str]]:
    """Return the time of a backup and the digests of its files. Raises OptionError."""
    try:
        listing = json.loads((folder / LIST).read_bytes())
        form, made, files = listing["format"], str(listing["made"]), dict(listing["files"])
        files[ROWS]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise OptionError(
            f"{folder} has no complete backup.",
            where="folder",
            remedy=f"Name a folder that `miner-service backup` wrote, with its {LIST}.",
        ) from error
    if form != FORMAT:
        raise OptionError(
            f"The backup in {folder} has format {form}; this version reads {FORMAT}.",
            where="folder",
            remedy="Use the version of the miner that made the backup.",
        )
    return made, files


def _damaged_backup(message: str, where: str) -> StoreCorrupt:
    return StoreCorrupt(message, where=where, remedy="Nothing was restored. Use another backup.")


def _not_empty() -> Conflict:
    return Conflict(
        "The store is not empty; nothing was restored.",
        where="data",
        remedy="Name a new data directory (--data) and an empty database.",
    )
