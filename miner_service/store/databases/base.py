"""What the databases have in common: sessions on an engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Engine, text
from sqlalchemy.orm import Session

from miner_service.store.databases.failures import answering, reason
from miner_service.store.databases.locks import Locks
from miner_service.store.databases.tables import make_tables
from pramana_core.errors import NotReady

READ_ONLY = "read_only"
"""The execution option of transactions that only read."""


class SqlDatabase:
    """Sessions for readers and for the one writer on an engine."""

    def __init__(self, engine: Engine, reader: Engine, place: str) -> None:
        self._engine = engine
        self._reader = reader.execution_options(**{READ_ONLY: True})
        self._names = Locks()
        self._place = place

    def make_tables(self, *, upgrade: bool) -> None:
        """Make the tables of this version out of what is there. Raises as `tables.make_tables`."""
        try:
            with self.opening():
                make_tables(self._engine, self._reader, self.place, upgrade=upgrade)
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
        """Open a session that sees one state and changes nothing. Raises NotReady."""
        with (
            answering(),
            Session(self._reader, expire_on_commit=False, autoflush=False) as session,
        ):
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """Open the one session that may write now. Raises NotReady, StorageFull."""
        with (
            answering(),
            Session(self._engine, expire_on_commit=False) as session,
            session.begin(),
        ):
            yield session

    @contextmanager
    def exclusive(self, name: str) -> Iterator[None]:
        """Hold a name against all threads of this process; wait for it."""
        with self._names.held(name):
            yield

    def ping(self) -> None:
        """Run the cheapest query. Raises NotReady."""
        with self.read() as session:
            session.execute(text("SELECT 1 FROM studies LIMIT 1"))

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()
