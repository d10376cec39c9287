"""Reading a table from a PostgreSQL or SQLite database in one transaction."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from owner_agent.site.table_source import TableSource
from pramana_core.errors import OptionError, TableError

if TYPE_CHECKING:
    from sqlalchemy import Connection, FromClause

_TABLE_NAME = re.compile(r"\w+(?:\.\w+)?")
_COLON = re.compile(r"(?<!:):(?!:)")
_DRIVERS = {"postgresql://": "postgresql+psycopg://", "sqlite://": "sqlite://"}
_LIMITS: Mapping[str, Any] = {
    "connect_timeout": 10,
    "tcp_user_timeout": 30_000,
    "options": "-c lock_timeout=30s",
}
"""A database that does not answer ends the command."""


def database_columns(source: TableSource) -> list[str]:
    """Return the names of a query's columns. Raises TableError, OptionError."""
    import sqlalchemy

    with _connection(source) as connection:
        every = sqlalchemy.select(sqlalchemy.text("*")).select_from(_selected(source)).limit(0)
        with connection.execute(every) as result:
            return list(result.keys())


def database_rows(
    source: TableSource, columns: Sequence[str], rows: int
) -> Iterator[Sequence[Sequence[Any]]]:
    """Yield the values of columns, sorted by record id, at most `rows` rows at a time.

    One read-only transaction reads all rows, so they agree. Raises TableError, OptionError.
    """
    import sqlalchemy

    with _connection(source) as connection:
        listed: list[Any] = [sqlalchemy.column(column) for column in columns]
        wanted: sqlalchemy.Select[Any] = sqlalchemy.select(*listed)
        wanted = wanted.select_from(_selected(source))
        if source.order:
            wanted = wanted.order_by(sqlalchemy.column(source.order))
        with connection.execute(wanted) as result:
            yield from result.partitions(rows)


def _selected(source: TableSource) -> FromClause:
    import sqlalchemy

    if _TABLE_NAME.fullmatch(source.query):
        schema, _, name = source.query.rpartition(".")
        return sqlalchemy.table(name, schema=schema or None)
    # A colon begins a parameter, and a comment would hide the parenthesis after the query.
    query = _COLON.sub(r"\\:", source.query.rstrip("; \r\n\t")) + "\n"
    return sqlalchemy.text(query).columns().subquery("selected")


@contextmanager
def _connection(source: TableSource) -> Iterator[Connection]:
    """Open a read-only transaction. Hide the text of database errors, which may quote cells."""
    try:
        from sqlalchemy import URL, create_engine
        from sqlalchemy.exc import ArgumentError, SQLAlchemyError
    except ImportError:
        raise _not_installed(source) from None
    kind, sign, rest = source.database.partition("://")
    address: URL | str = _DRIVERS[kind + sign] + rest
    if kind == "sqlite":
        query = {"mode": "ro", "uri": "true"}
        address = URL.create(kind, database=f"file:{quote(rest[1:])}", query=query)
    limits = {} if kind == "sqlite" else _LIMITS
    try:
        engine = create_engine(address, connect_args=limits)
    except ImportError:
        raise _not_installed(source) from None
    except (ArgumentError, ValueError):
        raise OptionError(
            "The address of the database is not valid.",
            where="table",
            remedy="Write it as postgresql://USER@HOST:PORT/NAME or sqlite:///FILE.",
        ) from None
    options: dict[str, Any] = {"stream_results": True}
    if kind == "postgresql":
        options |= {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    try:
        with engine.connect() as connection:
            yield connection.execution_options(**options)
    except SQLAlchemyError as error:
        cause = type(getattr(error, "orig", None) or error).__name__
        raise TableError(
            f"The table {source} cannot be read: the database answered with {cause}.",
            where="table",
            remedy="Check that the file exists, and that `query` works there."
            if kind == "sqlite"
            else "Check the address, that the database is running, that `query` works there, and"
            " that you have read access. Set the password in PGPASSWORD, or in a file that"
            " PGPASSFILE names.",
        ) from None
    finally:
        engine.dispose()


def _not_installed(source: TableSource) -> OptionError:
    return OptionError(
        f"Reading {source} needs SQLAlchemy and psycopg, which are not installed.",
        where="table",
        remedy="Run pip install 'pramana[databases]', or export the table to a file.",
    )
