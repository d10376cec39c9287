"""The crew of a service: a supervisor process of its own, started again when it dies."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress

from miner_service.jobs.process import WAKE, Watch, settings_line
from miner_service.jobs.runner import WorkerPool
from miner_service.services import Services
from miner_service.store import queue

log = logging.getLogger(__name__)

COMMAND = (sys.executable, "-m", "miner_service.jobs.supervisor")

_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 10.0
_WELL = 30.0
"""After so many seconds a supervisor had begun well, and the next pause is the first again."""


def crew_of(services: Services) -> WorkerPool:
    """Return the crew that the settings ask for: a supervisor here, or those elsewhere."""
    return (
        ProcessWorkerPool(services)
        if services.settings.jobs.workers
        else DistantWorkerPool(services)
    )


class ProcessWorkerPool:
    """Runs jobs in the workers of a supervisor that it starts.

    Args:
        services: what the jobs are of.
        command: starts the supervisor.
    """

    def __init__(self, services: Services, command: Sequence[str] = COMMAND) -> None:
        self._services = services
        self._command = command
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._orders: int | None = None
        self._keeper = threading.Thread(target=self._keep, name="keeper", daemon=True)

    @property
    def alive(self) -> bool:
        """Whether the supervisor runs."""
        process = self._process
        return process is not None and process.poll() is None

    @property
    def stopping(self) -> bool:
        """Whether the service is about to end."""
        return self._stopping.is_set()

    def start(self) -> None:
        """Start the supervisor."""
        self._start()
        self._keeper.start()

    def wake(self) -> None:
        """Let the supervisor look at once."""
        with self._lock:
            if self._orders is not None:
                with suppress(OSError):  # it is gone, or has enough to look for
                    os.write(self._orders, WAKE)

    def ask_to_stop(self) -> None:
        """Let the supervisor give its jobs back and end."""
        self._stopping.set()
        with self._lock, suppress(OSError):
            if self._process is not None:
                self._process.send_signal(signal.SIGTERM)

    def stop(self) -> None:
        """Stop; a supervisor that does not end in time is killed, and its workers with it."""
        self.ask_to_stop()
        if (process := self._process) is not None:
            try:
                process.wait(self._services.settings.stop_seconds)
            except subprocess.TimeoutExpired:
                process.kill()
        self._keeper.join()

    def _start(self) -> None:
        read, write = os.pipe()
        process = subprocess.Popen(self._command, stdin=read)  # noqa: S603 - our own module
        os.close(read)
        with self._lock, suppress(OSError):
            self._process, self._orders = process, write
            os.write(write, settings_line(self._services.settings))
            os.set_blocking(write, False)  # who wakes a supervisor never waits for it
            if self.stopping:  # it was asked while there was none
                process.send_signal(signal.SIGTERM)

    def _keep(self) -> None:
        """Start the supervisor again when it ends, each time a little later."""
        pause = _FIRST_PAUSE
        while self._process is not None:
            began = time.monotonic()
            status = self._process.wait()
            with self._lock:
                if self._orders is not None:
                    os.close(self._orders)
                self._orders = None
            if self.stopping:
                return
            log.error("the supervisor of jobs ended with status %s; it is started again", status)
            if time.monotonic() - began > _WELL:
                pause = _FIRST_PAUSE
            if self._stopping.wait(pause):
                return
            pause = min(2 * pause, _LONGEST_PAUSE)
            self._start()


class DistantWorkerPool:
    """Runs no jobs: supervisors on other machines do, as long as one gives signs of life."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._stopping = threading.Event()
        self._silent = Watch[str](services.settings.jobs.lease_seconds)

    @property
    def alive(self) -> bool:
        """Whether one supervisor at least gave a sign of life lately. Raises NotReady."""
        with self._services.database.read() as session:
            signs = queue.supervisor_signs(session)
        return bool(set(signs) - self._silent.look(signs, time.monotonic()))

    @property
    def stopping(self) -> bool:
        """Whether the service is about to end."""
        return self._stopping.is_set()

    def start(self) -> None:
        """Do nothing: they are there already, or come."""

    def wake(self) -> None:
        """Do nothing: they look by themselves."""

    def ask_to_stop(self) -> None:
        """Note that the service is about to end; who runs the jobs goes on."""
        self._stopping.set()

    def stop(self) -> None:
        """Note the same."""
        self.ask_to_stop()
