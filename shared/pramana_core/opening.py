"""One process at a time opens what is in a folder; the others wait for it, however slow it is."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_LOCK = "opening.lock"


@contextmanager
def opening_alone(folder: Path) -> Iterator[None]:
    """Hold a folder against all who open something in it; wait for whoever holds it.

    An empty file in it is locked, which is opened for writing: NFS locks no other. The system lets
    go of it if the process dies.
    """
    descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def create_private(path: Path) -> None:
    """Create an empty file with mode 600, unless it is there.

    One that is there is not opened: a process that closes any descriptor of a SQLite file loses
    all locks that its connections have on it (https://www.sqlite.org/howtocorrupt.html, 2.2).
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
