"""A supervisor leases jobs, runs each in a process, and ends runs that exceed a limit.

`serve` runs one in a thread; `miner-service worker` is one.
"""

from __future__ import annotations

import logging
import secrets
import signal
import socket
import threading
import time
from collections.abc import Hashable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Generic, TypeVar

from sqlalchemy.orm import Session

from miner_service.jobs.process import STORE_AWAY, processes, run_job
from miner_service.settings import Settings, utc_now
from miner_service.store import queue
from miner_service.store.database import Database
from miner_service.store.identity import require_one_store
from miner_service.store.queue import Lease, finish, leased
from miner_service.store.segments import open_segments
from miner_service.store.sqlite import open_database
from pramana_core.errors import LimitExceeded, NotReady, StorageFull
from pramana_core.opening import require_own_folder
from pramana_core.wire.services import problem_of

if TYPE_CHECKING:
    from miner_service.jobs.runner import Learn

log = logging.getLogger(__name__)

_BEATS = 5
"""Signs of life per duration of a lease."""

_RENEWED = 2 / 3
"""Share of a lease's duration after which a run is ended if its lease was not renewed."""

KeyT = TypeVar("KeyT", bound=Hashable)


class Watch(Generic[KeyT]):
    """Finds the keys whose counter, a sign of life, has not changed for at least `seconds`."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._seen: dict[KeyT, tuple[int, float]] = {}

    def look(self, signs: Mapping[KeyT, int], now: float) -> set[KeyT]:
        """Record the current counters; return the keys whose counter has been the same too long."""
        before = self._seen
        self._seen = {
            key: before[key] if key in before and before[key][0] == sign else (sign, now)
            for key, sign in signs.items()
        }
        return {key for key, (_, first) in self._seen.items() if now - first >= self._seconds}


@dataclass
class Run:
    """A job in its process, and the `reason` if the supervisor ended it. An error fails the job."""

    lease: Lease
    process: BaseProcess
    began: float = field(default_factory=time.monotonic)
    reason: LimitExceeded | str | None = None
    status: int | None = None

    def end(self, reason: LimitExceeded | str) -> None:
        """Kill the process immediately."""
        if self.process.is_alive():
            self.reason = reason
            self.process.kill()


class Supervisor:
    """Leases jobs under a unique name and runs them; `learn` replaces the computation if given."""

    def __init__(
        self, settings: Settings, database: Database, name: str, learn: Learn | None = None
    ) -> None:
        self._settings, self._database, self._learn = settings, database, learn
        self.name = f"{socket.gethostname()}/{name}"
        self.runs: list[Run] = []
        self._ended: list[Run] = []
        self._renewed: float | None = None
        self._away = self._warm = False
        self._silent_runs = Watch[Lease](settings.jobs.lease_seconds)
        self._silent_supervisors = Watch[str](settings.jobs.lease_seconds)
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._turned = time.monotonic()

    @property
    def alive(self) -> bool:
        """Whether the supervisor's last successful turn is more recent than a lease is long."""
        return time.monotonic() - self._turned < self._settings.jobs.lease_seconds

    def wake(self) -> None:
        """Signal that a job was queued or cancelled."""
        self._wake.set()

    def ask_to_stop(self) -> None:
        """Signal `run` to queue all running jobs again and return."""
        self._stopping.set()
        self._wake.set()

    def run(self) -> None:
        """Run jobs until `ask_to_stop`."""
        try:
            while not self._stopping.is_set():
                try:
                    self._turn()
                    self._turned = time.monotonic()
                except Exception:  # a failed turn must not end the loop
                    log.exception("a turn of the supervisor of jobs failed")
                self._wake.wait(self._settings.jobs.beat_seconds)
                self._wake.clear()
        finally:
            self._end()

    def _turn(self) -> None:
        self._end_late_runs(time.monotonic())
        self._reap()
        try:
            self._end_unwanted_runs()
            self._write(time.monotonic())
            while len(self.runs) < self._settings.jobs.workers and self._begin_run():
                pass
        except (NotReady, StorageFull) as error:
            if isinstance(error, StorageFull):  # it answers, and others cannot write either
                self._renewed = time.monotonic()
            if not self._away:
                log.warning("jobs wait for the store: %s", error.message)
            self._away = True

    def _end_late_runs(self, now: float) -> None:
        """End runs that exceed the time limit, and runs with a lease that could not be renewed."""
        limit, lease = self._settings.limits.job_seconds, self._settings.jobs.lease_seconds
        lost = self._renewed is not None and now - self._renewed > _RENEWED * lease
        for run in self.runs:
            if now - run.began > limit:
                error = LimitExceeded(
                    f"The job ran for more than {limit:g} seconds and was stopped.",
                    where="job_seconds",
                    remedy="Choose fewer variables, parents, draws or itemsets.",
                )
                run.end(error)
            elif lost and self._away:
                run.end("its lease could not be renewed.")

    def _end_unwanted_runs(self) -> None:
        if self.runs:
            with self._database.read() as session:
                wanted = queue.wanted(session, self.name)
            for run in self.runs:
                if run.lease not in wanted:
                    run.end("it is no longer wanted.")

    def _reap(self) -> None:
        for run in [run for run in self.runs if not run.process.is_alive()]:
            run.process.join()
            run.status = run.process.exitcode
            run.process.close()  # if only the fork server died, this ends the process
            self.runs.remove(run)
            self._ended.append(run)

    def _write(self, now: float) -> None:
        """Store how runs ended, renew leases, and queue the jobs of supervisors that are gone."""
        lease_seconds = self._settings.jobs.lease_seconds
        due = self._renewed is None or now - self._renewed >= lease_seconds / _BEATS
        ended = list(self._ended)
        if not (due or ended):
            return
        with self._database.write() as session:
            for run in ended:
                _note_end(session, run)
            if due:
                self._renew(session, now)
        del self._ended[: len(ended)]
        if due:
            self._renewed, self._away = now, False

    def _renew(self, session: Session, now: float) -> None:
        moment, here = utc_now(), {run.lease for run in self.runs}
        workers = self._settings.jobs.workers
        if self._renewed is None:
            queue.take_back(session, self.name, moment)
        queue.show_up(session, self.name, socket.gethostname(), workers, moment)
        queue.beat(session, here)
        for lease in queue.wanted(session, self.name) - here:  # the response to a claim was lost
            if (row := leased(session, lease)) is not None:
                queue.give_back(session, row, "it had not begun.", moment)
        for lease in self._silent_runs.look(queue.signs(session), now):
            if (row := leased(session, lease)) is not None and lease.holder != self.name:
                why = f"no sign of life for {self._settings.jobs.lease_seconds:g} seconds."
                queue.break_off(session, row, why, moment)
        for name in self._silent_supervisors.look(queue.supervisor_signs(session), now):
            if name != self.name:
                queue.leave(session, name)

    def _begin_run(self) -> bool:
        with self._database.read() as session:
            if queue.next_job(session) is None:
                return False
        if not self._warm:  # loading the modules takes longer than a lease should wait
            first = processes().Process(target=int, daemon=True)
            first.start()
            first.join()
            self._warm = True
        with self._database.write() as session:
            lease = queue.claim_next(session, self.name, utc_now())
        if lease is None:
            return False
        process = processes().Process(
            target=run_job, args=(self._settings, lease, self._learn), daemon=True
        )
        process.start()
        self.runs.append(Run(lease, process))
        return True

    def _end(self) -> None:
        """End all processes, and queue their jobs again if the store is available."""
        for run in self.runs:
            run.end("its supervisor stopped.")
            run.process.join()
        self._reap()
        with suppress(NotReady, StorageFull), self._database.write() as session:
            for run in self._ended:
                _note_end(session, run)
            queue.leave(session, self.name)


def _note_end(session: Session, run: Run) -> None:
    """Store how a run ended, unless the run stored its end itself."""
    row, now = leased(session, run.lease), utc_now()
    if row is None:
        return
    if isinstance(run.reason, LimitExceeded):
        finish(session, row, "failed", now, problem=problem_of(run.reason))
    elif run.reason is not None or run.status == STORE_AWAY:
        queue.give_back(session, row, run.reason or "the store was unavailable.", now)
    else:
        why = f"its process ended with status {run.status}."
        queue.break_off(session, row, why, now)


def supervise(settings: Settings) -> None:
    """Run jobs until SIGTERM or SIGINT. Raises NotReady, StoreCorrupt."""
    if settings.data_dir.exists():  # only the service creates it
        require_own_folder(settings.data_dir)
    with closing(open_database(settings, begin=False)) as database:
        if not require_one_store(database, open_segments(settings)):
            raise NotReady(
                f"No service has been started on the database {database.place} yet.",
                where="database",
                remedy="Start `miner-service serve` on this database before its workers.",
            )
        supervisor = Supervisor(settings, database, secrets.token_hex(4))
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: supervisor.ask_to_stop())
        supervisor.run()
