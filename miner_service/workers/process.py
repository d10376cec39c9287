"""A worker: a process that runs one job after the other, as its supervisor orders.

`python -m miner_service.workers.process PARENT` is the template of workers: it loads once what all
jobs need, and becomes a worker by a fork whenever its supervisor sends it the ends of two pipes. It
has one thread, so that a fork copies nothing half done. A worker reads the settings and then orders
from the one pipe and writes lines of progress to the other. It stores what a job made itself, if
its lease still holds. It ends when its template does, and that when its supervisor does.
"""

from __future__ import annotations

import gc
import os
import queue
import select
import signal
import socket
import sys
import threading
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from miner_service.jobs.runner import Learn, learn_model, work_once
from miner_service.services import open_services
from miner_service.settings import utc_now
from miner_service.store.queue.leases import Lease
from miner_service.workers.bound import bound_memory, die_with, step_back
from miner_service.workers.lines import line_of, order_from, settings_from
from pramana_core.errors import NotReady, StorageFull

_TOLD_SECONDS = 0.25


def main(learn: Learn = learn_model) -> None:
    """Be the template until the supervisor ends, or ends this process."""
    die_with(int(sys.argv[1]), signal.SIGKILL)
    # The supervisor decides: Ctrl-C reaches all processes of a terminal.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    channel = socket.socket(fileno=os.dup(0))
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)  # what anybody prints is no line of ours
    gc.freeze()  # what is loaded stays in pages that all workers share
    _Template(channel, learn).run()


class _Template:
    """Forks workers, and says into the pipe of each how it ended."""

    def __init__(self, channel: socket.socket, learn: Learn) -> None:
        self._channel = channel
        self._learn = learn
        self._told: dict[int, int] = {}
        self._ended, self._end = os.pipe()

    def run(self) -> None:
        """Fork until the supervisor is gone."""
        for descriptor in (self._ended, self._end):
            os.set_blocking(descriptor, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._end, warn_on_full_buffer=False)
        channel = self._channel.fileno()
        while True:
            ready, _, _ = select.select([channel, self._ended], [], [])
            if self._ended in ready:
                os.read(self._ended, 4096)
                self._reap()
            if channel in ready:
                asked, pipes, _, _ = socket.recv_fds(self._channel, 1, 2)
                if not asked:
                    return
                self._fork(*pipes)

    def _fork(self, orders: int, told: int) -> None:
        template = os.getpid()
        pid = os.fork()
        if pid == 0:
            self._become_worker(template, orders, told)
        os.close(orders)
        self._told[pid] = told
        self._say(told, pid=pid)

    def _become_worker(self, template: int, orders: int, told: int) -> NoReturn:
        """Let go of all that is the template's or another worker's, and work."""
        try:
            die_with(template, signal.SIGKILL)
            step_back()
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._channel.close()
            for descriptor in (self._ended, self._end, *self._told.values()):
                os.close(descriptor)
            with os.fdopen(orders, "rb") as lines:
                _work(lines, _Line(told), self._learn)
        except BaseException:  # noqa: BLE001 - nothing of the template's may run here any more
            traceback.print_exc()
        finally:
            os._exit(1)

    def _reap(self) -> None:
        while self._told:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            told = self._told.pop(pid)
            self._say(told, gone=os.waitstatus_to_exitcode(status))
            os.close(told)

    def _say(self, told: int, **line: int) -> None:
        with suppress(OSError):  # the supervisor is gone
            os.write(told, line_of(line))


def _work(lines: BinaryIO, tell: _Line, learn: Learn) -> NoReturn:
    """Run jobs as ordered, until there are no orders any more."""
    settings = settings_from(lines.readline())
    bound_memory(settings.limits.job_bytes)
    services = open_services(settings, utc_now, upgrade=False)
    orders: queue.Queue[Lease] = queue.Queue()
    threading.Thread(target=_listen, args=(lines, orders), daemon=True).start()
    tell(ready=True)
    while True:
        lease = orders.get()
        away = None
        try:
            work_once(services, lease, learn, _Step(tell))
        except (NotReady, StorageFull) as error:
            away = error.message
        tell(ended=lease.job, attempt=lease.attempt, away=away)


def _listen(lines: BinaryIO, orders: queue.Queue[Lease]) -> None:
    """Take orders while a job is computed; at their end this process ends."""
    for line in lines:
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
