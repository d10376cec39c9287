"""SQLite with a write-ahead log, flushed at every commit. Writers lock the file when they begin."""

from __future__ import annotations

import sqlite3
from contextlib import closing, nullcontext
from functools import partial
from os.path import samestat
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, create_engine, event

from miner_service.settings import Settings
from miner_service.store.database import HEAD, READ_ONLY, Database, answering, not_begun
from pramana_core.errors import NotReady
from pramana_core.opening import create_private, opening_alone

_PRAGMAS = (
    "PRAGMA busy_timeout=30000",
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    "PRAGMA foreign_keys=ON",
    # Withdrawn data is erased from the file, too.
    "PRAGMA secure_delete=ON",
)


class SqliteStore(Database):
    """A SQLite file with the miner's tables; `begin` creates or upgrades them.

    Raises SchemaUnsupported, StoreCorrupt.
    Only one service may use the file. Commands may write rows meanwhile, but cannot lock names.
    """

    def __init__(self, path: Path, *, begin: bool = True) -> None:
        # Made readable for the owner only before anything is written.
        create_private(path)
        for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
            if (file := path.with_name(name)).exists():
                file.chmod(0o600)
        # Parameters stay out of error messages: some are hashes of secrets.
        engine = create_engine(
            f"sqlite:///{path}",
            # A file that was moved away is missed: an empty one must not take its place.
            creator=partial(_connect, path, check_same_thread=False),
            pool_size=20,
            max_overflow=40,
            hide_parameters=True,
        )
        self._path, self._file = path, path.stat()
        event.listen(engine, "connect", _prepare)
        event.listen(engine, "begin", _begin)
        super().__init__(engine, engine, str(path))
        self.make_tables(begin=begin)

    def ping(self) -> None:
        """Check that the open connections use the file at the path, not one that was moved away."""
        super().ping()
        try:
            same = samestat(self._path.stat(), self._file)
        except OSError:
            same = False
        if not same:
            raise NotReady(
                "The file of the database was moved or replaced.",
                where="database",
                remedy="Stop the service, put the file back, and start the service again.",
            )

    def erase(self) -> bool:
        """Merge the log into the file, overwrite deleted rows with zeros, and empty the log."""
        with answering(), closing(self._engine.raw_connection()) as connection:
            cursor = connection.cursor()
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            row = cursor.fetchone()
            cursor.close()
        return row is not None and row[0] == 0


def _connect(path: Path, **options: Any) -> sqlite3.Connection:
    opened: sqlite3.Connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw", uri=True, **options
    )
    return opened


def is_current(path: Path) -> bool:
    """Return whether a file has this version's tables and journal mode, without changing it."""
    try:
        with closing(_connect(path)) as opened:
            version, journal = (
                opened.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("user_version", "journal_mode")
            )
    except sqlite3.Error:  # the file is missing, or another process is changing it
        return False
    return bool(str(version) == HEAD and journal == "wal")


def _prepare(connection: Any, _record: Any) -> None:
    # The driver must not open transactions: `_begin` does.
    connection.isolation_level = None
    for pragma in _PRAGMAS:
        connection.execute(pragma).close()


def _begin(connection: Connection) -> None:
    reading = connection.get_execution_options().get(READ_ONLY, False)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")


FILE = "miner.sqlite"
"""The name of the embedded database in the data directory."""


def open_database(settings: Settings, *, begin: bool = True) -> Database:
    """Open the configured database; with `begin`, create or upgrade its tables.

    Raises SchemaUnsupported if the tables are not those of this version.
    """
    if settings.storage.database is None:
        path = settings.data_dir / FILE
        if not begin and not path.exists():
            raise not_begun(str(path))
        with nullcontext() if is_current(path) else opening_alone(settings.data_dir):
            return SqliteStore(path, begin=begin)
    from miner_service.store.postgres import PostgresStore, read_password

    address, file = settings.storage.database, settings.storage.database_password_file
    password = None if file is None else read_password(file)
    return PostgresStore(address, password=password, begin=begin)
