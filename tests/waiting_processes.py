"""Processes that open the same thing at once; the test holds one of them in the middle of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from tests.forked import Forked

HOLD = """
import fcntl, pathlib, sys, time
folder = pathlib.Path(sys.argv[1])

def hold():
    (folder / "inside").touch()
    while not (folder / "go-on").exists():
        time.sleep(0.01)

def tell_of_waiting(name):
    wait = fcntl.flock
    def told(descriptor, how):
        (folder / name).touch()
        wait(descriptor, how)
    fcntl.flock = told
"""
"""What each of them begins with: `hold()` stands still until the test says `go-on`, and
`tell_of_waiting(name)` leaves a file when a lock is asked for."""


def until(true: Callable[[], bool], process: Forked) -> None:
    """Wait for a state that a process brings about, or for its end."""
    while not true() and process.poll() is None:
        time.sleep(0.01)


def one_is_held_while_others_start(folder: Path, first: str, other: str, others: int = 3) -> None:
    """Hold the first inside, start the others, and let all end, which they must, well."""
    logs = folder.with_name(f"{folder.name}-logs")
    logs.mkdir()

    def start(name: str, code: str) -> Forked:
        return Forked(HOLD + code, str(folder), out=logs / name)

    held = start("held", first)
    until((folder / "inside").exists, held)
    assert held.poll() is None, (logs / "held").read_text()
    started = {"held": held}
    for number in range(others):
        name = f"waits-{number}"
        started[name] = start(name, f"tell_of_waiting({name!r})\n{other}")
    for name in list(started)[1:]:
        until((folder / name).exists, started[name])
    (folder / "go-on").touch()
    for name, process in started.items():
        assert process.wait() == 0, (logs / name).read_text()
