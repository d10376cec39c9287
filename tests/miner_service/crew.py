"""Jobs run by a thread of the service's own process, one after the other: for tests."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from miner_service.jobs.runner import learn_model, work_once
from miner_service.jobs.workers import WorkerPool
from miner_service.services import Services
from miner_service.store.queue import Lease, claim_next, give_back, leased, note_progress, take_back
from pramana_core.errors import NotReady

log = logging.getLogger(__name__)


class ThreadCrew:
    """Runs queued jobs in a thread; `learn` does the work of a job."""

    holder = "thread"

    def __init__(self, services: Services, learn: Any = learn_model) -> None:
        self.services = services
        self._learn = learn
        self._work, self._stopping = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._loop, name="jobs", daemon=True)

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def start(self) -> None:
        with self.services.database.write() as session:
            take_back(session, self.holder, self.services.now())
        self._work.set()
        self._thread.start()

    def wake(self) -> None:
        self._work.set()

    def stop(self) -> None:
        self._stopping.set()
        self._work.set()
        self._thread.join()

    def _loop(self) -> None:
        while not self._stopping.is_set():
            self._work.wait()
            self._work.clear()
            try:
                while not self._stopping.is_set() and (lease := self._claim()) is not None:
                    self._run(lease)
            except Exception:  # the thread must outlive any one job
                log.exception("a job could not be ended")

    def _claim(self) -> Lease | None:
        with self.services.database.write() as session:
            return claim_next(session, self.holder, self.services.now())

    def _run(self, lease: Lease) -> None:
        asked = 0.0

        def step(done: int, total: int) -> None:
            """Note how far the job is, and stop it when it is no longer wanted."""
            nonlocal asked
            wanted = not self._stopping.is_set()
            if wanted and time.monotonic() - asked >= 0.2:
                asked = time.monotonic()
                with self.services.database.write() as session:
                    note_progress(session, lease, done / total)
                    wanted = leased(session, lease) is not None
            if not wanted:
                raise NotReady("The job is no longer wanted.", where=lease.job)

        try:
            work_once(self.services, lease, self._learn, step)
        except NotReady as error:
            with self.services.database.write() as session:
                row = leased(session, lease)
                if row is not None:
                    give_back(session, row, error.message, self.services.now())


def crew_of(learn: Any = learn_model) -> Callable[[Services], WorkerPool]:
    """Return what makes a crew of one thread, as `create_app` takes it."""
    return lambda services: ThreadCrew(services, learn)
