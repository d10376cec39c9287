"""The common base of the miner's databases: sessions on an engine, and translation of errors.

Only one transaction writes at a time. Readers see a snapshot and never wait.
"""

from __future__ import annotations

import logging
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from weakref import WeakValueDictionary

from sqlalchemy import Column, Connection, Engine, MetaData, String, Table, inspect, select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoFreeConnection
from sqlalchemy.orm import Session

from miner_service.store.schema import Base, KeyRow
from pramana_core.errors import (
    NotReady,
    OptionError,
    PramanaError,
    SchemaUnsupported,
    StorageFull,
    StoreCorrupt,
)

log = logging.getLogger(__name__)

_FULL_OF_POSTGRES = "53100"
"""PostgreSQL's state `disk_full`."""

_AWAY_OF_POSTGRES = ("08", "25006", "40", "53", "55", "57", "58")
"""Prefixes of PostgreSQL's states after which a request may be repeated.

In order: connection lost, standby server, deadlock, out of resources, lock not available, stopped
by the operator or by a time-out, system error.
"""

_FULL_OF_SQLITE = {
    sqlite3.SQLITE_FULL,
    # Exceeding a quota or a maximum file size has no code of its own: the write fails.
    sqlite3.SQLITE_IOERR_WRITE,
    sqlite3.SQLITE_IOERR_SHMSIZE,
}
_DAMAGED_OF_SQLITE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_PRIMARY = 0xFF
_NUL = "cannot contain NUL"


@contextmanager
def answering() -> Iterator[None]:
    """Translate database errors. Raises NotReady, StorageFull, StoreCorrupt, OptionError."""
    try:
        yield
    except NoFreeConnection as error:
        raise _away() from error
    except DBAPIError as error:
        meaning = _translate(error)
        if meaning is None:
            raise
        raise meaning from error


def reason(error: NotReady) -> str:
    """Return why a database is unavailable. This text is for the operator, not for clients."""
    cause = error.__cause__
    lines = str(cause.orig if isinstance(cause, DBAPIError) else cause).strip().splitlines()
    return lines[0].rstrip(".") if lines else "no answer"


def _translate(error: DBAPIError) -> PramanaError | None:
    if isinstance(error.orig, sqlite3.Error):
        return _translate_sqlite(error.orig)
    if _NUL in str(error.orig):
        return OptionError(
            "A text contains the character NUL, which cannot be stored.", remedy="Remove it."
        )
    state = getattr(error.orig, "sqlstate", None)
    if state == _FULL_OF_POSTGRES:
        return _full()
    # An error without a state comes from the driver, which got no answer.
    if state is None or error.connection_invalidated or state.startswith(_AWAY_OF_POSTGRES):
        return _away()
    return None


def _translate_sqlite(error: sqlite3.Error) -> PramanaError | None:
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return None
    if code in _FULL_OF_SQLITE:
        return _full()
    if code & _PRIMARY in _DAMAGED_OF_SQLITE:
        return StoreCorrupt(
            "The database is damaged.",
            where="database",
            remedy="Restore it from a backup.",
        )
    return _away() if isinstance(error, sqlite3.OperationalError) else None


def _full() -> StorageFull:
    return StorageFull(
        "The database is out of space; nothing was changed.",
        where="database",
        remedy="Send the request again later. The operator should free space on the disk.",
    )


def _away() -> NotReady:
    return NotReady(
        "The database does not answer.", where="database", remedy="Send the request again."
    )


# `alembic_version` has the revision, as with Alembic. SQLite files also have it in `PRAGMA
# user_version`, which is readable without a transaction.
HEAD = "13"
"""The schema revision of this version."""

REVISION = Table("alembic_version", MetaData(), Column("version_num", String(32), primary_key=True))


OLDEST = 11
"""The oldest schema revision that is upgraded."""


def make_tables(writer: Engine, reader: Engine, place: str, *, begin: bool) -> None:
    """Create the tables if they are missing, or upgrade the tables of an earlier version.

    Without `begin`, neither is allowed. Raises SchemaUnsupported, NotReady, StorageFull.
    """
    with answering():
        with reader.connect() as connection:
            found = revision_of(connection)
        if found == HEAD:
            return
        if found is not None:
            _require_upgradable(found, place)
            if not begin:
                raise SchemaUnsupported(
                    f"The database {place} has tables of schema {found}, but this miner reads"
                    f" schema {HEAD}. They are unchanged.",
                    where=place,
                    remedy="Start the service of this version to upgrade them.",
                )
        elif not begin:
            raise not_begun(place)
        # Checked again with the write lock: another process may have created them meanwhile.
        with writer.begin() as connection:
            found = revision_of(connection)
            if found == HEAD:
                return
            if found is not None:
                _upgrade(connection, found, place)
            else:
                Base.metadata.create_all(connection)
                REVISION.create(connection)
                connection.execute(REVISION.insert().values(version_num=HEAD))
            if connection.dialect.name == "sqlite":
                connection.exec_driver_sql(f"PRAGMA user_version={HEAD}")


