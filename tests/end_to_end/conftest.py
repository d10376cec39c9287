"""Real services in real processes, the way people run them.

Tests wait for states and set no deadlines of their own: what hangs is ended by pytest's `timeout`.
"""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import IO

import numpy as np
import pytest

from pramana.demo import run as demo_run
from pramana.demo.run import RestClient
from tests.forked import Forked, run_command

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def run() -> Run:
    """Run the command of a module to its end: `(module, *arguments)`."""
    return run_command


def wait_until(
    reached: Callable[[], object],
    *processes: Forked | subprocess.Popen[bytes],
    said: Callable[[], object] = str,
) -> None:
    """Wait for a state; fail with what was `said` if one of the processes that make it ends."""
    while not reached():
        ended = [process.args for process in processes if process.poll() is not None]
        # It may have been reached just before the end.
        assert not ended or reached(), f"{ended} ended: {said()}"
        time.sleep(0.02)


@pytest.fixture(scope="session")
def until() -> Callable[..., None]:
    """Wait for a state: `(reached, *processes, said=...)`."""
    return wait_until


@contextmanager
def forking() -> Iterator[None]:
    """Let a demonstration fork its services, and run its commands in this process.

    All that were started must have ended at the end.
    """
    started = []

    def start(command: list[str], *, stdout: IO[bytes], stderr: int) -> Forked:
        assert (command[:2], stderr) == ([sys.executable, "-m"], subprocess.STDOUT)
        started.append(Forked(*command[2:], out=Path(stdout.name)))
        return started[-1]

    def ended(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        assert command[:2] == [sys.executable, "-m"]
        return run_command(*command[2:])

    known = {"Popen": start, "run": ended, "STDOUT": subprocess.STDOUT}
    known["TimeoutExpired"] = subprocess.TimeoutExpired
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo_run, "subprocess", SimpleNamespace(**known))
        yield
    assert all(process.poll() is not None for process in started)


_KILLED = """
import os, signal, httpx
from owner_agent.cli.main import build
from owner_agent.state.environment import Environment

class Killed(httpx.HTTPTransport):
    parts = 0

    def handle_request(self, request):
        self.parts += request.method == "PUT"
        if self.parts > {parts}:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().handle_request(request)

build(Environment(transport=Killed()))()
"""


def killed_in_mid_upload(study: Study, parts: int, *words: str) -> None:
    """Run an owner's command that is killed by signal 9 when it has sent so many parts."""
    log = study.root / "killed.log"
    process = Forked(_KILLED.format(parts=parts), *words, out=log)
    assert process.wait() == -signal.SIGKILL, log.read_text()


def outbox_of(site: Path) -> dict[str, bytes]:
    """Return the parts that lie in an owner's outbox."""
    return {p.name: p.read_bytes() for p in (site.parent / ".pramana/outbox").rglob("*.arrow")}


@contextmanager
def free_ports() -> Iterator[Callable[[], int]]:
    """Give loopback ports that stay the caller's.

    Nobody else is given a port that is bound here. The services may bind it too: Linux lets sockets
    with SO_REUSEADDR share a port of which one only listens.
    """
    with ExitStack() as held:

        def port() -> int:
            holding = held.enter_context(socket.socket())
            holding.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            holding.bind(("127.0.0.1", 0))
            number = int(holding.getsockname()[1])
            if not sys.platform.startswith("linux"):
                holding.close()
            return number

        yield port


@pytest.fixture
def free_port() -> Iterator[Callable[[], int]]:
    """Return loopback ports that stay this test's."""
    with free_ports() as port:
        yield port


