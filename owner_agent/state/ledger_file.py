"""The ledger's file: a state directory has one from its first secret on, or has lost its history.

It has the fingerprints of the draw keys made with it: one that was copied here may have drawn
elsewhere.
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
"""Raised with every change of the tables: a ledger of another version is refused, unchanged."""

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
"""What SQLite says of a disk without room; of a file that may become no longer, the second."""

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
"""What is there only if something was done here: nothing of it is written before the ledger."""

WAYS_OUT = (
    "Restore the state directory from your backup, whole and as it was last. If there is none,"
    " `owner-agent new-epoch` counts what the miner has as left and has all later draws made anew,"
    " independently; their epsilons add."
)


def state_directory(state: Path) -> Path:
    """Make and return a state directory, with a ledger unless it has traces of an earlier one."""
    private_directory(state)
    if not traces(state):
        begin_ledger(state)
    return state


def begin_ledger(state: Path) -> None:
    """Make the ledger if it is not there, whatever else is. Raises StorageFull."""
    if has_ledger(state):
        return
    private_directory(state)
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(_TABLES)
        begun = connection.serialize()
    # Another process may have made it meanwhile.
    with suppress(FileExistsError):
        write_new(state / LEDGER, begun)


def require_ledger(state: Path) -> None:
    """Check that a state directory's ledger is there. Raises HistoryLost."""
    if not has_ledger(state) and (found := traces(state)):
        raise HistoryLost(
            f"There is no ledger at {state / LEDGER}, but {', '.join(found)}: nobody knows what"
            " left this site, nor by which draws.",
            where=str(state / LEDGER),
            remedy=WAYS_OUT,
        )


def traces(state: Path) -> list[str]:
    """Return the names of what is in a state directory only if something was done there."""
    found = ((name, state / name) for name in TRACES)
    return [name for name, at in found if (any(at.iterdir()) if at.is_dir() else at.exists())]


def has_ledger(state: Path) -> bool:
    """Whether a state directory has a ledger."""
    path = state / LEDGER
    return path.exists() and path.stat().st_size > 0


@contextmanager
def ledger_transaction(state: Path) -> Iterator[sqlite3.Connection]:
    """Open the ledger as one durable transaction. Raises StoreCorrupt or StorageFull."""
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
                    remedy="Run the version of the agent that made it.",
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
            remedy="Restore it from your backup: without it nobody knows what has left.",
        ) from None


def know_draw_key(state: Path, fingerprint: str) -> None:
    """Have the ledger know a draw key made with it; where it is lost nothing is written."""
    if has_ledger(state):
        with ledger_transaction(state) as ledger:
            ledger.execute("INSERT OR IGNORE INTO draw_keys VALUES (?)", [fingerprint])


def knows_draw_key(state: Path, fingerprint: str) -> bool:
    """Whether a draw key was made with the ledger that is here."""
    if not has_ledger(state):
        return False
    with ledger_transaction(state) as ledger:
        known = "SELECT 1 FROM draw_keys WHERE fingerprint = ?"
        return ledger.execute(known, [fingerprint]).fetchone() is not None
