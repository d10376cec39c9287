"""The identity of a store: the same in its database and in its place of files, or it is not one.

It is drawn at the first start and compared at every start: two services on one database with files
of their own, another store's files or a disk that is not mounted are found before a job fails.

The database claims an identity first, then it is written beside the files, then the claim is
settled: an interruption in between is made good by the next start. All but the claim is done by the
one writer, so that of services that start at once the second compares with what the first settled.
Two new databases have no common writer: of these the files keep the first, or, where they cannot,
the last, which the other finds when it compares again.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from miner_service.store.database import Database
from miner_service.store.schema import KeyRow, PartRow, ReleaseRow
from miner_service.store.segments import IDENTITY, Segments
from pramana_core.errors import StoreMismatch

_SETTLED, _CLAIMED = "pramana/store/1", "pramana/store/1/claimed"
IDENTITY_KEYS = (_SETTLED, _CLAIMED)
"""The rows of `service_keys` that are of this store and of no copy of it."""

_BYTES = 16


def require_one_store(database: Database, segments: Segments, *, begin: bool = False) -> bool:
    """Check that database and files are of one store; say whether they have an identity.

    Without one they get it, where `begin` says so or where the database names records: if all of
    these are there, or if it names no release and there are none.

    Raises:
        StoreMismatch: they are not of one store.
        NotReady: one of them does not answer.
    """
    with database.read() as session:
        settled = _key(session, _SETTLED)
        begin = begin or (settled is None and any(_named(session).values()))
    if settled is not None:
        _compare(database, segments, settled)
        return True
    if not begin:
        return False
    claimed = _claim(database)
    # Listed before the transaction: of many objects it takes long, and all writers would wait.
    kept = segments.kept() if segments.identity() is None else None
    with database.write() as session:
        settled = _key(session, _SETTLED)
        if settled is None:
            if kept is not None and segments.identity() is None:
                _require_its_files(session, database, segments, claimed, kept)
                segments.identify(claimed)
            _compare(database, segments, claimed)
            session.add(KeyRow(name=_SETTLED, key=bytes.fromhex(claimed)))
            session.delete(session.get_one(KeyRow, _CLAIMED))
        else:
            claimed = settled
    _compare(database, segments, claimed)
    return True


def _claim(database: Database) -> str:
    with database.write() as session:
        claimed = _key(session, _SETTLED) or _key(session, _CLAIMED)
        if claimed is None:
            claimed = secrets.token_hex(_BYTES)
            session.add(KeyRow(name=_CLAIMED, key=bytes.fromhex(claimed)))
    return claimed


def _key(session: Session, name: str) -> str | None:
    row = session.get(KeyRow, name)
    return None if row is None else row.key.hex()


def _compare(database: Database, segments: Segments, identity: str) -> None:
    found = segments.identity()
    if found == identity:
        return
    other = "have no identity" if found is None else f"are of store {found}"
    raise StoreMismatch(
        f"The database {database.place} is of store {identity}, and the files in {segments.place}"
        f" {other}.",
        where="files",
        remedy="Name the place of files that belongs to this database, or the database that belongs"
        " to these files (--data, and database and files under [storage]); services on one database"
        " share one place of files. If it is a disk, look whether it is mounted.",
    )


def _require_its_files(
    session: Session,
    database: Database,
    segments: Segments,
    identity: str,
    kept: Mapping[str, set[str]],
) -> None:
    """Check that files without an identity, as they were listed, are this database's."""
    named = _named(session)
    missing = sum(len(named[kind] - kept[kind]) for kind in named)
    if missing:
        some = f"{missing} releases" if missing > 1 else "1 release"
        _refuse(
            f"The database {database.place} names records of {some} that are not in"
            f" {segments.place}.",
            identity,
            segments,
        )
    if any(kept.values()) and not session.scalar(select(func.count()).select_from(ReleaseRow)):
        _refuse(
            f"There are records in {segments.place}, and the database {database.place} names no"
            " release.",
            identity,
            segments,
        )


def _refuse(message: str, identity: str, segments: Segments) -> None:
    raise StoreMismatch(
        message,
        where="files",
        remedy="Name the place of files that belongs to this database, mount its disk, or bring all"
        f" files into this one place. Where it is right as it is, write {identity} into"
        f" {segments.place}/{IDENTITY}: records that are not there stay lost, and records that the"
        " database does not name are removed.",
    )


def _named(session: Session) -> dict[str, set[str]]:
    """Return of which releases the rows name parts, and of which columns."""
    with_parts = select(PartRow.release).where(PartRow.received.is_not(None)).distinct()
    opened = select(ReleaseRow.id).where(ReleaseRow.state == "open", ReleaseRow.id.in_(with_parts))
    sealed = select(ReleaseRow.id).where(
        ReleaseRow.state == "sealed", ReleaseRow.data_sha256.is_not(None)
    )
    return {"parts": set(session.scalars(opened)), "columns": set(session.scalars(sealed))}
