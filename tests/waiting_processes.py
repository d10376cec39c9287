"""Processes that open the same thing at once; the test holds one of them in the middle of it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

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


def start(folder: Path, code: str) -> subprocess.Popen[str]:
    """Run code in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", HOLD + code, str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def until(true: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait for a state that a process brings about, or for its end."""
    while not true() and process.poll() is None:
        time.sleep(0.01)


def one_is_held_while_others_start(folder: Path, first: str, other: str, others: int = 3) -> None:
    """Hold the first inside, start the others, and let all end, which they must, well."""
    held = start(folder, first)
    until((folder / "inside").exists, held)
    assert held.poll() is None, held.communicate()[0]
    waiting = [start(folder, f"tell_of_waiting('waits-{n}')\n{other}") for n in range(others)]
    for number, process in enumerate(waiting):
        until((folder / f"waits-{number}").exists, process)
    (folder / "go-on").touch()
    for process in (held, *waiting):
        told, _ = process.communicate()
        assert process.returncode == 0, told
