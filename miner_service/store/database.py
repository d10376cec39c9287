"""The database: SQLite in WAL mode, every commit on disk before it is acknowledged.

Writers take the write lock at their start (BEGIN IMMEDIATE), so that no transaction fails half
way because another wrote in between; readers never wait for writers.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, create_engine, event, inspect, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from miner_service.store.schema import Base
from shared.errors import NotReady, StoreCorrupt

SCHEMA_VERSION = 5
"""Raised with every change of the tables."""

_UPGRADES = {
    1: (
        "ALTER TABLE models ADD COLUMN kind VARCHAR(300) NOT NULL DEFAULT 'bayes-net'",
        "ALTER TABLE models DROP COLUMN bif",
    ),
    2: (
        "ALTER TABLE studies ADD COLUMN max_epsilon_record FLOAT",
        "ALTER TABLE studies ADD COLUMN max_epsilon_column FLOAT",
        "ALTER TABLE releases ADD COLUMN draws TEXT",
        "ALTER TABLE releases ADD COLUMN consistency TEXT",
    ),
    3: (),
    4: (
        "ALTER TABLE releases RENAME COLUMN plan TO content",
        "ALTER TABLE releases RENAME COLUMN plan_digest TO content_digest",
        "ALTER TABLE releases ADD COLUMN kind VARCHAR(300) NOT NULL DEFAULT 'randomized-records'",
    ),
}
"""What makes the tables of a version those of the next; tables that are new are made anyway."""

_PRAGMAS = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    "PRAGMA foreign_keys=ON",
    "PRAGMA busy_timeout=30000",
    # What is withdrawn is gone from the file, too.
    "PRAGMA secure_delete=ON",
)


class Database:
    """A SQLite file with the miner's tables, made if they are not there.

    Raises:
        StoreCorrupt: the file has tables of a version that cannot be upgraded to this one.
    """

    def __init__(self, path: Path) -> None:
        _make_private(path)
        # Parameters stay out of error messages: some are hashes of secrets.
        self._engine = create_engine(
            f"sqlite:///{path}", pool_size=20, max_overflow=40, hide_parameters=True
        )
        event.listen(self._engine, "connect", _prepare)
        event.listen(self._engine, "begin", _begin)
        self._reader = self._engine.execution_options(read_only=True)
        self._make_tables(path)

    def _make_tables(self, path: Path) -> None:
        with self._engine.begin() as connection:
            made = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
            empty = not inspect(connection).get_table_names()
            while not empty and made in _UPGRADES:
                for statement in _UPGRADES[made]:
                    connection.exec_driver_sql(statement)
                made += 1
                connection.exec_driver_sql(f"PRAGMA user_version={made}")
            if not empty and made != SCHEMA_VERSION:
                raise StoreCorrupt(
                    f"The database {path} has schema {made}; this version of the miner reads schema"
                    f" {SCHEMA_VERSION}.",
                    where=str(path),
                    remedy="Run the version that made it, or name another folder with --data.",
                )
            Base.metadata.create_all(connection)
            if made != SCHEMA_VERSION:
                connection.exec_driver_sql(f"PRAGMA user_version={SCHEMA_VERSION}")

    @contextmanager
    def read(self) -> Iterator[Session]:
        """Open a session that sees one state of the database and changes nothing.

        Raises NotReady where SQLite does not answer.
        """
        with (
            _answering(),
            Session(self._reader, expire_on_commit=False, autoflush=False) as session,
        ):
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """Open a session that commits at its end, or changes nothing if an error leaves it.

        Raises NotReady where SQLite does not answer.
        """
        with (
            _answering(),
            Session(self._engine, expire_on_commit=False) as session,
            session.begin(),
        ):
            yield session

    def ping(self) -> None:
        """Run the cheapest query. Raises NotReady."""
        with self.read() as session:
            session.execute(text("SELECT 1 FROM studies LIMIT 1"))

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()


@contextmanager
def _answering() -> Iterator[None]:
    try:
        yield
    except OperationalError as error:
        raise NotReady("The database does not answer.", remedy="Send the request again.") from error


def _make_private(path: Path) -> None:
    """Make the file before anything is written, readable for its owner only.

    SQLite gives the files beside it (-wal, -shm) the same mode.
    """
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        if (file := path.with_name(name)).exists():
            file.chmod(0o600)


def _prepare(connection: Any, _record: Any) -> None:
    # The driver must not open transactions by itself: `_begin` does.
    connection.isolation_level = None
    for pragma in _PRAGMAS:
        connection.execute(pragma).close()


def _begin(connection: Connection) -> None:
    reading = connection.get_execution_options().get("read_only", False)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")
