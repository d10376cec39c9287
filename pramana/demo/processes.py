"""Real service processes on free loopback ports, started and always stopped again."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from pramana_core.errors import Unreachable

_START_SECONDS = 300.0
_STOP_SECONDS = 10.0


class Processes(ExitStack):
    """The processes of one demonstration; leaving the context stops them all.

    Args:
        logs: a folder; each process writes `<name>.log` there.
    """

    def __init__(self, logs: Path) -> None:
        super().__init__()
        self._logs = logs

    def serve(self, name: str, module: str, *arguments: str) -> str:
        """Start `python -m module arguments --port 0 --ready-file ...`; return its URL once ready.

        Raises:
            Unreachable: it ended, or was not ready in time; its log says why.
        """
        ready = self._logs / f"{name}.ready"
        command = [sys.executable, "-m", module, *arguments]
        command += ["--port", "0", "--ready-file", str(ready)]
        log = self.enter_context((self._logs / f"{name}.log").open("wb"))
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        self.callback(_stop, process)
        deadline = time.monotonic() + _START_SECONDS
        while not ready.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                said = (self._logs / f"{name}.log").read_text(errors="replace").strip()
                raise Unreachable(
                    f"The {name} process did not start: {said or 'it said nothing'}",
                    remedy=f"See {self._logs / name}.log.",
                )
            time.sleep(0.02)
        url: str = json.loads(ready.read_text())["url"]
        return url


def run(module: str, *arguments: str) -> None:
    """Run one command of a service to its end.

    Raises:
        Unreachable: it ended with an exit code other than 0.
    """
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Unreachable(
            f"`{module.replace('_', '-')} {arguments[0]}` ended with exit code {done.returncode}:"
            f" {done.stderr.strip()}"
        )


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