def not_begun(place: str) -> NotReady:
    """Return the error of a process that may not create the tables."""
    return NotReady(
        f"No service has been started on the database {place} yet.",
        where="database",
        remedy="Start `miner-service serve` on this database first.",
    )


def _require_upgradable(found: str, place: str) -> None:
    number = int(found) if found.isdecimal() else 0
    if not OLDEST <= number < int(HEAD):
        whose = (
            "a newer version of the miner; use that version"
            if number > int(HEAD)
            else f"schemas {OLDEST} to {HEAD} are supported"
        )
        raise SchemaUnsupported(
            f"The database {place} has tables of schema {found or 'none'}, but this miner reads"
            f" schema {HEAD}. They are unchanged.",
            where=place,
            remedy=f"Name an empty database, or one of this miner ({whose}).",
        )


def _upgrade(connection: Connection, found: str, place: str) -> None:
    """Upgrade the tables in the transaction of the connection. Raises SchemaUnsupported."""
    _require_upgradable(found, place)
    from alembic import command
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(Path(__file__).parent / "revisions"))
    command.upgrade(config, HEAD)


def revision_of(connection: Connection) -> str | None:
    """Return the schema revision; None without tables, "" if the tables are another program's."""
    tables = inspect(connection).get_table_names()
    if REVISION.name in tables:
        return connection.scalar(select(REVISION.c.version_num)) or ""
    return "" if tables else None


STEADY_SECONDS = 2.0
"""Seconds without a failure after which the log states that a database answers again."""

READ_ONLY = "read_only"
"""The name of the execution option for transactions that only read."""


class Database:
    """A database with the miner's tables. A call raising NotReady or StorageFull has no effect."""

    def __init__(self, engine: Engine, reader: Engine, place: str) -> None:
        self._engine = engine
        self._reader = reader.execution_options(**{READ_ONLY: True})
        self._changing = threading.Lock()
        self._names: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()
        """The locks in use, by their names."""
        self._place = place
        self._failed: float | None = None

    def make_tables(self, *, begin: bool) -> None:
        """Create or upgrade the tables, or only check them. Raises the errors of `make_tables`."""
        try:
            with self.opening():
                make_tables(self._engine, self._reader, self.place, begin=begin)
        except NotReady as error:
            self.close()
            if error.__cause__ is None:  # the database answers
                raise
            raise NotReady(
                f"The database {self.place} cannot be used: {reason(error)}.",
                where="database",
                remedy="Check that it runs, and check its address, user and password.",
            ) from error
        except BaseException:
            self.close()
            raise

    @contextmanager
    def opening(self) -> Iterator[None]:
        """Exclude other processes while the database opens, unless the data folder's lock does."""
        yield

    @property
    def place(self) -> str:
        """The address or path of the database, without a password."""
        return self._place

    @contextmanager
    def read(self) -> Iterator[Session]:
        """Open a read-only session on one snapshot."""
        with (
            self._noting_outages(),
            answering(),
            Session(self._reader, expire_on_commit=False, autoflush=False) as session,
        ):
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """Open the one session that may write at this time. An error rolls it back."""
        with (
            self._noting_outages(),
            answering(),
            Session(self._engine, expire_on_commit=False) as session,
            session.begin(),
        ):
            yield session

    @contextmanager
    def _noting_outages(self) -> Iterator[None]:
        """Log when the database stops answering, and when it answers again."""
        try:
            yield
        except NotReady as error:
            if isinstance(error.__cause__, DBAPIError | NoFreeConnection):
                with self._changing:
                    first, self._failed = self._failed is None, time.monotonic()
                if first:
                    fields = {"database": self.place, "reason": reason(error)}
                    log.log(logging.ERROR, "the database does not answer", extra=fields)
            raise
        if self._failed is not None and self._outage_ended():
            log.warning("the database answers again", extra={"database": self.place})

    def _outage_ended(self) -> bool:
        with self._changing:
            ended = self._failed is not None and time.monotonic() - self._failed >= STEADY_SECONDS
            if ended:
                self._failed = None
        return ended

    @contextmanager
    def exclusive(self, name: str) -> Iterator[None]:
        """Wait for a name's lock and hold it against all threads (on PostgreSQL, all processes)."""
        with self._changing:
            lock = self._names.setdefault(name, threading.Lock())
        with lock:
            yield

    def erase(self) -> bool:
        """Erase deleted rows from the database's files, too. Return False if readers prevent it."""
        raise NotImplementedError

    def ping(self) -> None:
        """Run a minimal query, to check that the database answers."""
        with self.read() as session:
            session.execute(text("SELECT 1 FROM studies LIMIT 1"))

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()


_KEY = "pramana/cursor/1"
KEY_LENGTH = 64


def open_key(database: Database) -> bytes:
    """Return the key that all services of a database share. Create the key if it is missing."""
    with database.read() as session:
        row = session.get(KeyRow, _KEY)
    if row is None:
        with database.write() as session:
            row = session.get(KeyRow, _KEY)
            if row is None:
                row = KeyRow(name=_KEY, key=secrets.token_bytes(KEY_LENGTH))
                session.add(row)
    return row.key
