"""The marker of a store, the same in its database and among its files, compared at every start."""

from __future__ import annotations

import secrets

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from miner_service.store.database import Database
from miner_service.store.schema import KeyRow, ReleaseRow
from miner_service.store.segments import IDENTITY, Segments
from pramana_core.errors import StoreCorrupt

MARKER = "pramana/store/1"
"""The row of `service_keys` with the marker."""

_BYTES = 16


def require_one_store(database: Database, segments: Segments, *, begin: bool = False) -> bool:
    """Check that database and files are of one store; say whether they have a marker.

    With `begin` a database without releases, and no files, get one. Raises StoreCorrupt, NotReady.
    """
    found = segments.identity()
    with database.read() as session:
        marker = _marker(session)
        new = not session.scalar(select(func.count()).select_from(ReleaseRow))
    first = begin and new and marker is None and found is None
    if first and not any(segments.kept().values()):
        # Written beside the files first: of two services that begin, one finds the other's.
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


def _marker(session: Session) -> str | None:
    row = session.get(KeyRow, MARKER)
    return None if row is None else row.key.hex()


def _other_store(
    database: Database, segments: Segments, marker: str | None, found: str | None
) -> StoreCorrupt:
    return StoreCorrupt(
        f"The database {database.place} is of store {marker or 'none'}, and the files in"
        f" {segments.root} are of store {found or 'none'}.",
        where="files",
        remedy="Name files and a database that belong together (--data, [storage]), and mount their"
        f" disk. To accept that records are lost, write {marker} into {segments.root}/{IDENTITY}."
        if marker
        else f"Name an empty place of files. If the first start in {segments.root} was broken off,"
        f" remove {segments.root}/{IDENTITY}.",
    )
