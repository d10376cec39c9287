"""One run of a job in its own process, forked from a server with preloaded modules."""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import resource
import select
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import TYPE_CHECKING

from miner_service.logs import configure
from miner_service.settings import Settings, utc_now
from miner_service.store.queue import Lease, give_back, leased, note_progress
from pramana_core.errors import NotReady, StorageFull

if TYPE_CHECKING:
    from miner_service.jobs.runner import Learn
    from miner_service.services import Services

_ONE_THREAD = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # A forking process must not have the background thread that Arrow starts at import.
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}
_SLACK = 256 << 20
_NICER = 10

_PAUSE_SECONDS = 2.0
"""Seconds before a job is queued again after the store or the cluster was unavailable."""

STORE_AWAY = 75
"""The exit status of a process that ended because the store was unavailable (EX_TEMPFAIL)."""

_PROGRESS_SECONDS = 0.5
"""Minimum seconds between two writes of a run's progress."""


@cache
def processes() -> ForkServerContext:
    """Return the fork server for jobs, with their modules preloaded."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["miner_service.jobs.runner"])
    os.environ.update(_ONE_THREAD)
    return context


def run_job(settings: Settings, lease: Lease, learn: Learn | None = None) -> None:
    """Run a leased job to its end. `learn`, if given, replaces the computation."""
    from miner_service.jobs.runner import learn_model, work_once
    from miner_service.services import open_services

    end_with_parent()
    configure(settings.log_format)
    # Ctrl-C reaches all processes of a terminal, but only the supervisor may end a run.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(_NICER)
    bound_memory(settings.limits.job_bytes)
    _end_first()
    try:
        services = open_services(settings, utc_now, begin=False)
        try:
            work_once(services, lease, learn or learn_model, _Progress(services, lease))
        except (NotReady, StorageFull) as error:
            time.sleep(_PAUSE_SECONDS)  # without a pause the job would run again immediately
            with services.database.write() as session:
                if (row := leased(session, lease)) is not None:
                    give_back(session, row, error.message, utc_now())
    except (NotReady, StorageFull):
        time.sleep(_PAUSE_SECONDS)
        raise SystemExit(STORE_AWAY) from None


def bound_memory(job_bytes: int) -> None:
    """Make allocations beyond a job's memory limit fail."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = job_bytes + _SLACK
    soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _end_first() -> None:
    """Make the kernel kill this process rather than the service when memory runs out."""
    with suppress(OSError):  # the file exists only on Linux
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def end_with_parent() -> None:
    """Make this process end when its supervisor ends: closing their pipe then sends SIGIO."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    pipe = parent.sentinel
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(pipe, fcntl.F_SETFL, fcntl.fcntl(pipe, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([pipe], [], [], 0)[0]:  # it has already ended
        raise SystemExit(0)


class _Progress:
    """Writes a run's progress to its row, unless the store is unavailable."""

    def __init__(
        self, services: Services, lease: Lease, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._services, self._lease, self._clock = services, lease, clock
        self._noted = -_PROGRESS_SECONDS

    def __call__(self, done: int, total: int, /) -> None:
        now, share = self._clock(), min(done / max(total, 1), 1.0)
        if now - self._noted < _PROGRESS_SECONDS:
            return
        self._noted = now
        try:
            with self._services.database.write() as session:
                note_progress(session, self._lease, share)
        except (NotReady, StorageFull):
            return
