"""What every database of a miner does: sessions on an engine, and what its failures mean.

There is one writer at a time; readers see one state and never wait.
"""

from __future__ import annotations

import secrets
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakValueDictionary

from sqlalchemy import Column, Connection, Engine, MetaData, String, Table, inspect, select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoFreeConnection
from sqlalchemy.orm import Session

from miner_service.store.schema import Base, KeyRow
from pramana_core.errors import NotReady, OptionError, PramanaError, StorageFull, StoreCorrupt

_FULL_OF_POSTGRES = "53100"
"""`disk_full`"""

_AWAY_OF_POSTGRES = ("08", "25006", "40", "53", "55", "57", "58")
"""How the states begin that pass: no connection, a standby, a deadlock, no resources, a lock not
had in time, an operator's act or a time-out, an error of the system."""

_FULL_OF_SQLITE = {
    sqlite3.SQLITE_FULL,
    # What exceeds a quota or a largest file size has no code of its own: the write fails.
    sqlite3.SQLITE_IOERR_WRITE,
    sqlite3.SQLITE_IOERR_SHMSIZE,
}
_DAMAGED_OF_SQLITE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_PRIMARY = 0xFF
_NUL = "cannot contain NUL"


@contextmanager
def answering() -> Iterator[None]:
    """Translate failures. Raises NotReady, StorageFull, StoreCorrupt, OptionError."""
    try:
        yield
    except NoFreeConnection as error:
        raise _away() from error
    except DBAPIError as error:
        meaning = _meaning(error)
        if meaning is None:
            raise
        raise meaning from error


def reason(error: NotReady) -> str:
    """Return why a database did not answer, for whoever runs the service: not for its clients."""
    cause = error.__cause__
    lines = str(cause.orig if isinstance(cause, DBAPIError) else cause).strip().splitlines()
    return lines[0].rstrip(".") if lines else "no answer"


def _meaning(error: DBAPIError) -> PramanaError | None:
    """Return what an error of a driver means; None if it is none that is foreseen."""
    if isinstance(error.orig, sqlite3.Error):
        return _meaning_of_sqlite(error.orig)
    if _NUL in str(error.orig):
        return OptionError(
            "A text holds the character NUL, which is not stored.", remedy="Leave it out."
        )
    state = getattr(error.orig, "sqlstate", None)
    if state == _FULL_OF_POSTGRES:
        return _full()
    # Without a state it is the driver that gave up: it never got an answer.
    if state is None or error.connection_invalidated or state.startswith(_AWAY_OF_POSTGRES):
        return _away()
    return None


def _meaning_of_sqlite(error: sqlite3.Error) -> PramanaError | None:
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
        "The database has no room left; nothing was changed.",
        where="database",
        remedy="Send the request again later; whoever runs the service should look at its disk.",
    )


def _away() -> NotReady:
    return NotReady(
        "The database does not answer.", where="database", remedy="Send the request again."
    )


# The revision is in `alembic_version`, as Alembic has it. A file of SQLite has it in `PRAGMA
# user_version`, too, where it is read without opening a transaction.
HEAD = "12"
"""The revision of this version's tables; no released miner had another."""

REVISION = Table("alembic_version", MetaData(), Column("version_num", String(32), primary_key=True))


def make_tables(writer: Engine, reader: Engine, place: str) -> None:
    """Make the tables where there are none. Raises StoreCorrupt, NotReady, StorageFull."""
    with answering():
        with reader.connect() as connection:
            if revision_of(connection) == HEAD:
                return
        # Once more as the one writer: another process may have been faster.
        with writer.begin() as connection:
            found = revision_of(connection)
            if found == HEAD:
                return
            if found is not None:
                raise StoreCorrupt(
                    f"The database {place} has tables of schema {found or 'none'}; this miner reads"
                    f" schema {HEAD}. They are unchanged.",
                    where=place,
                    remedy="Name a database that is empty or that this version of the miner made.",
                )
            Base.metadata.create_all(connection)
            REVISION.create(connection)
            connection.execute(REVISION.insert().values(version_num=HEAD))
            if connection.dialect.name == "sqlite":
                connection.exec_driver_sql(f"PRAGMA user_version={HEAD}")


def revision_of(connection: Connection) -> str | None:
    """Return which revision the tables are of: None without tables, "" for tables of others."""
    tables = inspect(connection).get_table_names()
    if REVISION.name in tables:
        return connection.scalar(select(REVISION.c.version_num)) or ""
    return "" if tables else None


READ_ONLY = "read_only"
"""The execution option of transactions that only read."""


class Database:
    """A database with the miner's tables. Raises NotReady, StorageFull: nothing was changed."""

    def __init__(self, engine: Engine, reader: Engine, place: str) -> None:
        self._engine = engine
        self._reader = reader.execution_options(**{READ_ONLY: True})
        self._changing = threading.Lock()
        self._names: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()
        """The locks that somebody holds or waits for."""
        self._place = place

    def make_tables(self) -> None:
        """Make the tables where there are none. Raises as `make_tables`."""
        try:
            with self.opening():
                make_tables(self._engine, self._reader, self.place)
        except NotReady as error:
            self.close()
            raise NotReady(
                f"The database {self.place} cannot be used: {reason(error)}.",
                where="database",
                remedy="Start it if it is stopped; look at its address, user and password.",
            ) from error
        except BaseException:
            self.close()
            raise

    @contextmanager
    def opening(self) -> Iterator[None]:
        """Hold the opening against other processes, where the file's folder does not."""
        yield

    @property
    def place(self) -> str:
        """Where the database is, without a password."""
        return self._place

    @contextmanager
    def read(self) -> Iterator[Session]:
        """Open a session that sees one state and changes nothing."""
        with (
            answering(),
            Session(self._reader, expire_on_commit=False, autoflush=False) as session,
        ):
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """Open the one session that may write now; an error in it changes nothing."""
        with (
            answering(),
            Session(self._engine, expire_on_commit=False) as session,
            session.begin(),
        ):
            yield session

    @contextmanager
    def exclusive(self, name: str) -> Iterator[None]:
        """Hold a name against all threads, and on PostgreSQL all processes; wait for it."""
        with self._changing:
            lock = self._names.setdefault(name, threading.Lock())
        with lock:
            yield

    def erase(self) -> bool:
        """Remove deleted rows from the database's files, too; False while a reader needs them."""
        raise NotImplementedError

    def ping(self) -> None:
        """Run the cheapest query."""
        with self.read() as session:
            session.execute(text("SELECT 1 FROM studies LIMIT 1"))

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()


_KEY = "pramana/cursor/1"
KEY_LENGTH = 64


def open_key(database: Database) -> bytes:
    """Return the key of the services on a database, making it if there is none."""
    with database.read() as session:
        row = session.get(KeyRow, _KEY)
    if row is None:
        with database.write() as session:
            row = session.get(KeyRow, _KEY)
            if row is None:
                row = KeyRow(name=_KEY, key=secrets.token_bytes(KEY_LENGTH))
                session.add(row)
    return row.key
