"""PostgreSQL, for several service processes and workers at once.

A writer first takes one lock of the whole database (an advisory lock of the transaction): there is
one writer at a time, as with SQLite, so that a budget that was read is still what it was when the
release that spends of it is committed. Readers see one snapshot and wait for nobody. Whether a
commit waits for the disk is the server's `synchronous_commit`, which is left on as it is.

Session locks and time-outs need sessions: a pooler in front must not share them by transaction.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    NullPool,
    create_engine,
    event,
    func,
    make_url,
    select,
)
from sqlalchemy.exc import ArgumentError, DBAPIError

from miner_service.store.databases.base import READ_ONLY, SqlDatabase
from miner_service.store.databases.failures import answering
from miner_service.store.schema import Base
from shared.errors import NotInstalled, OptionError

SCHEMES = ("postgresql", "postgres")

_DRIVER = "postgresql+psycopg"
_APPLICATION = "pramana-miner"
_CONNECT_SECONDS = 2
_POOL_SECONDS = 5
_POLL_SECONDS = 0.05
_PURPOSE = "pramana/lock/1 "

_ON_THE_SERVER = {
    "statement_timeout": "30s",
    "lock_timeout": "30s",
    # Who stopped in the middle of a transaction would keep all writers waiting.
    "idle_in_transaction_session_timeout": "60s",
    "client_encoding": "UTF8",
    # A machine that vanished lets go of its locks.
    "tcp_keepalives_idle": "15",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
}


class PostgresStore(SqlDatabase):
    """A PostgreSQL database with the miner's tables, made if they are not there.

    Raises:
        OptionError: the address is not one of a PostgreSQL database.
        NotInstalled: its driver is not there.
        NotReady: it cannot be reached.
        StoreCorrupt: it has other tables, or those of a version that cannot be upgraded.
        Conflict: it has those of an earlier version, and this process may not `upgrade` them.
    """

    def __init__(self, address: str, *, upgrade: bool = True) -> None:
        _require_driver()
        url = parse_address(address)
        engine = _engine(url, pool_size=10, max_overflow=20, pool_timeout=_POOL_SECONDS)
        event.listen(engine, "begin", _begin)
        reader = engine.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )
        super().__init__(engine, reader, shown(url))
        # Of its own: who holds a name needs another connection, and may not wait for one in vain.
        self._naming = _engine(url, poolclass=NullPool).execution_options(
            isolation_level="AUTOCOMMIT"
        )
        self.make_tables(upgrade=upgrade)

    @contextmanager
    def exclusive(self, name: str) -> Iterator[None]:
        """Hold a name against all threads of all processes; wait for it. Raises NotReady."""
        key = lock_key(name)
        with super().exclusive(name), answering(), self._naming.connect() as connection:
            # Asked for again and again: a statement that waits would be ended by a time-out.
            while not connection.scalar(select(func.pg_try_advisory_lock(key))):
                time.sleep(_POLL_SECONDS)
            try:
                yield
            finally:
                # What was done under the name is done, also if the database went away meanwhile.
                with suppress(DBAPIError):
                    connection.execute(select(func.pg_advisory_unlock(key)))

    def erase(self) -> bool:
        """Write the tables anew without what is deleted; the server's own logs are the server's."""
        with answering(), self._naming.connect() as connection:
            connection.exec_driver_sql("SET statement_timeout = 0")
            for table in Base.metadata.sorted_tables:
                connection.exec_driver_sql(f'VACUUM FULL "{table.name}"')
        return True


def parse_address(address: str) -> URL:
    """Return the address of a PostgreSQL database as its driver wants it. Raises OptionError."""
    try:
        url = make_url(address)
        named = url.database
    except (ArgumentError, ValueError):
        named = None
    if named is None or url.drivername.partition("+")[0] not in SCHEMES:
        raise OptionError(
            "The address of the database is not one of PostgreSQL.",
            where="database",
            remedy="Write it as postgresql://USER:PASSWORD@HOST:PORT/NAME; without an address the"
            " rows are kept in the data directory.",
        ) from None
    return url.set(drivername=_DRIVER)


def shown(url: URL) -> str:
    """Return where a database is, without user and password."""
    port = f":{url.port}" if url.port else ""
    return f"postgresql://{url.host or ''}{port}/{url.database}"


def lock_key(name: str) -> int:
    """Return the number under which PostgreSQL locks a name: 64 bits of its hash."""
    digest = hashlib.sha256((_PURPOSE + name).encode()).digest()
    return int.from_bytes(digest[:8], signed=True)


_WRITING = lock_key("the one writer")


def _require_driver() -> None:
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        raise NotInstalled(
            "A database of PostgreSQL was named, whose driver is not installed.",
            where="miner",
            remedy='Install the extra: pip install "pramana[miner]".',
        ) from error


def _engine(url: URL, **options: Any) -> Engine:
    from miner_service.store.databases.patience import PatientConnection

    asked = str(url.query.get("options", ""))
    timeouts = " ".join(f"-c {name}={value}" for name, value in _ON_THE_SERVER.items())
    url = url.difference_update_query(["options"])
    defaults = {
        "connect_timeout": _CONNECT_SECONDS,
        "application_name": _APPLICATION,
        "tcp_user_timeout": 1000 * _CONNECT_SECONDS,
    }
    given = {name: value for name, value in defaults.items() if name not in url.query}
    engine = create_engine(
        url,
        # What the address asks for comes last, and is what holds.
        connect_args={"options": f"{timeouts} {asked}".strip(), **given},
        # Parameters stay out of error messages: some are hashes of secrets.
        hide_parameters=True,
        pool_pre_ping=True,
        **options,
    )
    event.listen(engine, "do_connect", _connect(PatientConnection))
    event.listen(engine, "checkout", lambda connection, *_: connection.be_patient())
    event.listen(engine, "checkin", lambda connection, _: connection and connection.be_quick())
    return engine


def _connect(kind: Any) -> Any:
    def connect(_dialect: Any, _record: Any, arguments: Any, options: Any) -> Any:
        return kind.connect(*arguments, **options)

    return connect


def _begin(connection: Connection) -> None:
    if not connection.get_execution_options().get(READ_ONLY, False):
        connection.execute(select(func.pg_advisory_xact_lock(_WRITING)))
