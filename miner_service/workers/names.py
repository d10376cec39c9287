"""The name of a supervisor: stable, so that its next life knows what it left behind."""

from __future__ import annotations

import fcntl
import hashlib
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shared.errors import Conflict

_MOST = 64


@contextmanager
def named(folder: Path) -> Iterator[str]:
    """Hold a name that no other supervisor has: of this machine, data directory, and number.

    The first number that is free is taken: that of an earlier life, which the kernel let go of when
    its process ended.

    Raises:
        Conflict: there are too many.
    """
    host = socket.gethostname()
    place = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:8]
    for number in range(1, _MOST + 1):
        with (folder / f"workers-{host}-{number}.lock").open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            yield f"{host}/{place}/{number}"
            return
    raise Conflict(
        f"{_MOST} supervisors of workers use the data directory {folder}.",
        where="data",
        remedy="Stop one, or start fewer with more workers each.",
    )
