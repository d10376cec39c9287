"""The agent's own audit log: who let what leave, and what was done with its keys and tokens.

It holds no secret, no record and no name of a column: the ledger has the columns.
"""

from __future__ import annotations

import getpass
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from owner_agent.state.history import state_directory
from pramana_core.audit.log import AuditLog

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
