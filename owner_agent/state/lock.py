"""The lock that admits one publication at a time per state directory, across processes."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from owner_agent.state.ledger_file import state_directory
from owner_agent.state.private_files import FILE_MODE
from pramana_core.errors import Conflict
from pramana_core.full_disks import storing


@contextmanager
def publishing_alone(state: Path) -> Iterator[None]:
    """Hold the state directory's lock. Raises Conflict if another publication is running."""
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
                remedy="Wait until it ends.",
            ) from None
        yield
    finally:
        os.close(descriptor)
