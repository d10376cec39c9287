"""Jobs run by a thread of the service's own process, one after the other: for tests.

What they learn with may be replaced, and every call of a learner's progress is looked at.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from miner_service.jobs.runner import learn_model, work_once
from miner_service.jobs.workers import WorkerPool
from miner_service.services import Services
from miner_service.store.queue import Lease, claim_next, give_back, leased, note_progress, take_back
from pramana_core.errors import NotReady

log = logging.getLogger(__name__)


class ThreadCrew:
    """Runs queued jobs in a thread.

    Args:
        services: the store and the files.
        learn: does the work of a job.
        wanted_seconds: how often a running job asks whether it is still wanted.
        stop_seconds: for how long a service that ends waits for the step of the running job.
    """

    holder = "thread"

    def __init__(
        self,
        services: Services,
        learn: Any = learn_model,
        wanted_seconds: float = 0.2,
        stop_seconds: float = 3600.0,
    ) -> None:
        self.services = services
        self._learn = learn
        self._wanted_seconds = wanted_seconds
        self._stop_seconds = stop_seconds
        self._work = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="jobs", daemon=True)

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set()

    def start(self) -> None:
        with self.services.database.write() as session:
            take_back(session, self.holder, self.services.now())
        self._work.set()
        self._thread.start()

    def wake(self) -> None:
        self._work.set()

    def ask_to_stop(self) -> None:
        self._stopping.set()
        self._work.set()

    def stop(self) -> None:
        self.ask_to_stop()
        self._thread.join(self._stop_seconds)

    def _loop(self) -> None:
        while not self.stopping:
            self._work.wait()
            self._work.clear()
            try:
                self.run_queued()
            except Exception:  # the thread must outlive any one job
                log.exception("a job could not be ended")

    def run_queued(self) -> None:
        """Run what is queued, one job after the other, until nothing is left or asked to stop."""
        lease = self._claim()
        while lease is not None:
            self._run(lease)
            lease = None if self.stopping else self._claim()

    def _claim(self) -> Lease | None:
        with self.services.database.write() as session:
            return claim_next(session, self.holder, self.services.now())

    def _run(self, lease: Lease) -> None:
        step = _Step(self.services, lease, self._stopping, self._wanted_seconds)
        try:
            work_once(self.services, lease, self._learn, step)
        except NotReady as error:
            with self.services.database.write() as session:
                row = leased(session, lease)
                if row is not None:
                    give_back(session, row, error.message, self.services.now())


class _Step:
    """Notes how far a job is, and stops it when it is no longer wanted."""

    def __init__(
        self, services: Services, lease: Lease, stopping: threading.Event, seconds: float
    ) -> None:
        self._services, self._lease, self._stopping = services, lease, stopping
        self._seconds = seconds
        self._asked = datetime.min.replace(tzinfo=UTC)

    def __call__(self, done: int, total: int) -> None:
        now = self._services.now()
        asked = (now - self._asked).total_seconds() < self._seconds
        if self._stopping.is_set() or not (asked or self._wanted(now, done / total)):
            raise NotReady("The job is no longer wanted.", where=self._lease.job)

    def _wanted(self, now: datetime, share: float) -> bool:
        self._asked = now
        with self._services.database.write() as session:
            note_progress(session, self._lease, share)
            return leased(session, self._lease) is not None


def crew_of(learn: Any = learn_model, **options: float) -> Callable[[Services], WorkerPool]:
    """Return what makes a crew of one thread, as `create_app` takes it."""
    return lambda services: ThreadCrew(services, learn, **options)
