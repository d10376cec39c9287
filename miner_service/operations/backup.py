"""A copy of everything a miner stores, made while it runs.

The rows are those of one moment. Files that they name never change, so they are copied afterwards;
where one is gone because its release was sealed or withdrawn meanwhile, the rows are read anew. The
list of all files with their digests is written last: without it there is no backup.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session

from miner_service.operations.rows import copy_rows
from miner_service.services import Services
from miner_service.store.files.durable import flush, storing, sync_directory
from miner_service.store.files.segments import damaged_columns, file_sha256, part_name
from miner_service.store.migrations import HEAD
from miner_service.store.releases import kind_of_release
from miner_service.store.schema import PartRow, ReleaseRow
from miner_service.store.sqlite import SqliteStore
from pramana_core.audit.chain import LONGEST
from pramana_core.errors import NotReady, OptionError, StorageFull, StoreCorrupt

Progress = Callable[[float, float | None], None]
"""Told how much is done, and of how much."""

FORMAT = 1
LIST, ROWS, AUDIT = "backup.json", "rows.sqlite", "audit.jsonl"
_MOST_TRIES = 20


@dataclass(frozen=True)
class StoredFile:
    """A file that rows name: a part of an open release, or the columns of a sealed one."""

    release: str
    number: int | None
    sha256: str

    @property
    def path(self) -> str:
        """Where it is in a backup."""
        if self.number is None:
            return f"columns/{self.release}.arrow"
        return f"parts/{self.release}/{part_name(self.number)}"


@dataclass(frozen=True)
class BackupSummary:
    """What is in a backup."""

    rows: int
    files: int
    bytes: int


def back_up(services: Services, folder: Path, progress: Progress) -> BackupSummary:
    """Copy a store into a new folder; it is the backup of one moment, or it is not there.

    Raises:
        OptionError: the folder has something in it.
        StoreCorrupt: a file of the store is damaged; there is no backup.
        StorageFull, NotReady: the folder's disk, or the store.
    """
    with storing("The backup"):
        new = not folder.exists()
        if not new and (not folder.is_dir() or any(folder.iterdir())):
            raise OptionError(
                f"There is something in {folder}.",
                where="folder",
                remedy="Name a folder that is not there yet: each backup has one of its own.",
            )
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        with storing("The backup"):
            return _back_up(services, folder, progress)
    except BaseException as error:
        for path in folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        if new:
            folder.rmdir()
        if isinstance(error, StorageFull):
            raise StorageFull(
                f"There is no room for a backup in {folder}; nothing of it is left there.",
                where="folder",
                remedy="Make room there, or name a folder on another disk.",
            ) from error
        raise


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


def _back_up(services: Services, folder: Path, progress: Progress) -> BackupSummary:
    for _ in range(_MOST_TRIES):
        rows, files = _read_rows(services, folder / ROWS)
        _keep_only(folder, files)
        if all(_copied(services, folder, file, progress, i, files) for i, file in enumerate(files)):
            break
    else:
        raise NotReady(
            "Releases were sealed or withdrawn faster than they could be copied.",
            where="folder",
            remedy="Make the backup at a quieter time.",
        )
    _copy_audit(services.audit.path, folder / AUDIT)
    return _finish(services, folder, rows, files)


def _read_rows(services: Services, path: Path) -> tuple[int, list[StoredFile]]:
    """Copy all rows as they are at one moment into a database of its own."""
    path.unlink(missing_ok=True)
    database = SqliteStore(path)
    try:
        with services.database.read() as source, database.write() as target:
            rows = copy_rows(source, target)
        with database.read() as session:
            return rows, list(files_of(session))
    finally:
        database.close()


def _keep_only(folder: Path, files: list[StoredFile]) -> None:
    """Remove what earlier rows named: it was sealed, withdrawn or deleted meanwhile."""
    wanted = {file.path for file in files}
    for kind in ("parts", "columns"):
        for path in (folder / kind).rglob("*"):
            if path.is_file() and str(path.relative_to(folder)) not in wanted:
                path.unlink()


def _copied(
    services: Services,
    folder: Path,
    file: StoredFile,
    progress: Progress,
    done: int,
    files: list[StoredFile],
) -> bool:
    """Copy a file; False if its release is not any more in the state that the rows have."""
    target = folder / file.path
    progress(done, len(files))
    if target.exists():
        return True
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        if file.number is None:
            services.segments.verify_data(file.release, file.sha256)
            shutil.copyfile(services.segments.data_path(file.release), target)
            if file_sha256(target) != file.sha256:
                raise damaged_columns(file.release)
        else:
            part = services.segments.read_part(file.release, file.number, file.sha256)
            target.write_bytes(part)
    except (StoreCorrupt, FileNotFoundError):
        target.unlink(missing_ok=True)
        if _still(services, file):
            raise
        return False
    flush(target)
    return True


def _still(services: Services, file: StoredFile) -> bool:
    """Whether the rows still name a file."""
    wanted = "sealed" if file.number is None else "open"
    with services.database.read() as session:
        state = session.scalar(select(ReleaseRow.state).where(ReleaseRow.id == file.release))
    return state == wanted


def _copy_audit(source: Path, target: Path) -> None:
    """Copy the whole lines of the audit log, which goes on being written."""
    if not source.exists():
        return
    shutil.copyfile(source, target)
    with target.open("r+b") as file:
        end = file.seek(0, 2)
        tail = file.seek(max(end - 2 * LONGEST, 0))
        file.truncate(tail + file.read().rfind(b"\n") + 1)


def _finish(services: Services, folder: Path, rows: int, files: list[StoredFile]) -> BackupSummary:
    """Write the list of all files, which makes the folder a backup."""
    digests = {file.path: file.sha256 for file in files}
    for name in (ROWS, AUDIT):
        if (folder / name).exists():
            digests[name] = file_sha256(folder / name)
            flush(folder / name)
    told = {
        "format": FORMAT,
        "schema": HEAD,
        "made": services.now().isoformat(),
        "rows": rows,
        "files": digests,
    }
    for path in folder.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
        if path.is_dir():
            sync_directory(path)
    scratch = folder / f".{LIST}"
    scratch.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    scratch.chmod(0o600)
    flush(scratch)
    scratch.rename(folder / LIST)
    sync_directory(folder)
    size = sum((folder / name).stat().st_size for name in digests)
    return BackupSummary(rows, len(files), size)
