"""The tables that a database has when it is opened: none, those of this version, or others.

The revision is in `alembic_version`. A file of SQLite has it in `PRAGMA user_version`, too, where
it is read without opening a transaction.
"""

from __future__ import annotations

from sqlalchemy import Column, Connection, Engine, MetaData, String, Table, inspect, select

from miner_service.store.failures import answering
from miner_service.store.migrations import HEAD, REVISIONS
from miner_service.store.migrations.upgrading import upgrade_tables
from miner_service.store.schema import Base
from pramana_core.errors import Conflict, StoreCorrupt

REVISION = Table("alembic_version", MetaData(), Column("version_num", String(32), primary_key=True))
"""The table in which Alembic keeps the revision of all others."""

_EMPTY = ""
_NOT_OURS = "0"


def make_tables(writer: Engine, reader: Engine, place: str, *, upgrade: bool) -> None:
    """Make the tables of this version out of what is there.

    Raises:
        StoreCorrupt: what is there is not a miner's, or of a version that this one does not know.
        Conflict: it is of an earlier version, and this process may not `upgrade` it.
        NotInstalled: it is, and what upgrades it is not installed.
        NotReady, StorageFull: the database is away, or has no room.
    """
    with answering():
        with reader.connect() as connection:
            if revision_of(connection) == HEAD:
                return
        # Once more as the one writer: another process may have been faster.
        with writer.begin() as connection:
            found = revision_of(connection)
            if found == HEAD:
                return
            if found == _EMPTY:
                Base.metadata.create_all(connection)
                REVISION.create(connection)
                connection.execute(REVISION.insert().values(version_num=HEAD))
            else:
                _require_known(found, place)
                _require_allowed(found, place, upgrade=upgrade)
                _upgrade(connection, found, place)
            if connection.dialect.name == "sqlite":
                connection.exec_driver_sql(f"PRAGMA user_version={HEAD}")


def revision_of(connection: Connection) -> str:
    """Return which revision the tables are of: nothing where there are none."""
    tables = inspect(connection).get_table_names()
    if not tables:
        return _EMPTY
    if REVISION.name in tables:
        return connection.scalar(select(REVISION.c.version_num)) or _NOT_OURS
    if connection.dialect.name == "sqlite":
        return str(connection.exec_driver_sql("PRAGMA user_version").scalar_one())
    return _NOT_OURS


def _upgrade(connection: Connection, found: str, place: str) -> None:
    try:
        upgrade_tables(connection, found)
    except ValueError as error:
        raise StoreCorrupt(
            f"The database {place} cannot be upgraded from schema {found}: a row of it is damaged."
            " Its tables and rows are unchanged.",
            where=place,
            remedy="Restore a backup, and start again.",
        ) from error


def _require_known(found: str, place: str) -> None:
    if found == _NOT_OURS:
        raise StoreCorrupt(
            f"The database {place} has tables, and they are not a miner's.",
            where=place,
            remedy="Name a database that is empty, or the one that the miner had.",
        )
    if found.isdecimal() and int(found) < int(REVISIONS[0]):
        raise StoreCorrupt(
            f"The database {place} has schema {found}, which no released miner had; this one reads"
            f" schema {HEAD}. Its tables and rows are unchanged.",
            where=place,
            remedy="Name an empty database, or run the state of the software that made this one.",
        )
    if found not in REVISIONS:
        raise StoreCorrupt(
            f"The database {place} has schema {found}; this version of the miner reads schema"
            f" {HEAD}.",
            where=place,
            remedy="It was made by a later version: run that one, or restore a backup made before"
            " it was upgraded.",
        )


def _require_allowed(found: str, place: str, *, upgrade: bool) -> None:
    if not upgrade:
        raise Conflict(
            f"The database {place} has schema {found} of an earlier version; this one reads schema"
            f" {HEAD}.",
            where=place,
            remedy="Stop the services of the earlier version, make a backup, and start this one"
            " with `miner-service serve`: it upgrades the tables.",
        )
