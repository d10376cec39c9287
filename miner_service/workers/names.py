"""The name of a supervisor: stable, so that its next life knows what it left behind."""

from __future__ import annotations

import fcntl
import hashlib
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from pramana_core.errors import Conflict

_MOST = 64


@contextmanager
def named(folder: Path) -> Iterator[str]:
    """Hold a name that no other supervisor has: of this machine, data directory, and number.

    The first number that is free is taken: that of an earlier life, which the kernel let go of when
    its process ended.

    Raises:
        Conflict: there are too many.
    """
    for number in range(1, _MOST + 1):
        with _file(folder, number).open("a") as file:
            if _locked(file):
                yield _name(folder, number)
                return
    raise Conflict(
        f"{_MOST} supervisors of workers use the data directory {folder}.",
        where="data",
        remedy="Stop one, or start fewer with more workers each.",
    )


@contextmanager
def departed(folder: Path) -> Iterator[list[str]]:
    """Hold the names, here, of supervisors whose processes have ended: nobody takes them meanwhile.

    What they ran can be taken back at once, without waiting for a lease to run out.
    """
    with ExitStack() as stack:
        found = []
        for number in range(1, _MOST + 1):
            if not (path := _file(folder, number)).exists():
                break  # the first number that is free is taken: there are none beyond
            if _locked(stack.enter_context(path.open("a"))):
                found.append(_name(folder, number))
        yield found


def _file(folder: Path, number: int) -> Path:
    return folder / f"workers-{socket.gethostname()}-{number}.lock"


def _name(folder: Path, number: int) -> str:
    place = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:8]
    return f"{socket.gethostname()}/{place}/{number}"


def _locked(file: IO[str]) -> bool:
    """Take the lock of a file until it is closed, if nobody has it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
