"""The file of the ledger.

A state directory contains this file from its first secret on, unless the file was lost. The ledger
lists the fingerprints of the draw keys that were created with it. A key that is not listed may have
been copied here after use elsewhere.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from owner_agent.state.private_files import private_directory, write_new
from pramana_core.errors import HistoryLost, StoreCorrupt
from pramana_core.full_disks import no_room, storing

LEDGER = "ledger.sqlite"

SCHEMA_VERSION = 7
"""Incremented with every change of the tables. A ledger of another version is rejected."""

_TABLES = f"""
CREATE TABLE releases (
    id INTEGER PRIMARY KEY,
    miner TEXT NOT NULL,
    study TEXT NOT NULL,
    name TEXT NOT NULL,
    entry TEXT NOT NULL,
    UNIQUE (miner, study, name)
);
CREATE TABLE beginnings (id INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, begun TEXT NOT NULL);
CREATE TABLE draw_keys (fingerprint TEXT PRIMARY KEY);
PRAGMA user_version = {SCHEMA_VERSION};
"""

_FULL = ("SQLITE_FULL", "SQLITE_IOERR_WRITE")
"""SQLite's errors for a full disk, and for a file at its size limit."""

_BUSY_SECONDS = 30.0

TRACES = (
    "keys",
    "tokens",
    "audit.jsonl",
    "outbox",
    "reported",
    "sessions",
    "disclosures.json",
    "peers-met.json",
    "noisy-tables",
)
"""Files and folders that the agent writes only after it has created the ledger."""

WAYS_OUT = (
    "Restore the state directory from your backup, with all files in their latest state. Without "
    "a backup, run `owner-agent new-epoch`. The command enters the miner's list of your releases "
    "into the ledger. Later draws are then independent of earlier ones, so epsilons add."
)


def state_directory(state: Path) -> Path:
    """Create and return a state directory, with a ledger unless an earlier ledger was lost."""
    private_directory(state)
    if not traces(state):
        begin_ledger(state)
    return state


def begin_ledger(state: Path) -> None:
    """Create the ledger if it is missing, even if an earlier one was lost. Raises StorageFull."""
    if has_ledger(state):
        return
    private_directory(state)
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(_TABLES)
        begun = connection.serialize()
    # Another process may have created it meanwhile.
    with suppress(FileExistsError):
        write_new(state / LEDGER, begun)


def require_ledger(state: Path) -> None:
    """Check that the ledger of a state directory was not lost. Raises HistoryLost."""
    if not has_ledger(state) and (found := traces(state)):
        raise HistoryLost(
            f"The ledger {state / LEDGER} is missing, although {state} has {', '.join(found)}. "
            "The record of this site's releases and their draws is lost.",
            where=str(state / LEDGER),
            remedy=WAYS_OUT,
        )


def traces(state: Path) -> list[str]:
    """Return the names of files that show that a state directory was used before."""
    found = ((name, state / name) for name in TRACES)
    return [name for name, at in found if (any(at.iterdir()) if at.is_dir() else at.exists())]


def has_ledger(state: Path) -> bool:
    """Whether a state directory has a ledger."""
    path = state / LEDGER
    return path.exists() and path.stat().st_size > 0


@contextmanager
def ledger_transaction(state: Path) -> Iterator[sqlite3.Connection]:
    """Open the ledger for one durable transaction. Raises StoreCorrupt or StorageFull."""
    path = state / LEDGER
    try:
        with (
            storing("the ledger", path),
            closing(sqlite3.connect(path, timeout=_BUSY_SECONDS)) as connection,
            connection,
        ):
            (made,) = connection.execute("PRAGMA user_version").fetchone()
            if made != SCHEMA_VERSION:
                raise StoreCorrupt(
                    f"The ledger {path} has schema {made}; this version of the agent reads schema"
                    f" {SCHEMA_VERSION}.",
                    where=str(path),
                    remedy="Run the version of the agent that created the ledger.",
                )
            yield connection
    except sqlite3.IntegrityError:
        raise
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorname", "") in _FULL:
            raise no_room("the ledger", path) from None
        raise StoreCorrupt(
            f"The ledger {path} cannot be read or written.",
            where=str(path),
            remedy="Restore the ledger from your backup: it is the only record of your releases.",
        ) from None


def know_draw_key(state: Path, fingerprint: str) -> None:
    """Record a new draw key in the ledger, unless the ledger was lost."""
    if has_ledger(state):
        with ledger_transaction(state) as ledger:
            ledger.execute("INSERT OR IGNORE INTO draw_keys VALUES (?)", [fingerprint])


def used_draw_key(state: Path) -> bool:
    """Whether the ledger lists any draw key."""
    if not has_ledger(state):
        return False
    with ledger_transaction(state) as ledger:
        return ledger.execute("SELECT 1 FROM draw_keys").fetchone() is not None


def knows_draw_key(state: Path, fingerprint: str) -> bool:
    """Whether the ledger lists a draw key."""
    if not has_ledger(state):
        return False
    with ledger_transaction(state) as ledger:
        known = "SELECT 1 FROM draw_keys WHERE fingerprint = ?"
        return ledger.execute(known, [fingerprint]).fetchone() is not None
