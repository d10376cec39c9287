"""The miner's processes: started, killed, started again on the same data and port."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import psutil

from tests.forked import Forked, running

MARK = "PRAMANA_CHAOS"
"""The variable in the environment of all processes of a campaign, by which strays are found."""


def until(reached: Callable[[], object], *, seconds: float = 120.0, what: str) -> None:
    """Wait for a state; fail after a time in which nothing healthy is still on its way to it."""
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline, f"not reached in {seconds:.0f} s: {what}"
        time.sleep(0.01)


class Service:
    """`miner-service serve` on one data directory, with whatever processes it starts itself."""

    def __init__(
        self, data: Path, logs: Path, mark: str, settings: Path, environment: Mapping[str, str]
    ) -> None:
        self.data = data
        self._settings = settings
        self.token_file = logs / "admin.token"
        self._logs = logs
        self._ready = logs / "miner.ready"
        self._environment = {**os.environ, MARK: mark, **environment}
        self._process: Forked | None = None
        self.starts = 0
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = int(free.getsockname()[1])
        self.url = f"http://127.0.0.1:{self._port}"

    @property
    def running(self) -> bool:
        """Whether the service's own process is there."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it and wait until it takes requests."""
        self._ready.unlink(missing_ok=True)
        words = ["serve", "--data", str(self.data), "--port", str(self._port)]
        words += ["--ready-file", str(self._ready), "--settings", str(self._settings)]
        words += ["--admin-token-file", str(self.token_file)]
        log = self._logs / "miner.log"
        self._process = Forked("miner_service", *words, out=log, env=self._environment)
        self.starts += 1
        until(lambda: self._ready.exists() or not self.running, what="a miner that is ready")
        assert self.running, self.said()
        assert json.loads(self._ready.read_text())["pid"] == self._process.pid

    def kill(self) -> bool:
        """Send SIGKILL; say whether it was there to be killed by it."""
        assert self._process is not None
        if self._process.poll() is not None:
            return False
        self._process.send_signal(signal.SIGKILL)
        return self._process.wait() == -signal.SIGKILL

    def stop(self) -> int:
        """Ask it to end and wait for that; return its exit code."""
        assert self._process is not None
        self._process.terminate()
        return self._process.wait()

    def supervisors(self) -> list[psutil.Process]:
        """The server that forks the processes of jobs."""
        return _children(self._process)

    def workers(self) -> list[psutil.Process]:
        """The processes that run jobs."""
        return [worker for each in self.supervisors() for worker in _children(each)]

    def said(self) -> str:
        """The end of its log."""
        return (self._logs / "miner.log").read_text(errors="replace")[-4000:]


def _children(of: Forked | psutil.Process | None) -> list[psutil.Process]:
    try:
        found: list[psutil.Process] = psutil.Process(of.pid).children() if of else []
    except psutil.NoSuchProcess:
        return []
    return found


def marked(mark: str) -> list[str]:
    """Return the command lines of all living processes of a campaign."""
    found = [" ".join(one.args) for one in running() if one.env.get(MARK) == mark]
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(" ".join(process.cmdline()))
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found
