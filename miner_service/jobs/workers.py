"""The workers of a service: processes of its own, or supervisors on other machines."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from miner_service.jobs.supervisor import Supervisor, Watch
from miner_service.store import queue

if TYPE_CHECKING:
    from miner_service.jobs.runner import Learn
    from miner_service.services import Services

_STOP_SECONDS = 10.0


class WorkerPool:
    """The workers of a service from its start to its end: supervisors on other machines."""

    def __init__(self, services: Services) -> None:
        self._database = services.database
        self._silent = Watch[str](services.settings.jobs.lease_seconds)

    @property
    def alive(self) -> bool:
        """Whether jobs are being run: a supervisor gave a sign of life lately. Raises NotReady."""
        with self._database.read() as session:
            signs = queue.supervisor_signs(session)
        return bool(set(signs) - self._silent.look(signs, time.monotonic()))

    def start(self) -> None:
        """Start to run jobs; other machines do that on their own."""

    def wake(self) -> None:
        """Report a queued or cancelled job; other machines look for jobs on their own."""

    def stop(self) -> None:
        """Give running jobs back, which run again at the next start, and end."""


CrewMaker = Callable[["Services"], WorkerPool]
"""Makes the workers of a service."""


class LocalWorkers(WorkerPool):
    """Runs jobs in processes of this machine, which a thread of the service supervises."""

    def __init__(self, services: Services, learn: Learn | None = None) -> None:
        super().__init__(services)
        # One service at a time has a data directory.
        place = str(services.settings.data_dir.resolve())
        name = hashlib.sha256(place.encode()).hexdigest()[:8]
        self.supervisor = Supervisor(services.settings, services.database, name, learn)
        self._thread = threading.Thread(target=self.supervisor.run, name="jobs", daemon=True)

    @property
    def alive(self) -> bool:
        """Whether the supervisor lives and makes its turns."""
        return self._thread.is_alive() and self.supervisor.alive

    def start(self) -> None:
        """Start the supervisor."""
        self._thread.start()

    def wake(self) -> None:
        """Let the supervisor look for jobs."""
        self.supervisor.wake()

    def stop(self) -> None:
        """Ask to stop, and wait for the end."""
        self.supervisor.ask_to_stop()
        self._thread.join(_STOP_SECONDS)


def workers_of(services: Services) -> WorkerPool:
    """Return the workers that the settings ask for."""
    return LocalWorkers(services) if services.settings.jobs.workers else WorkerPool(services)
