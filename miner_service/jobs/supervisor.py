"""A supervisor: leases jobs, hands them to its workers, watches them, and ends what must end.

One thread talks to the store and to the workers. A second one never waits for anything: it ends
what has run too long, has taken too much memory, or is of a lease that could not be renewed.

Also here:

* The process of a supervisor, as a service starts it or `miner-service worker` is it.
* What a supervisor reads and writes in the store: leases, signs of life, how runs ended.
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
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from datetime import datetime

import sqlalchemy
from sqlalchemy.orm import Session

from miner_service.jobs.bounds import too_large, too_long
from miner_service.jobs.process import Incoming, Watch, departed, named, settings_from
from miner_service.jobs.worker import COMMAND, Run, Template, Worker
from miner_service.settings import Settings, utc_now
from miner_service.store import queue
from miner_service.store.database import Database
from miner_service.store.identity import require_one_store
from miner_service.store.objects import open_segments
from miner_service.store.queue import Rules, add_line, claim_next, finish, next_job
from miner_service.store.schema import JobRow
from miner_service.store.sqlite import open_database
from pramana_core.errors import NotReady, PramanaError, StorageFull
from pramana_core.opening import require_own_folder
from pramana_core.wire.services import problem_of

_BEATS = 5
"""Signs of life in the time of a lease."""
_PROGRESS_SECONDS = 0.5
"""Progress of a run is written at most so often."""
_STEP_SECONDS = 5.0
"""A line about the step of a run is written at most so often, and for at most twenty steps."""

Note = Callable[[Session], None]
"""What is still to be written, when the store can be reached."""


@dataclass
class _NotedProgress:
    """What the store was told of a run: which share is done, which step was logged, and when."""

    share: float = 0.0
    noted: float = 0.0
    logged: float = 0.0
    at: float = field(default_factory=time.monotonic)


class Records:
    """The rows of one supervisor's runs. Raises NotReady and StorageFull as the store does.

    `renewed` is when the leases were last renewed, by this machine's running clock; `away` whether
    the store has not answered since.
    """

    def __init__(self, settings: Settings, database: Database, name: str, host: str) -> None:
        self._settings = settings.jobs
        self._folder = settings.data_dir
        self._database = database
        self._name, self._host = name, host
        self._notes: list[Note] = []
        self._told: dict[queue.Lease, _NotedProgress] = {}
        self._begun = False
        self._silent_runs = Watch[queue.Lease](settings.jobs.lease_seconds)
        self._silent_supervisors = Watch[str](settings.jobs.lease_seconds)
        self.renewed = time.monotonic()
        self.away = False

    def finished(self, run: Run) -> None:
        """Note that a worker has done with a run, which it has ended in the store itself."""
        self._told.pop(run.lease, None)
        if run.away is not None:
            self._add(run, lambda s, row: queue.give_back(s, row, run.away or "", utc_now()))

    def broken(self, run: Run, status: int | None) -> None:
        """Note that the process of a run has ended in its middle, by itself or by this side."""
        self._told.pop(run.lease, None)
        ended, why = utc_now(), run.ended_by
        self._notes.append(lambda session: _say_gone(session, run.lease, ended))
        if isinstance(why, PramanaError):
            problem = problem_of(why)
            self._add(run, lambda s, row: finish(s, row, "failed", utc_now(), problem=problem))
        elif why is not None:
            reason = why
            self._add(run, lambda s, row: queue.give_back(s, row, reason, utc_now()))
        else:
            reason = f"its worker ended with status {status}."
            self._add(run, lambda s, row: queue.break_off(s, row, reason, utc_now()))

    def unwanted(self, runs: Iterable[Run]) -> list[Run]:
        """Return which runs are no longer wanted, by their rows."""
        runs = list(runs)
        if not runs:
            return []
        with self._database.read() as session:
            wanted = queue.wanted(session, self._name)
        return [run for run in runs if run.lease not in wanted]

    def keep(self, runs: Iterable[Run]) -> None:
        """Renew the leases, and write what there is to write."""
        runs = list(runs)
        now = time.monotonic()
        due = not self._begun or now - self.renewed >= self._settings.lease_seconds / _BEATS
        steps = [run for run in runs if self._is_new(run)]
        if not (due or steps or self._notes):
            return
        notes = list(self._notes)
        with ExitStack() as held, self._database.write() as session:
            for note in notes:
                note(session)
            for run in steps:
                self._note_step(session, run, now)
            if due:
                # Their names are free again only after the end of the transaction.
                self._renew(session, runs, now, held.enter_context(departed(self._folder)))
        del self._notes[: len(notes)]
        if due:
            self.renewed, self._begun, self.away = now, True, False

    def claim(self) -> Run | None:
        """Begin the job whose turn it is, if one may begin."""
        now = utc_now()
        with self._database.write() as session:
            lease = claim_next(session, self._name, self._rules(session), now)
            row = queue.leased(session, lease) if lease is not None else None
            if row is None or lease is None:
                return None
            run = Run(lease, row.predicted_seconds, row.predicted_bytes)
        self._told[lease] = _NotedProgress()
        return run

    def anything(self) -> bool:
        """Whether a job may begin."""
        with self._database.read() as session:
            return next_job(session, self._rules(session)) is not None

    def may_come(self) -> bool:
        """Whether a job could be created that runs."""
        with self._database.read() as session:
            return queue.jobs_may_come(session)

    def leave(self) -> None:
        """Write what is left, and be forgotten."""
        notes = list(self._notes)
        with self._database.write() as session:
            for note in notes:
                note(session)
            queue.leave(session, self._name)
        self._notes.clear()

    def missed(self, error: PramanaError) -> None:
        """Note that the store did not answer; where it has no room it did, and nobody can write."""
        if isinstance(error, StorageFull):
            self.renewed = time.monotonic()
        if not self.away:
            log.warning("jobs wait for the store: %s", error.message)
            self.away = True

    def _rules(self, session: Session) -> Rules:
        return Rules(queue.workers_known(session), self._settings.short_seconds)

    def _renew(self, session: Session, runs: list[Run], now: float, gone: list[str]) -> None:
        """Give signs of life; take back what nobody runs any more."""
        moment = utc_now()
        for name in gone if self._begun else [self._name, *gone]:
            queue.take_back(session, name, moment)
            queue.leave(session, name)
        queue.show_up(session, self._name, self._host, self._settings.workers, moment)
        queue.beat(session, [run.lease for run in runs], moment)
        self._give_back_strays(session, {run.lease for run in runs})
        for lease in self._silent_runs.look(queue.signs(session), now):
            if (row := queue.leased(session, lease)) is not None and lease.holder != self._name:
                why = f"no sign of life for {self._settings.lease_seconds:g} seconds."
                queue.break_off(session, row, why, moment)
        for name in self._silent_supervisors.look(queue.supervisor_signs(session), now):
            if name != self._name:
                queue.leave(session, name)

    def _give_back_strays(self, session: Session, have: set[queue.Lease]) -> None:
        """Give back what was leased to this supervisor without its knowing: an answer was lost."""
        for lease in queue.wanted(session, self._name) - have:
            if (row := queue.leased(session, lease)) is not None:
                queue.give_back(session, row, "it had not begun.", utc_now())

    def _is_new(self, run: Run) -> bool:
        """Whether the store should be told of a step."""
        told = self._told.get(run.lease)
        if told is None or run.step is None or _share(run) == told.share:
            return False
        return time.monotonic() - told.noted >= _PROGRESS_SECONDS

    def _note_step(self, session: Session, run: Run, now: float) -> None:
        told = self._told[run.lease]
        share = told.share = _share(run)
        told.noted = now
        moment = utc_now()
        queue.note_progress(session, run.lease, share, moment)
        if share - told.logged >= 0.05 and now - told.at >= _STEP_SECONDS and run.step:
            told.logged, told.at = share, now
            row = queue.leased(session, run.lease)
            if row is not None:
                add_line(session, row, f"Step {run.step[0]} of {run.step[1]}.", moment)

    def _add(self, run: Run, act: Callable[[Session, JobRow], None]) -> None:
        """Do something with the row of a run, if it is still this run's."""

        def note(session: Session) -> None:
            row = queue.leased(session, run.lease)
            if row is not None:
                act(session, row)

        self._notes.append(note)


def _say_gone(session: Session, lease: queue.Lease, ended: datetime) -> None:
    """Leave in a job's log when the process of a run was gone, whatever became of the job."""
    row = session.scalar(sqlalchemy.select(JobRow).where(JobRow.id == lease.job))
    if row is not None:
        line = f"The process of run {lease.attempt} has ended."
        add_line(session, row, line, ended, lease.attempt)


def _share(run: Run) -> float:
    done, total = run.step or (0, 1)
    return min(done / max(total, 1), 1.0)


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
    require_own_folder(settings.data_dir)
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
