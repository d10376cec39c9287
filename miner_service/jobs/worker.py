"""A worker process as its supervisor sees it, and the template that workers are forked from."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from miner_service.jobs.bounds import memory_of
from miner_service.jobs.process import Incoming, order_line, settings_line
from miner_service.settings import Settings
from miner_service.store.queue import Lease
from pramana_core.errors import LimitExceeded

COMMAND = (sys.executable, "-m", "miner_service.jobs.process")

_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


@dataclass
class Run:
    """A job that a worker has: since when (of this machine's running clock), and how far it is.

    `ended_by` says why the supervisor ended its process: an error is the job's own, a text stands
    for a run that can be run again elsewhere; None where the process ended by itself.
    """

    lease: Lease
    began: float = field(default_factory=time.monotonic)
    step: tuple[int, int] | None = None
    ended_by: LimitExceeded | str | None = None
    away: str | None = None


class Template:
    """A process that has loaded what jobs need, from which workers are forked in no time.

    It is started when the first worker is needed, and again where it is gone.

    Args:
        command: starts it.
    """

    def __init__(self, command: Sequence[str] = COMMAND) -> None:
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None

    def fork(self, orders: int, answers: int) -> None:
        """Let a worker begin that reads from the one pipe and writes to the other.

        Where that fails, nobody holds the other ends of the pipes any more.
        """
        if self._process is None or self._process.poll() is not None:
            self.stop()
            self._start()
        if self._channel is not None:
            with suppress(OSError):  # it has just ended
                socket.send_fds(self._channel, [b"\n"], [orders, answers])

    def stop(self) -> None:
        """End it, and the workers that it forked."""
        if self._channel is not None:
            self._channel.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._process = self._channel = None

    def _start(self) -> None:
        self._channel, other = socket.socketpair()
        command = [*self._command, str(os.getpid())]
        environment = {**os.environ, **_ONE_THREAD}
        with other:
            self._process = subprocess.Popen(command, stdin=other.fileno(), env=environment)  # noqa: S603 - our own module


class Worker:
    """A worker process, and the run of a job that it has; `output` is where it tells of it.

    `status` is how it ended, as an exit status; None while it lives, or where nobody saw its end.

    Args:
        settings: what it must know.
        template: forks it.
    """

    def __init__(self, settings: Settings, template: Template) -> None:
        taken, self._orders = os.pipe()
        self.output, answers = os.pipe()
        template.fork(taken, answers)
        os.close(taken)
        os.close(answers)
        self._incoming = Incoming(self.output)
        self._pid: int | None = None
        self.run: Run | None = None
        self.status: int | None = None
        self.killed = self.ready = False
        self._send(settings_line(settings))

    @property
    def gone(self) -> bool:
        """Whether the process has ended: nobody is left who could tell of it."""
        return self._incoming.ended

    def give(self, run: Run) -> None:
        """Order a job to be run."""
        self.run = run
        self._send(order_line(run.lease))

    def hear(self) -> Run | None:
        """Take note of what it told; return the run that it says has come to its end."""
        finished = None
        for line in self._incoming.lines():
            message: dict[str, Any] = json.loads(line)
            run = self.run
            if "pid" in message:
                self._pid = message["pid"]
                if self.killed:
                    self._kill()
            elif "gone" in message:
                self._pid, self.status = None, message["gone"]
            elif "ready" in message:
                self.ready = True
            elif run is None:
                continue
            elif "done" in message:
                run.step = message["done"], message["total"]
            elif message.get("ended") == run.lease.job:
                run.away = message["away"]
                finished, self.run = run, None
        return finished

    @property
    def free(self) -> bool:
        """Whether it could take a job."""
        return self.ready and self.run is None and not self.killed

    @property
    def memory(self) -> int:
        """The bytes of memory that it has for itself."""
        return memory_of(pid) if (pid := self._pid) is not None else 0

    def kill(self, why: LimitExceeded | str | None) -> None:
        """End the process, whatever it computes."""
        if self.run is not None:
            self.run.ended_by = why
        self.killed = True
        self._kill()

    def wait(self) -> Run | None:
        """Wait until the process is gone; return the run that it had come to the end of."""
        finished = self.hear()
        while not self.gone:
            select.select([self.output], [], [])
            finished = self.hear() or finished
        return finished

    def release(self) -> None:
        """Let go of its pipes, when all that it told was heard."""
        os.close(self._orders)
        os.close(self.output)

    def _kill(self) -> None:
        if (pid := self._pid) is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _send(self, line: bytes) -> None:
        with suppress(BrokenPipeError):  # it is seen to be gone
            os.write(self._orders, line)
