"""The ledger's file: its tables, how it is opened or made, and full disks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import sqlalchemy as sa

from owner_agent.state import private_files
from pramana_core.errors import StoreCorrupt
from pramana_core.full_disks import no_room, storing
from pramana_core.opening import create_private, opening_alone
from pramana_core.wire.release_kinds import RANDOMIZED

_BUSY_SECONDS = 30.0
"""So long a statement waits for whoever writes."""

_METADATA = sa.MetaData()
SCHEMA_VERSION = 6
"""Raised with every change of the tables: a ledger of another version is refused, unchanged."""

RELEASES = sa.Table(
    "releases",
    _METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("miner", sa.String, nullable=False),
    sa.Column("study", sa.String, nullable=False),
    sa.Column("name", sa.String, nullable=False),
    sa.Column("content", sa.String, nullable=False),
    sa.Column("digest", sa.String, nullable=False),
    sa.Column("plan_digest", sa.String, nullable=False),
    sa.Column("records", sa.Integer, nullable=False),
    sa.Column("parts", sa.Integer, nullable=False),
    sa.Column("state", sa.String, nullable=False),
    sa.Column("prepared", sa.DateTime, nullable=False),
    sa.Column("changed", sa.DateTime, nullable=False),
    sa.Column("release_id", sa.String),
    sa.Column("kind", sa.String, nullable=False, server_default=RANDOMIZED),
    sa.Column("method", sa.String, nullable=False, server_default=""),
    sa.Column("beginning", sa.BigInteger, nullable=False, server_default="0"),
    sa.UniqueConstraint("miner", "study", "name"),
)
DRAWS = sa.Table(
    "draws",
    _METADATA,
    sa.Column("release", sa.ForeignKey("releases.id"), primary_key=True),
    sa.Column("column", sa.String, primary_key=True),
    sa.Column("variable", sa.String, nullable=False),
    sa.Column("draw_id", sa.String, nullable=False),
    sa.Column("epsilon", sa.Float),  # null: unbounded
    sa.Column("randomized", sa.Boolean, nullable=False),
    sa.Column("population", sa.String, nullable=False),
    sa.Column("same_as", sa.JSON, nullable=False),
    sa.Column("masked", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("shared", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("epoch", sa.BigInteger, nullable=False, server_default="0"),
)
SKETCHES = sa.Table(
    "sketches",
    _METADATA,
    sa.Column("release", sa.ForeignKey("releases.id"), primary_key=True),
    sa.Column("sketch", sa.LargeBinary, nullable=False),
)
BEGINNINGS = sa.Table(
    "beginnings",
    _METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("epoch", sa.BigInteger, nullable=False),
    sa.Column("begun", sa.DateTime, nullable=False),
)
"""From which epoch on everything was drawn after a loss; without a row it is epoch 0."""
DRAW_KEYS = sa.Table(
    private_files.DRAW_KEYS, _METADATA, sa.Column("fingerprint", sa.String, primary_key=True)
)
"""Of draw keys that were made or imported with this ledger (see `state/private_files.py`)."""


def connected(path: Path) -> sa.Connection:
    """Open the ledger; make it first if it is not there.

    Whoever makes it at the same time is waited for, however slow.

    Raises:
        StoreCorrupt: it is no ledger, or one of another version.
        StorageFull: it has to be written for that, and there is no room.
    """
    with storing_ledger(path):
        # SQLite would make the file with the umask's mode; its journals take over this one's.
        create_private(path)
    engine = _engine(path)
    try:
        with storing_ledger(path):
            with engine.connect() as connection:
                made = _version(connection)
            if made != SCHEMA_VERSION:
                with opening_alone(path.parent), engine.begin() as connection:
                    made = _with_tables(connection)
        if made != SCHEMA_VERSION:
            raise StoreCorrupt(
                f"The ledger {path} has schema {made}; this version of the agent"
                f" reads schema {SCHEMA_VERSION}.",
                where=str(path),
                remedy="Run the version of the agent that made it.",
            )
        return engine.connect()
    except sa.exc.DatabaseError:
        raise StoreCorrupt(
            f"The ledger {path} cannot be read or written.",
            where=str(path),
            remedy="Restore it from your backup: without it nobody knows what has left.",
        ) from None


@contextmanager
def storing_ledger(path: Path) -> Iterator[None]:
    """Turn what the system and SQLite say of a full disk into StorageFull; all else passes."""
    try:
        with storing("the ledger", path):
            yield
    except sa.exc.OperationalError as error:
        if getattr(error.orig, "sqlite_errorname", "") in private_files.FULL:
            raise no_room("the ledger", path) from None
        raise


@cache
def _engine(path: Path) -> sa.Engine:
    """Return the engine of a file: it holds no connections, but the statements it has compiled."""
    return sa.create_engine(
        f"sqlite:///{path}", poolclass=sa.NullPool, connect_args={"timeout": _BUSY_SECONDS}
    )


def _with_tables(connection: sa.Connection) -> int:
    """Make the tables in an empty file; return their version, zero for tables of something else."""
    # The driver opens no transaction by itself for changes of tables. Somebody else may have made
    # them meanwhile.
    connection.exec_driver_sql("BEGIN IMMEDIATE")
    made = _version(connection)
    if made == 0 and set(sa.inspect(connection).get_table_names()) <= {DRAW_KEYS.name}:
        _METADATA.create_all(connection)
        connection.exec_driver_sql(f"PRAGMA user_version={SCHEMA_VERSION}")
        made = SCHEMA_VERSION
    return made


def _version(connection: sa.Connection) -> int:
    return int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())
