"""A supervisor: leases jobs, hands them to its workers, watches them, and ends what must end.

One thread talks to the store and to the workers. A second one never waits for anything: it ends
what has run too long, has taken too much memory, or is of a lease that could not be renewed.

Also here:

* The process of a supervisor, as a service starts it or `miner-service worker` is it.
"""

from __future__ import annotations

import logging
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import closing, suppress

from miner_service.jobs.bounds import too_large, too_long
from miner_service.jobs.process import Incoming, named, settings_from
from miner_service.jobs.records import Records
from miner_service.jobs.worker import COMMAND, Template, Worker
from miner_service.settings import Settings
from miner_service.store.database import Database
from miner_service.store.files.opening import open_segments
from miner_service.store.identity import require_one_store
from miner_service.store.opening import open_database
from pramana_core.errors import NotReady, StorageFull

log = logging.getLogger(__name__)

_RENEWED = 2 / 3
"""The share of a lease's time after which a worker is ended whose lease could not be renewed."""

_RETRY_SECONDS = 2.0
"""After a worker that could not even start, until the next is tried."""


class Supervisor:
    """Runs jobs until it is asked to stop.

    Args:
        settings: where the rows and files are, how many workers there are, what a job may take.
        database: the rows.
        name: that no other supervisor has.
        parent: a descriptor whose end is that of the service which started this, and on which it
            says that there is something to do; None where there is no such service.
        command: starts the template of workers.
    """

    def __init__(
        self,
        settings: Settings,
        database: Database,
        name: str,
        *,
        parent: int | None = None,
        command: Sequence[str] = COMMAND,
    ) -> None:
        self._settings = settings
        self._template = Template(command)
        self._records = Records(settings, database, name, socket.gethostname())
        self._workers: list[Worker] = []
        self._parent = Incoming(parent) if parent is not None else None
        self._wake_read, self._wake_write = socket.socketpair()
        self._wake_read.setblocking(False)
        self._wake_write.setblocking(False)
        self._descriptors = [self._wake_read.fileno(), *([] if parent is None else [parent])]
        self._not_before = 0.0
        self._stopping = threading.Event()
        self._ended = threading.Event()

    def ask_to_stop(self) -> None:
        """Give back the jobs and end. May be called by a handler of signals."""
        self._stopping.set()
        with suppress(OSError):  # it has enough to look for, or has ended
            self._wake_write.send(b"\0")

    def run(self) -> None:
        """Run jobs until asked to stop, or until the service that started this is gone."""
        guard = threading.Thread(target=self._guard, name="guard", daemon=True)
        guard.start()
        try:
            while not self._stopping.is_set():
                self._turn()
                self._wait()
        finally:
            self._end()
            self._ended.set()
            guard.join()
            self._wake_read.close()
            self._wake_write.close()

    def _wait(self) -> None:
        """Wait for a word of the parent or a worker, at most until the next look."""
        outputs = [worker.output for worker in self._workers]
        select.select([*self._descriptors, *outputs], [], [], self._settings.jobs.beat_seconds)
        with suppress(BlockingIOError):
            self._wake_read.recv(1024)
        if self._parent is not None:
            self._parent.lines()
            if self._parent.ended:
                self._stopping.set()

    def _turn(self) -> None:
        """Look at all that changed, here and in the store, and begin what may begin."""
        for worker in self._workers:
            finished = worker.hear()
            if finished is not None:
                self._records.finished(finished)
        self._bury()
        try:
            for run in self._records.unwanted([w.run for w in self._workers if w.run]):
                next(w for w in self._workers if w.run is run).kill("it is not wanted.")
            self._bury()
            self._records.keep([w.run for w in self._workers if w.run])
            self._begin()
        except (NotReady, StorageFull) as error:
            self._records.missed(error)

    def _begin(self) -> None:
        """Give jobs to workers that have none, and keep one ready, so that no job waits for it."""
        while (free := self._free()) and self._records.anything():
            run = self._records.claim()
            if run is not None:
                free.give(run)
        room = len(self._workers) < self._settings.jobs.workers
        if free is None and room and self._records.may_come():
            self._hire()

    def _free(self) -> Worker | None:
        return next((worker for worker in self._workers if worker.free), None)

    def _hire(self) -> None:
        """Start a worker, unless one is about to be ready or the last one could not start."""
        if time.monotonic() >= self._not_before and all(w.ready for w in self._workers):
            self._workers.append(Worker(self._settings, self._template))

    def _bury(self) -> None:
        """Take leave of processes that have ended, and note what became of their jobs."""
        for worker in [w for w in self._workers if w.killed or w.gone]:
            finished = worker.wait()
            worker.release()
            self._workers.remove(worker)
            if not (worker.ready or worker.killed):
                log.error("a worker ended at its start with status %s", worker.status)
                self._not_before = time.monotonic() + _RETRY_SECONDS
            if finished is not None:
                self._records.finished(finished)
            elif worker.run is not None:
                self._records.broken(worker.run, worker.status)

    def _end(self) -> None:
        """End all processes and give their jobs back; others do that where the store is away."""
        for worker in self._workers:
            worker.kill("its supervisor was asked to end.")
        self._template.stop()
        self._bury()
        with suppress(NotReady, StorageFull):
            self._records.leave()

    def _guard(self) -> None:
        while not self._ended.wait(self._settings.jobs.beat_seconds):
            for worker in list(self._workers):
                self._look_at(worker)

    def _look_at(self, worker: Worker) -> None:
        """End a process that may not go on.

        Where the store is away the lease is lost by no fault of the job. Where it is there, and
        this process came too late to renew it, the job may be what held it up: that run counts.
        """
        run, limits = worker.run, self._settings.limits
        if run is None or worker.killed:
            return
        now = time.monotonic()
        if now - run.began > limits.job_seconds:
            worker.kill(too_long(limits.job_seconds, run.predicted_seconds))
        elif (taken := worker.memory) > limits.job_bytes:
            worker.kill(too_large(taken, limits.job_bytes, run.predicted_bytes))
        elif now - self._records.renewed > _RENEWED * self._settings.jobs.lease_seconds:
            worker.kill("its lease could not be renewed." if self._records.away else None)