@dataclass
class Study:
    """A miner process with an open study, and owners' folders that have joined it."""

    root: Path
    url: str
    admin: RestClient
    name: str = "trial"

    def add_owner(self, owner: str, table: str, variables: str, *, join: bool = True) -> Path:
        """Make an owner's folder with keys; return its site file."""
        home = self.root / owner
        home.mkdir()
        (home / "table.csv").write_text(table, encoding="utf-8")
        site = home / "site.toml"
        site.write_text(
            f'owner = "{owner}"\ntable = "table.csv"\nrecord_id = "id"\n'
            f'[miner]\nurl = "{self.url}"\nstudy = "{self.name}"\n{variables}',
            encoding="utf-8",
        )
        linkage = self.root / "linkage.key"
        if not linkage.exists():
            linkage.touch(mode=0o600)
            linkage.write_text(bytes(range(7, 39)).hex())
        for words in (["keys", "create"], ["keys", "import", "linkage", str(linkage)]):
            done = run_command("owner_agent", *words, "--site", str(site))
            assert done.returncode == 0, done.stderr
        if join:
            self.join(owner, site)
        return site

    def join(self, owner: str, site: Path) -> None:
        """Invite an owner and take the invitation up."""
        path = f"/v1/studies/{self.name}/invitations"
        secret = self.admin.post(path, {"owner": owner})["secret"]
        file = site.parent / "invitation"
        file.write_text(secret)
        done = run_command("owner_agent", "join", "--secret-file", str(file), "--site", str(site))
        assert done.returncode == 0, done.stderr

    def releases(self) -> list[dict]:
        """All releases of the study, as the miner lists them."""
        return self.admin.get(f"/v1/studies/{self.name}/releases")["items"]


@contextmanager
def served(folder: Path, name: str, command: str, *options: str) -> Iterator[str]:
    """Let a command serve in a process of its own; give its address."""
    ready, log = folder / f"{name}.ready", folder / f"{name}.log"
    words = ["serve", "--port", "0", "--ready-file", str(ready), *options]
    process = Forked(command, *words, out=log)
    try:
        wait_until(ready.exists, process, said=log.read_text)
        yield json.loads(ready.read_text())["url"]
    finally:
        process.terminate()
        process.wait()


@contextmanager
def mining(root: Path, *options: str) -> Iterator[Study]:
    """Let a miner serve from a folder with one study."""
    token, logs = root / "admin.token", root / "logs"
    logs.mkdir()
    words = ["--data", str(root / "miner"), "--admin-token-file", str(token), *options]
    with (
        served(logs, "miner", "miner_service", *words) as url,
        RestClient(url, token.read_text().strip(), seconds=None) as admin,
    ):
        admin.post("/v1/studies", {"name": "trial"})
        yield Study(root, url, admin)


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    """A miner process with one study; it runs no jobs."""
    with mining(tmp_path, "--workers", "0") as made:
        yield made


@pytest.fixture
def learning_study(tmp_path: Path) -> Iterator[Study]:
    """A miner process with one study; it runs jobs."""
    with mining(tmp_path) as made:
        yield made


@pytest.fixture
def tables() -> dict[str, str]:
    """Two owners' tables of the same 3,000 people, in different orders."""
    rng = np.random.default_rng(20)
    people = np.arange(3000)
    smokes = rng.random(3000) < 0.3
    ill = rng.random(3000) < np.where(smokes, 0.6, 0.1)
    city = rng.integers(0, 3, 3000)
    first = ["id,smokes,city"]
    first += [f"p{i},{'yes' if smokes[i] else 'no'},c{city[i]}" for i in rng.permutation(people)]
    second = ["id,ill"]
    second += [f"p{i},{'yes' if ill[i] else 'no'}" for i in rng.permutation(people)]
    return {"north": "\n".join(first), "south": "\n".join(second)}


VARIABLES = {
    "north": """
[[variables]]
name = "smokes"
categories = ["yes", "no"]
sensitive = {sensitive}
{smokes}
[[variables]]
name = "city"
categories = ["c0", "c1", "c2"]
sensitive = false
""",
    "south": """
[[variables]]
name = "ill"
categories = ["yes", "no"]
sensitive = {sensitive}
{ill}
""",
}


@pytest.fixture
def variables() -> Callable[..., str]:
    """The owners' variables; `channel=None` leaves all of them unrandomized."""

    def of(owner: str, channel: str | None) -> str:
        line = "" if channel is None else f"channel = {channel}"
        return VARIABLES[owner].format(
            sensitive="false" if channel is None else "true", smokes=line, ill=line
        )

    return of
