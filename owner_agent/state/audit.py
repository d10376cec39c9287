"""The agent's audit log: releases, and uses of keys and tokens, without secrets or data."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from owner_agent.state.ledger_file import state_directory
from pramana_core.audit import AUDIT, AuditLog
from pramana_core.opening import create_private

_LONGEST_TEXT = 200


@contextmanager
def noted(state: Path, now: datetime, action: str, **facts: Any) -> Iterator[None]:
    """Log an action after it succeeds. Raises StateError before the action if the disk is full."""
    log = AuditLog(state_directory(state) / AUDIT, lambda: now, durable=True)
    create_private(log.path)
    with log.room():
        yield
        entry = {"action": action, "who": _who(), **facts}
        log.write({n: v[:_LONGEST_TEXT] if isinstance(v, str) else v for n, v in entry.items()})


def _who() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return ""
