"""What a supervisor reads and writes in the store: leases, signs of life, how runs ended."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from miner_service.jobs.process import Watch, departed
from miner_service.jobs.worker import Run
from miner_service.settings import Settings, utc_now
from miner_service.store import queue
from miner_service.store.database import Database
from miner_service.store.queue import Rules, add_line, claim_next, finish, next_job
from miner_service.store.schema import JobRow
from pramana_core.errors import PramanaError, StorageFull
from pramana_core.wire.problems import problem_of

log = logging.getLogger(__name__)

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
            told = why
            self._add(run, lambda s, row: queue.give_back(s, row, told, utc_now()))
        else:
            told = f"its worker ended with status {status}."
            self._add(run, lambda s, row: queue.break_off(s, row, told, utc_now()))

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
    row = session.scalar(select(JobRow).where(JobRow.id == lease.job))
    if row is not None:
        line = f"The process of run {lease.attempt} has ended."
        add_line(session, row, line, ended, lease.attempt)


def _share(run: Run) -> float:
    done, total = run.step or (0, 1)
    return min(done / max(total, 1), 1.0)
