"""A state directory has a ledger from its first secret on: one without has lost its history.

Whatever is written into a state directory, the ledger is there before it. So keys that stand alone
may have drawn reports that nobody remembers, and nothing leaves by them. And it has the
fingerprints of the draw keys that were made or imported with it: one that was copied here may have
drawn too.

Also here:

* The agent's own audit log: who let what leave, and what was done with its keys and tokens.
"""

from __future__ import annotations

import getpass
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from owner_agent.state.private_files import private_directory, write_new
from pramana_core.audit.log import AuditLog
from pramana_core.errors import HistoryLost, StoreCorrupt
from pramana_core.full_disks import no_room, storing

LEDGER = "ledger.sqlite"
"""The ledger's name in a state directory."""

DRAW_KEYS = "draw_keys"
"""The ledger's table of the fingerprints of draw keys."""

FULL = ("SQLITE_FULL", "SQLITE_IOERR_WRITE")
"""What SQLite says of a disk without room; of a file that may become no longer, the second."""

_MAKE_DRAW_KEYS = f"CREATE TABLE IF NOT EXISTS {DRAW_KEYS} (fingerprint VARCHAR PRIMARY KEY)"
_BUSY_SECONDS = 30.0

TRACES = (
    "keys",
    "tokens",
    "retries",
    "audit.jsonl",
    "outbox",
    "reported",
    "private-trees",
    "anchors",
    "sessions",
    "peer-requests",
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
    """Make a state directory, with a ledger if it holds no trace of an earlier one; return it.

    Raises:
        KeyFileError: it exists and others may enter it.
        StorageFull: there is no room.
    """
    private_directory(state)
    if not _has_ledger(state) and not traces(state):
        # Another process may have made it meanwhile.
        with suppress(FileExistsError):
            write_new(state / LEDGER, _begun())
    return state


def know_draw_key(state: Path, fingerprint: str) -> None:
    """Write down that the ledger of a directory has all that a draw key drew.

    Where the ledger is lost nothing is written: such a key draws nothing before a new epoch.

    Raises:
        StorageFull: there is no room.
    """
    if not _has_ledger(state):
        return
    with _ledger(state) as ledger:
        ledger.execute(_MAKE_DRAW_KEYS)
        ledger.execute("INSERT OR IGNORE INTO draw_keys VALUES (?)", [fingerprint])


def knows_draw_key(state: Path, fingerprint: str) -> bool:
    """Whether a draw key was made or imported with the ledger that is here."""
    if not _has_ledger(state):
        return False
    with _ledger(state) as ledger:
        ledger.execute(_MAKE_DRAW_KEYS)
        known = "SELECT 1 FROM draw_keys WHERE fingerprint = ?"
        return ledger.execute(known, [fingerprint]).fetchone() is not None


def require_ledger(state: Path) -> None:
    """Check that a state directory's ledger is there. Raises HistoryLost."""
    if not _has_ledger(state) and (found := traces(state)):
        raise HistoryLost(
            f"There is no ledger at {state / LEDGER}, but {', '.join(found)}: nobody knows what"
            " left this site, nor by which draws.",
            where=str(state / LEDGER),
            remedy=WAYS_OUT,
        )


def traces(state: Path) -> list[str]:
    """Return the names of what is in a state directory only if something was done there."""
    return [name for name in TRACES if _is_trace(state / name)]


def _is_trace(path: Path) -> bool:
    return any(path.iterdir()) if path.is_dir() else path.exists()


def _has_ledger(state: Path) -> bool:
    path = state / LEDGER
    return path.exists() and path.stat().st_size > 0


def _begun() -> bytes:
    """Return a database of no draw keys: whoever opens the ledger makes the other tables."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(_MAKE_DRAW_KEYS)
        return connection.serialize()


@contextmanager
def _ledger(state: Path) -> Iterator[sqlite3.Connection]:
    """Open the ledger for its draw keys alone, as one transaction."""
    path = state / LEDGER
    try:
        with (
            storing("the ledger", path),
            closing(sqlite3.connect(path, timeout=_BUSY_SECONDS)) as connection,
            connection,
        ):
            yield connection
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorname", "") in FULL:
            raise no_room("the ledger", path) from None
        raise StoreCorrupt(
            f"The ledger {path} cannot be read or written.",
            where=str(path),
            remedy="Restore it from your backup: without it nobody knows what has left.",
        ) from None


# The agent's own audit log: who let what leave, and what was done with its keys and tokens.
#
# It holds no secret, no record and no name of a column: the ledger has the columns.

AUDIT = "audit.jsonl"
"""The file's name in a state directory."""

_LONGEST_TEXT = 200


def audit_log(state: Path, now: Callable[[], datetime]) -> AuditLog:
    """Return the audit log of a state directory; each of its lines is on disk once it is written.

    Raises:
        KeyFileError: others may enter the directory.
    """
    return AuditLog(state_directory(state) / AUDIT, now, durable=True)


@contextmanager
def noted(state: Path, now: datetime, action: str, **told: Any) -> Iterator[None]:
    """Note something when it is done; it is not begun if it could not be noted.

    Raises:
        StorageFull: there is no room for the line.
        StoreCorrupt: somebody else wrote into the log.
    """
    log = audit_log(state, lambda: now)
    with log.room():
        yield
        entry = {"action": action, "who": _who(), **told}
        log.write({name: _cut(value) for name, value in entry.items()})


def _cut(value: Any) -> Any:
    return value[:_LONGEST_TEXT] if isinstance(value, str) else value


def _who() -> str:
    """Return the name of the system's user who runs this, or nothing where it has none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return ""
