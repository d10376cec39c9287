"""How a process is bound: to its parent's life, to its share of the machine, to its memory.

Also here:

* Why a run of a job was ended from outside, in words.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from pathlib import Path

from miner_service.settings import MEBIBYTE
from pramana_core.errors import LimitExceeded

_PR_SET_PDEATHSIG = 1
_SLACK = 256 << 20
_NICER = 10


def die_with(parent: int, number: signal.Signals) -> None:
    """Let the kernel send this process a signal when the thread that started it is gone.

    Elsewhere than on Linux only the end of the pipe from the parent tells of it. A parent that is
    gone before this was asked for ends the process at once.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
    if os.getppid() != parent:
        raise SystemExit(0)


def step_back() -> None:
    """Let the service, and whatever else runs here, go before."""
    os.nice(_NICER)


def bound_memory(job_bytes: int) -> None:
    """Let allocations beyond what a job may take fail, between two looks of the supervisor."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = job_bytes + _SLACK
    soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def memory_of(pid: int) -> int:
    """Return the bytes of memory that a process has for itself; 0 if that cannot be known.

    Files that it has mapped, such as columns, are not counted.
    """
    try:
        statm = Path(f"/proc/{pid}/statm").read_text(encoding="ascii")
    except (OSError, ValueError):
        return _portable(pid)
    _, resident, shared, *_ = map(int, statm.split())
    return (resident - shared) * resource.getpagesize()


def _portable(pid: int) -> int:
    try:
        import psutil  # type: ignore[import-untyped]
    except ImportError:
        return 0
    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return 0


# Why a run of a job was ended from outside, in words.


def too_long(allowed: float) -> LimitExceeded:
    """Return the error of a job that ran for longer than it may, all in seconds."""
    return LimitExceeded(
        f"The job ran for more than {allowed:g} seconds and was stopped.",
        where="job_seconds",
        remedy="Ask for less: fewer variables, parents, draws or itemsets.",
    )


def too_large(taken: float, allowed: float) -> LimitExceeded:
    """Return the error of a job that took more memory than it may, all in bytes."""
    return LimitExceeded(
        f"The job took {taken / MEBIBYTE:.0f} MiB of memory and was stopped;"
        f" {allowed / MEBIBYTE:.0f} MiB are allowed.",
        where="job_bytes",
        remedy="Ask for less: fewer variables, categories or parents.",
    )


def out_of_memory(allowed: float) -> LimitExceeded:
    """Return the error of a job that asked at once for more memory than it may have, in bytes."""
    return LimitExceeded(
        "The job asked for more memory than there is for it and was stopped;"
        f" {allowed / MEBIBYTE:.0f} MiB are allowed.",
        where="job_bytes",
        remedy="Ask for less: fewer variables, categories or parents.",
    )
