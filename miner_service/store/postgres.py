"""PostgreSQL, for several services and workers at once. An advisory lock admits one writer.

Locks belong to sessions, so a connection pooler must not work in transaction mode.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

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

from miner_service.store.database import READ_ONLY, Database, answering
from miner_service.store.schema import Base
from pramana_core.errors import NotInstalled, OptionError

SCHEMES = ("postgresql", "postgres")

_DRIVER = "postgresql+psycopg"
_APPLICATION = "pramana-miner"
_CONNECT_SECONDS = 2
_POOL_SECONDS = 5
_POLL_SECONDS = 0.05
_OPENING = "the tables"
_PURPOSE = "pramana/lock/1 "
_ON_THE_SERVER = {
    "statement_timeout": "30s",
    "lock_timeout": "30s",
    # A client that stops within a transaction would block all writers.
    "idle_in_transaction_session_timeout": "60s",
    "client_encoding": "UTF8",
    # The locks of a vanished machine are released.
    "tcp_keepalives_idle": "15",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
}


class PostgresStore(Database):
    """A PostgreSQL database with the miner's tables; `begin` creates or upgrades them.

    `password` overrides the address. Raises OptionError, NotInstalled, NotReady, StoreCorrupt.
    """

    def __init__(self, address: str, *, password: str | None = None, begin: bool = True) -> None:
        _require_driver()
        url = parse_address(address)
        if password is not None:
            url = url.set(password=password)
        engine = _engine(url, pool_size=10, max_overflow=20, pool_timeout=_POOL_SECONDS)
        event.listen(engine, "begin", _begin)
        reader = engine.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )
        super().__init__(engine, reader, shown(url))
        # A separate pool: the holder of a name's lock needs a second connection, and must get it.
        self._naming = _engine(url, poolclass=NullPool).execution_options(
            isolation_level="AUTOCOMMIT"
        )
        self.make_tables(begin=begin)

    @contextmanager
    def opening(self) -> Iterator[None]:
        """Wait until no other process is creating the tables. Statements here cannot time out."""
        with self.exclusive(_OPENING):
            yield

    @contextmanager
    def exclusive(self, name: str) -> Iterator[None]:
        """Wait for a name's lock, and hold it against threads of all processes. Raises NotReady."""
        key = lock_key(name)
        with super().exclusive(name), answering(), self._naming.connect() as connection:
            # Polled: a time-out would end a statement that waits.
            while not connection.scalar(select(func.pg_try_advisory_lock(key))):
                time.sleep(_POLL_SECONDS)
            try:
                yield
            finally:
                # Work under the lock stays done even if the database was lost meanwhile.
                with suppress(DBAPIError):
                    connection.execute(select(func.pg_advisory_unlock(key)))

    def erase(self) -> bool:
        """Rewrite the tables without deleted rows. PostgreSQL's own log files are not erased."""
        with answering(), self._naming.connect() as connection:
            connection.exec_driver_sql("SET statement_timeout = 0")
            for table in Base.metadata.sorted_tables:
                connection.exec_driver_sql(f'VACUUM FULL "{table.name}"')
        return True


def parse_address(address: str) -> URL:
    """Return a PostgreSQL database's address in its driver's form. Raises OptionError."""
    try:
        url = make_url(address)
    except (ArgumentError, ValueError):
        url = None
    # A second @ belongs to the password, which would partly be shown as the host.
    if (
        url is None
        or url.drivername.partition("+")[0] not in SCHEMES
        or not url.database
        or address.count("@") > 1
    ):
        raise OptionError(
            "The database's address is not a PostgreSQL address, or its password contains @.",
            where="database",
            remedy="Write the address as postgresql://USER@HOST:PORT/NAME. Write the password into"
            " a file and name the file in PRAMANA_DATABASE_PASSWORD_FILE (or [storage]"
            " database_password_file). Elsewhere write /, @, #, ?, :, % and spaces as %2F, %40"
            " and so on. Without an address, the miner uses SQLite in its data directory.",
        ) from None
    # None keeps the current value.
    host, name = (None if not text else unquote(text) for text in (url.host, url.database))
    return url.set(drivername=_DRIVER, host=host, database=name)


def read_password(file: Path) -> str:
    """Return the password in the first line of a file. Raises OptionError."""
    try:
        password = file.read_text(encoding="utf-8").partition("\n")[0].removesuffix("\r")
    except (OSError, UnicodeDecodeError):
        password = ""
    if not password:
        raise OptionError(
            f"The database's password cannot be read from the file {file}.",
            where="database_password_file",
            remedy="Name a file that this process may read, with the password as its first line.",
        )
    return password


def shown(url: URL) -> str:
    """Return a database's address without the user and the password."""
    port = f":{url.port}" if url.port else ""
    return f"postgresql://{url.host or ''}{port}/{url.database}"


def lock_key(name: str) -> int:
    """Return the number of PostgreSQL's lock for a name: 64 bits of the name's hash."""
    digest = hashlib.sha256((_PURPOSE + name).encode()).digest()
    return int.from_bytes(digest[:8], signed=True)


_WRITING = lock_key("the one writer")


def _require_driver() -> None:
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        raise NotInstalled(
            "A PostgreSQL database is configured, but its driver is not installed.",
            where="miner",
            remedy='Install the extra: pip install "pramana[miner]".',
        ) from error


def _engine(url: URL, **options: Any) -> Engine:
    given_options = str(url.query.get("options", ""))
    timeouts = " ".join(f"-c {name}={value}" for name, value in _ON_THE_SERVER.items())
    url = url.difference_update_query(["options"])
    defaults = {
        "connect_timeout": _CONNECT_SECONDS,
        "application_name": _APPLICATION,
        "tcp_user_timeout": 1000 * _CONNECT_SECONDS,
    }
    given = {name: value for name, value in defaults.items() if name not in url.query}
    return create_engine(
        url,
        # The address's own options come last and take precedence.
        connect_args={"options": f"{timeouts} {given_options}".strip(), **given},
        # Parameters stay out of error messages: some are hashes of secrets.
        hide_parameters=True,
        pool_pre_ping=True,
        **options,
    )


def _begin(connection: Connection) -> None:
    if not connection.get_execution_options().get(READ_ONLY, False):
        connection.execute(select(func.pg_advisory_xact_lock(_WRITING)))
