"""A worker process as its supervisor sees it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from miner_service.settings import Settings
from miner_service.store.queue.leases import Lease
from miner_service.workers.bound import memory_of
from miner_service.workers.lines import Incoming, order_line, settings_line
from shared.errors import LimitExceeded

COMMAND = (sys.executable, "-m", "miner_service.workers.process")

_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


@dataclass
class Run:
    """A job that a worker has: since when (of this machine's running clock), and how far it is.

    `ended_by` says why the supervisor ended its process: an error is the job's own, a text stands
    for a run that can be run again elsewhere; None where the process ended by itself.
    """

    lease: Lease
    predicted_seconds: float | None = None
    predicted_bytes: float | None = None
    began: float = field(default_factory=time.monotonic)
    step: tuple[int, int] | None = None
    ended_by: LimitExceeded | str | None = None
    away: str | None = None


class Worker:
    """A worker process, and the run of a job that it has; `output` is where it tells of it.

    Args:
        settings: what it must know.
        command: starts it.
    """

    def __init__(self, settings: Settings, command: Sequence[str] = COMMAND) -> None:
        taken, self._orders = os.pipe()
        self.output, told = os.pipe()
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            [*command, str(os.getpid())],
            stdin=taken,
            stdout=told,
            env={**os.environ, **_ONE_THREAD},
        )
        os.close(taken)
        os.close(told)
        self._incoming = Incoming(self.output)
        self.run: Run | None = None
        self.killed = self.ready = False
        self._send(settings_line(settings))

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def gone(self) -> int | None:
        """How the process ended, as an exit status; None while it lives."""
        return self._process.poll()

    def give(self, run: Run) -> None:
        """Order a job to be run."""
        self.run = run
        self._send(order_line(run.lease))

    def hear(self) -> Run | None:
        """Take note of what it told; return the run that it says has come to its end."""
        finished = None
        for line in self._incoming.lines():
            told: dict[str, Any] = json.loads(line)
            run = self.run
            self.ready = True
            if run is None:
                continue
            if "done" in told:
                run.step = told["done"], told["total"]
            elif told.get("ended") == run.lease.job:
                run.away = told["away"]
                finished, self.run = run, None
        return finished

    @property
    def free(self) -> bool:
        """Whether it could take a job."""
        return self.ready and self.run is None and not self.killed

    @property
    def memory(self) -> int:
        """The bytes of memory that it has for itself."""
        return memory_of(self.pid)

    def kill(self, why: LimitExceeded | str) -> None:
        """End the process, whatever it computes."""
        if self.run is not None:
            self.run.ended_by = why
        self.killed = True
        self._process.kill()

    def wait(self) -> None:
        """Wait until the process is gone."""
        self._process.wait()

    def release(self) -> None:
        """Let go of its pipes, when all that it told was heard."""
        os.close(self._orders)
        os.close(self.output)

    def _send(self, line: bytes) -> None:
        with suppress(BrokenPipeError):  # it is seen to be gone
            os.write(self._orders, line)
