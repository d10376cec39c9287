"""A lock across processes, so that a state directory has one publication at a time."""

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
    """Hold the lock of a state directory. Raises Conflict if another publication is running."""
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
                remedy="Wait until the other publication ends.",
            ) from None
        yield
    finally:
        os.close(descriptor)
