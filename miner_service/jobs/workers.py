"""The workers of a service: local processes, or supervisors on other machines."""

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
    """A service's workers if these run on other machines; also the base class of `LocalWorkers`."""

    def __init__(self, services: Services) -> None:
        self._database = services.database
        self._silent = Watch[str](services.settings.jobs.lease_seconds)

    @property
    def alive(self) -> bool:
        """Return whether a supervisor has given a recent sign of life. Raises NotReady."""
        with self._database.read() as session:
            signs = queue.supervisor_signs(session)
        return bool(set(signs) - self._silent.look(signs, time.monotonic()))

    def start(self) -> None:
        """Do nothing: other machines start their workers."""

    def wake(self) -> None:
        """Do nothing: other machines poll for jobs."""

    def stop(self) -> None:
        """Do nothing: other machines stop their workers."""


CrewMaker = Callable[["Services"], WorkerPool]
"""A function that creates the workers of a service."""


class LocalWorkers(WorkerPool):
    """Runs jobs in processes of this machine, supervised by a thread of the service."""

    def __init__(self, services: Services, learn: Learn | None = None) -> None:
        super().__init__(services)
        # Only one service at a time uses a data directory, so its path identifies the service.
        place = str(services.settings.data_dir.resolve())
        name = hashlib.sha256(place.encode()).hexdigest()[:8]
        self.supervisor = Supervisor(services.settings, services.database, name, learn)
        self._thread = threading.Thread(target=self.supervisor.run, name="jobs", daemon=True)

    @property
    def alive(self) -> bool:
        """Return whether the supervisor's thread runs and its turns succeed."""
        return self._thread.is_alive() and self.supervisor.alive

    def start(self) -> None:
        """Start the supervisor."""
        self._thread.start()

    def wake(self) -> None:
        """Make the supervisor look for jobs now."""
        self.supervisor.wake()

    def stop(self) -> None:
        """Stop the supervisor and wait until it has ended."""
        self.supervisor.ask_to_stop()
        self._thread.join(_STOP_SECONDS)


def workers_of(services: Services) -> WorkerPool:
    """Return the configured workers."""
    return LocalWorkers(services) if services.settings.jobs.workers else WorkerPool(services)
