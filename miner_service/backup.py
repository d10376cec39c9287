"""A copy of everything a miner stores, made while it runs.

The rows are those of one moment. Files that they name never change, so they are copied afterwards;
where one is gone because its release was sealed or withdrawn meanwhile, the rows are read anew. The
list of all files with their digests is written last: without it there is no backup.

Also here:

* A backup brought into an empty store: all digests first, then the files, then the rows.
* All rows of a store as data: copied into another database, or deleted study by study.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Table,
    delete,
    func,
    insert,
    literal_column,
    select,
    text,
    true,
)
from sqlalchemy.orm import Session

from miner_service.services import Services
from miner_service.store.identity import MARKER, require_one_store
from miner_service.store.releases import kind_of_release
from miner_service.store.schema import (
    Base,
    KeyRow,
    PartRow,
    ReleaseRow,
    SessionRow,
    StudyRow,
    SupervisorRow,
)
from miner_service.store.segments import (
    damaged_columns,
    file_sha256,
    flush,
    part_name,
    settle,
    storing,
    sync_directory,
)
from miner_service.store.sql_database import HEAD
from miner_service.store.sqlite import SqliteStore
from pramana_core.audit import LONGEST
from pramana_core.errors import Conflict, NotReady, OptionError, StorageFull, StoreCorrupt

_AT_ONCE = 500

NOT_OF_THE_STORE = frozenset({SupervisorRow.__tablename__, SessionRow.__tablename__})
"""Who runs jobs just now is not state of the store; and a session that ended must not come back."""

OF_NO_STUDY = NOT_OF_THE_STORE | {"answers", "service_keys"}
"""Tables without a study. An answer can only be read by who has its token, which is deleted."""


def tables() -> Iterator[Table]:
    """Yield the tables that are copied, those that others refer to first."""
    for table in Base.metadata.sorted_tables:
        if table.name not in NOT_OF_THE_STORE:
            yield table


def copy_rows(source: Session, target: Session) -> int:
    """Copy all rows into tables that are there; return how many.

    Each store keeps the identity it has: a copy is another store.
    """
    count = 0
    for table in tables():
        copied = _is_copied(table)
        target.execute(delete(table).where(copied))
        rows = source.execute(select(table).where(copied).order_by(*table.primary_key)).yield_per(
            _AT_ONCE
        )
        for some in rows.mappings().partitions(_AT_ONCE):
            target.execute(insert(table), [dict(row) for row in some])
            count += len(some)
        _count_on(target, table)
    return count


def _is_copied(table: Table) -> ColumnElement[bool]:
    if table.name == KeyRow.__tablename__:
        return table.c.name != MARKER
    return true()


def is_empty(session: Session) -> bool:
    """Whether a store has no row but its own keys."""
    return not any(
        session.execute(select(literal_column("1")).select_from(table).limit(1)).first()
        for table in tables()
        if table.name != "service_keys"
    )


def delete_rows(session: Session, study: str) -> list[str]:
    """Delete all rows of a study; return the ids of its releases."""
    releases = select(ReleaseRow.id).where(ReleaseRow.study == study)
    found = list(session.scalars(releases))
    for table in reversed(Base.metadata.sorted_tables):
        condition = of_study(table, study)
        if condition is not None:
            session.execute(delete(table).where(condition))
    return found


def of_study(table: Table, study: str) -> ColumnElement[bool] | None:
    """Return which rows of a table are a study's; None for a table that has none of any."""
    if table.name == StudyRow.__tablename__:
        return table.c.name == study
    if "study" in table.c:
        return table.c.study == study
    for column in table.c:
        for key in column.foreign_keys:
            if "study" in (above := key.column.table.c):
                return column.in_(select(key.column).where(above["study"] == study))
    if table.name in OF_NO_STUDY:
        return None
    raise LookupError(f"whose rows those of the table {table.name} are is not said")


def _count_on(session: Session, table: Table) -> None:
    """Let PostgreSQL number the next row of a table after those that were copied."""
    if session.get_bind().dialect.name != "postgresql" or "seq" not in table.c:
        return
    last = session.scalar(select(func.max(table.c.seq)))
    if last is not None:
        sequence = text("SELECT setval(pg_get_serial_sequence(:name, 'seq'), :last)")
        session.execute(sequence, {"name": table.name, "last": last})


def damaged_database(session: Session) -> list[str]:
    """Return what SQLite finds wrong in its file; PostgreSQL checks what it reads by itself."""
    bind = session.get_bind()
    if bind.dialect.name != "sqlite":
        return []
    said = [str(row[0]) for row in session.execute(text("PRAGMA integrity_check(20)"))]
    broken = [str(tuple(row)[:3]) for row in session.execute(text("PRAGMA foreign_key_check"))]
    return [line for line in said if line != "ok"] + broken


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
    listing = {
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
    scratch.write_text(json.dumps(listing, indent=1) + "\n", encoding="utf-8")
    scratch.chmod(0o600)
    flush(scratch)
    scratch.rename(folder / LIST)
    sync_directory(folder)
    size = sum((folder / name).stat().st_size for name in digests)
    return BackupSummary(rows, len(files), size)


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
        StoreCorrupt: its place of files is another store's; nothing was changed.
        StorageFull, NotReady: the store's disk, or its database.
    """
    listing = read_list(folder)
    _require_empty(services, listing["files"].get(AUDIT))
    require_undamaged(folder, listing["files"], progress)
    require_one_store(services.database, services.segments, begin=True)
    services.segments.prepare()
    with _rows_of(services, folder) as backup:
        with backup.read() as session:
            files = list(files_of(session))
        _require_all(folder, files, listing["files"])
        for done, file in enumerate(files):
            progress(done, len(files))
            _put(services, folder, file)
        if AUDIT in listing["files"]:
            scratch = services.segments.scratch_path()
            with storing("The audit log", scratch):
                shutil.copyfile(folder / AUDIT, scratch)
                scratch.chmod(0o600)
                settle(scratch, services.audit.path)
        with backup.read() as source, services.database.write() as target:
            if not is_empty(target):
                raise _not_empty()
            rows = copy_rows(source, target)
    return RestoreSummary(str(listing["made"]), rows, len(files))


def read_list(folder: Path) -> dict[str, Any]:
    """Return the list of a backup's files. Raises OptionError."""
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
