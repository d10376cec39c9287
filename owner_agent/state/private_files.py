"""Private files of an owner: written whole, kept together, locked, and the tokens in them.

Also here:

* A state directory has a ledger from its first secret on: one without has lost its history.
* The agent's own audit log: who let what leave, and what was done with its keys and tokens.
* One publication at a time in a state directory, whichever process asks.
* The token an owner was given in each study, readable by nobody else.
"""

from __future__ import annotations

import fcntl
import getpass
import os
import re
import secrets
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from pramana_core.audit import AuditLog
from pramana_core.errors import Conflict, HistoryLost, KeyFileError, StoreCorrupt, Unauthenticated
from pramana_core.full_disks import no_room, storing

FILE_MODE = 0o600
DIRECTORY_MODE = 0o700
COMMON_MODE = 0o666
"""Of files that hold nothing of anybody; the process's mask takes away from it."""


def private_directory(path: Path) -> Path:
    """Make a directory that only its owner may enter (parents as well); return it.

    Raises:
        KeyFileError: it exists and others may enter it.
    """
    with storing("a folder", path):
        path.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
    refuse_if_open_to_others(path, f"chmod 700 {path}")
    return path


def refuse_if_open_to_others(path: Path, repair: str) -> None:
    """Check that neither group nor others have any right to a path.

    Raises:
        KeyFileError: they have; `repair` is the command that mends it.
    """
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        raise KeyFileError(
            f"{path} has mode {mode:04o}: people other than its owner may use it.",
            where=str(path),
            remedy=f"Run `{repair}`, and ask yourself who may have read it.",
        )


def read_secret(path: Path) -> str:
    """Return the secret in a file: one word of printable ASCII.

    Raises:
        KeyFileError: it is not there, others may read it, or it holds no such word.
    """
    try:
        refuse_if_open_to_others(path, f"chmod 600 {path}")
        text = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        text, why = "", getattr(error, "strerror", None) or "it is not text"
    else:
        why = "it is empty" if not text else "it is not one word"
    if not _SECRET.fullmatch(text):
        raise KeyFileError(
            f"The secret in {path} cannot be read: {why}.",
            where=str(path),
            remedy="Restore the file from your backup, or remove it and ask for another secret.",
        )
    return text


_SECRET = re.compile(r"[!-~]+")


def write_new(path: Path, content: bytes) -> None:
    """Write a private file that must not exist yet, durably. Raises FileExistsError."""
    with storing("a file", path):
        temporary = _write_temporary(path, content)
        try:
            # A hard link, unlike a rename, never replaces a file that appeared in the meantime.
            path.hardlink_to(temporary)
        finally:
            temporary.unlink()
        sync_directory(path.parent)


def write_replacing(path: Path, content: bytes) -> None:
    """Write a private file, durably, in place of what was there."""
    with replacing(path) as file:
        file.write(content)


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a private file that takes the place of what was there, durably, once it is whole."""
    with storing("a file", path):
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        with _durable(temporary, FILE_MODE) as file:
            yield file
        temporary.replace(path)
        sync_directory(path.parent)


def write_durably(path: Path, content: bytes, mode: int = FILE_MODE) -> None:
    """Write a file that must not exist yet and wait until it is on disk.

    Its name may still be lost. What cannot be written whole is removed.

    Args:
        path: of the file.
        content: of the file.
        mode: of the file, less what the process masks; nobody else may read it, unless this says
            so.

    Raises:
        FileExistsError: it exists.
    """
    with storing("a file", path), _durable(path, mode) as file:
        file.write(content)


@contextmanager
def _durable(path: Path, mode: int) -> Iterator[IO[bytes]]:
    """Open a file that must not exist yet; wait until it is on disk, or remove it."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        path.unlink(missing_ok=True)  # A full disk is not filled further by each attempt.
        raise


def sync_directory(path: Path) -> None:
    """Wait until the names in a directory are on disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_temporary(path: Path, content: bytes) -> Path:
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    write_durably(temporary, content)
    return temporary


# A state directory has a ledger from its first secret on: one without has lost its history.
#
# Whatever is written into a state directory, the ledger is there before it. So keys that stand
# alone
# may have drawn reports that nobody remembers, and nothing leaves by them. And it has the
# fingerprints of the draw keys that were made or imported with it: one that was copied here may
# have
# drawn too.


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
def noted(state: Path, now: datetime, action: str, **facts: Any) -> Iterator[None]:
    """Note something when it is done; it is not begun if it could not be noted.

    Raises:
        StorageFull: there is no room for the line.
        StoreCorrupt: somebody else wrote into the log.
    """
    log = audit_log(state, lambda: now)
    with log.room():
        yield
        entry = {"action": action, "who": _who(), **facts}
        log.write({name: _cut(value) for name, value in entry.items()})


def _cut(value: Any) -> Any:
    return value[:_LONGEST_TEXT] if isinstance(value, str) else value


def _who() -> str:
    """Return the name of the system's user who runs this, or nothing where it has none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return ""


# One publication at a time in a state directory, whichever process asks.


@contextmanager
def publishing_alone(state: Path) -> Iterator[None]:
    """Hold the state directory's lock; the system lets go of it if the process dies.

    Raises:
        Conflict: another process or thread publishes or withdraws right now.
    """
    path = state_directory(state) / "publish.lock"
    with storing("a file", path):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, FILE_MODE)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict(
                "Another publication of this site is running.",
                where=str(path),
                remedy="Wait until it has ended.",
            ) from None
        yield
    finally:
        os.close(descriptor)


# The token an owner was given in each study, readable by nobody else.


@dataclass(frozen=True)
class TokenStore:
    """The token files in a state directory."""

    state: Path

    def path(self, study: str) -> Path:
        """Return the path of a study's token."""
        return self.state / "tokens" / f"{study}.token"

    def save(self, study: str, token: str) -> None:
        """Store a token in place of an earlier one."""
        state_directory(self.state)
        private_directory(self.path(study).parent)
        write_replacing(self.path(study), token.encode() + b"\n")

    def load(self, study: str) -> str:
        """Return the token of a study.

        Raises:
            Unauthenticated: there is none.
            KeyFileError: others may read it, or it cannot be read.
        """
        path = self.path(study)
        if not path.exists():
            raise Unauthenticated(
                f"This site has not joined study {study!r}.",
                where=study,
                remedy="Ask the study for an invitation and run `owner-agent join`.",
            )
        return read_secret(path)