# The process of a supervisor, as a service starts it or `miner-service worker` is it.


def supervise(
    settings: Settings, *, parent: int | None = None, command: Sequence[str] = COMMAND
) -> None:
    """Run jobs until SIGTERM or SIGINT, or until `parent`, the end of a pipe, is closed.

    One without a `parent` looks whether its files are those of its database, as the service did.

    Raises:
        Conflict: the database is of an earlier version, or there are too many supervisors.
        NotReady: it is away, or no service has begun a store there.
        StoreMismatch: its place of files is another store's.
    """
    settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (
        named(settings.data_dir) as name,
        closing(open_database(settings, upgrade=False)) as database,
    ):
        if parent is None:
            _require_begun(settings, database)
        supervisor = Supervisor(settings, database, name, parent=parent, command=command)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: supervisor.ask_to_stop())
        supervisor.run()


def _require_begun(settings: Settings, database: Database) -> None:
    if not require_one_store(database, open_segments(settings)):
        raise NotReady(
            f"No service has started on the database {database.place} yet.",
            where="database",
            remedy="Start `miner-service serve` on it first; workers join it.",
        )


def main(command: Sequence[str] = COMMAND) -> None:
    """Be the supervisor of a service, which tells the settings on standard input."""
    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
    # Not buffered: what follows the settings is looked at without waiting.
    line = b""
    while not line.endswith(b"\n"):
        if not (read := os.read(0, 1)):
            sys.exit(0)
        line += read
    supervise(settings_from(line), parent=0, command=command)


if __name__ == "__main__":
    main()
