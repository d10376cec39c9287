"""The marker of a store: an id in the database and in the files, compared at every start."""

from __future__ import annotations

import secrets
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from miner_service.store.database import Database
from miner_service.store.schema import KeyRow, ReleaseRow
from miner_service.store.segments import IDENTITY, Segments
from pramana_core.errors import StoreCorrupt

MARKER = "pramana/store/1"
"""The key of the row of `service_keys` with the marker."""

BACKUP = "pramana/backup/1"
"""The key of the row of `service_keys` with the time of the last backup, as text."""

_BYTES = 16


def require_one_store(database: Database, segments: Segments, *, begin: bool = False) -> bool:
    """Check that database and files belong to one store. Return whether they have a marker.

    With `begin`, a new database and an empty folder get a marker. Raises StoreCorrupt, NotReady.
    """
    found = segments.identity()
    with database.read() as session:
        marker = _marker(session)
        new = not session.scalar(select(func.count()).select_from(ReleaseRow))
    first = begin and new and marker is None and found is None
    if first and not any(segments.kept().values()):
        # Written to the files first: if two services start, the second finds the first's marker.
        with database.write() as session:
            marker = _marker(session)
            if marker is None:
                marker = secrets.token_hex(_BYTES)
                segments.identify(marker)
                session.add(KeyRow(name=MARKER, key=bytes.fromhex(marker)))
        found = segments.identity()
    if marker is None and not begin:
        return False
    if marker is None or found != marker:
        raise _other_store(database, segments, marker, found)
    return True


def same_store(database: Database, segments: Segments) -> bool:
    """Return whether database and files still have the same marker. Raises NotReady."""
    with database.read() as session:
        return _marker(session) == segments.identity()


def note_backup(session: Session, now: datetime) -> None:
    """Store the time of the last backup."""
    session.merge(KeyRow(name=BACKUP, key=now.isoformat().encode()))


def last_backup(session: Session) -> datetime | None:
    """Return the time of the last backup, or None."""
    row = session.get(KeyRow, BACKUP)
    return None if row is None else datetime.fromisoformat(row.key.decode())


def _marker(session: Session) -> str | None:
    row = session.get(KeyRow, MARKER)
    return None if row is None else row.key.hex()


def _other_store(
    database: Database, segments: Segments, marker: str | None, found: str | None
) -> StoreCorrupt:
    return StoreCorrupt(
        f"The database {database.place} belongs to store {marker or '(none)'}, but the files in"
        f" {segments.root} belong to store {found or '(none)'}.",
        where="files",
        remedy="Name files and a database of the same store (--data, [storage]), and mount their"
        f" disk. To accept the loss of records, write {marker} into {segments.root}/{IDENTITY}."
        if marker
        else f"Name an empty folder. If the first start in {segments.root} was interrupted,"
        f" remove {segments.root}/{IDENTITY}.",
    )
