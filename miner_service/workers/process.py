"""A worker: a process that runs one job after the other, as its supervisor orders.

Started as `python -m miner_service.workers.process PARENT`, it reads the settings and then orders
from its standard input and writes lines of progress to its standard output. It stores what a job
made itself, if its lease still holds. It ends when its supervisor does.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import time
from typing import Any

from miner_service.jobs.runner import Learn, learn_model, work_once
from miner_service.services import open_services
from miner_service.settings import utc_now
from miner_service.store.queue.leases import Lease
from miner_service.workers.bound import bound_memory, die_with, step_back
from miner_service.workers.lines import line_of, order_from, settings_from
from shared.errors import NotReady, StorageFull

_TOLD_SECONDS = 0.25


def main(learn: Learn = learn_model) -> None:
    """Work until the supervisor ends, or ends this process."""
    die_with(int(sys.argv[1]), signal.SIGKILL)
    # The supervisor decides: Ctrl-C reaches all processes of a terminal.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    step_back()
    tell = _Line(os.dup(1))
    os.dup2(2, 1)  # what anybody prints is no line of ours
    settings = settings_from(sys.stdin.buffer.readline())
    bound_memory(settings.limits.job_bytes)
    services = open_services(settings, utc_now, upgrade=False)
    orders: queue.Queue[Lease] = queue.Queue()
    threading.Thread(target=_listen, args=(orders,), daemon=True).start()
    tell(ready=True)
    while True:
        lease = orders.get()
        away = None
        try:
            work_once(services, lease, learn, _Step(tell))
        except (NotReady, StorageFull) as error:
            away = error.message
        tell(ended=lease.job, attempt=lease.attempt, away=away)


def _listen(orders: queue.Queue[Lease]) -> None:
    """Take orders while a job is computed; at their end this process ends."""
    for line in sys.stdin.buffer:
        orders.put(order_from(line))
    os._exit(0)


class _Line:
    """Writes lines to the supervisor; without one there is nothing left to do."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __call__(self, **told: Any) -> None:
        try:
            os.write(self._descriptor, line_of(told))
        except OSError:
            os._exit(0)


class _Step:
    """Tells of steps done, a few times a second."""

    def __init__(self, tell: _Line) -> None:
        self._tell = tell
        self._told = -_TOLD_SECONDS

    def __call__(self, done: int, total: int, /) -> None:
        now = time.monotonic()
        if now - self._told >= _TOLD_SECONDS:
            self._told = now
            self._tell(done=done, total=total)


if __name__ == "__main__":
    main()
