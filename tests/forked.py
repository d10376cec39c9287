"""Our commands in processes of their own, each forked from one that has loaded what they need.

A command's own start loads modules for seconds, of which nothing is tested here: what is killed,
stopped, signalled or watched is a real process all the same, with its own streams and exit code.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from pkgutil import resolve_name
from weakref import WeakSet

import pytest

LOADED = [
    *("pytest", "httpx", "uvicorn", "cryptography.x509", "pyarrow.ipc", "pyarrow.csv"),
    *("scipy.optimize", "scipy.stats", "scipy.linalg", "sqlalchemy.dialects.sqlite"),
    *("miner_service.cli.study", "miner_service.http.app", "miner_service.http.server"),
    *("owner_agent.pages.serving", "owner_agent.peer.server", "owner_agent.peer.learning"),
    *("owner_agent.release.publish", "pramana.cli", "typer.rich_utils"),
]
"""What the process has loaded from which the others are forked."""

MAINS = {
    "miner_service": "miner_service.cli.main:main",
    "owner_agent": "owner_agent.cli.main:main",
    "pramana": "pramana.cli:main",
    "tests.end_to_end.patient_agent": "tests.end_to_end.patient_agent:main",
    "tests.chaos.agent": "tests.chaos.agent:main",
}
"""Where each command begins."""


def run_command(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, as a person would; nothing is raised.

    It runs in this process, which has loaded what it needs: a process of its own has nothing that
    is tested here. Tests that kill or watch one start it themselves.
    """
    out, err, code = StringIO(), StringIO(), 0
    main: Callable[[], None] = resolve_name(MAINS[module])
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", [module, *arguments])
        try:
            main()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        except Exception:  # noqa: BLE001 - how a command fails is told as its process would tell it
            traceback.print_exc()
            code = 1
    return subprocess.CompletedProcess([module, *arguments], code, out.getvalue(), err.getvalue())


_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(LOADED)


_STARTED: WeakSet[Forked] = WeakSet()


class Forked:
    """A process that runs a command, or a script of Python; it is used as a `Popen`.

    Args:
        command: a key of `MAINS`, or the text of a script.
        arguments: what `sys.argv` holds after the name.
        out: the file that takes both streams; nobody reads them if left out.
        err: the file that takes what is said of errors, if not the same.
        cwd: where it runs.
        env: its environment, this process's own if left out.
    """

    def __init__(
        self,
        command: str,
        *arguments: str,
        out: Path | None = None,
        err: Path | None = None,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.args = [command, *arguments]
        self.env = dict(env or os.environ)
        streams = (str(out or os.devnull), str(err or out or os.devnull))
        where = (streams, str(cwd or Path.cwd()), self.env)
        # A daemon does not keep the tests from ending.
        self._process = _CONTEXT.Process(target=_run, args=(self.args, *where), daemon=True)
        if out is not None:
            out.touch()
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid
        _STARTED.add(self)

    @property
    def returncode(self) -> int | None:
        """How it ended, as `Popen` says it; None while it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """The same."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; return how it ended. Raises TimeoutExpired."""
        self._process.join(timeout)
        if self.returncode is None:
            assert timeout is not None
            raise subprocess.TimeoutExpired(self.args, timeout)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it as nothing can prevent it."""
        self.send_signal(signal.SIGKILL)


def running() -> list[Forked]:
    """Return those that run. The kernel tells the environment of what they were forked from."""
    return [process for process in _STARTED if process.poll() is None]


def _run(args: list[str], streams: tuple[str, str], cwd: str, env: dict[str, str]) -> None:
    """Become a process as `python -m command` or `python -c script` would be one."""
    # As a program it may start processes of its own, which a daemon of multiprocessing may not.
    multiprocessing.current_process()._config["daemon"] = False  # type: ignore[attr-defined]
    # In the background a shell lets the tests, and what they start, ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for stream, path in enumerate(streams, start=1):
        taken = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(taken, stream)
        os.close(taken)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = list(args)
    if args[0] in MAINS:
        resolve_name(MAINS[args[0]])()
    else:
        sys.argv[0] = "-c"
        exec(compile(args[0], "<script>", "exec"), {"__name__": "__main__"})
