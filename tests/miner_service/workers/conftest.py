"""A miner whose jobs run in processes of their own, shared by the tests of a module.

Each test has a study of its own there, and says what its jobs do.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from miner_service.jobs.crew import ProcessWorkerPool
from miner_service.settings import MEBIBYTE, JobSettings, Limits
from tests.miner_service.conftest import Miner, Person, starting

LEARNING = (sys.executable, "-m", "tests.miner_service.workers.supervise")
SPEC = {"structure": {"A": ["B"], "B": []}}


def state(pid: int) -> str | None:
    """The state of a process as the kernel calls it; None where there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return None


def exists(pid: int) -> bool:
    """Whether a process is there that is not only waiting to be buried."""
    return state(pid) not in (None, "Z", "X")


def wait_gone(pid: int) -> None:
    """Wait until a process is gone."""
    while exists(pid):
        time.sleep(0.005)


def supervisor_of(miner: Miner) -> int:
    """The number of the process of a miner's supervisor."""
    return miner.app.state.crew._process.pid


def kill(pid: int) -> None:
    """Kill a process as nothing can prevent it."""
    os.kill(pid, signal.SIGKILL)


@dataclass
class Opened:
    """A study of a shared miner with one release; its jobs leave a file for each run they begin."""

    miner: Miner
    name: str
    folder: Path
    analyst: Person
    north: Person

    def create(self, spec: Any = SPEC, **more: Any) -> str:
        """Create a job; return its path."""
        body = {"spec": spec, **more}
        answer = self.analyst("POST", f"/v1/studies/{self.name}/jobs", json=body)
        assert answer.status_code == 202, answer.text
        return answer.headers["location"]

    def told(self, path: str) -> Any:
        """What an analyst is told of a job."""
        return self.analyst("GET", path).json()

    def lines(self, path: str) -> list[str]:
        """The log of a job."""
        return [one["line"] for one in self.analyst.get(f"{path}/log")["items"]]

    def pid(self, number: int = 0) -> int:
        """Wait for a run; return the number of its process."""
        file = self.folder / f"run-{number}"
        while not (file.exists() and file.read_text()):
            time.sleep(0.01)
        return int(file.read_text())

    @property
    def runs(self) -> int:
        """How many runs have begun."""
        return len(list(self.folder.iterdir()))


class Shared:
    """A miner for all tests of a module; `begin` opens a study whose jobs do what is said."""

    def __init__(self, start: Any, folder: Path) -> None:
        self._start = start
        self._folder = folder
        self._numbers = itertools.count(1)
        self._miners: dict[tuple[Any, ...], Miner] = {}

    def begin(self, what: str, release: Any, **settings: Any) -> Opened:
        """Open a study; its jobs do `what`, the first one only where it says `once`."""
        name = f"study-{next(self._numbers)}"
        folder = self._folder / name
        folder.mkdir()
        (self._folder / "now").write_text(json.dumps({"what": what, "folder": str(folder)}))
        miner = self._miner(**settings)
        opened = Opened(miner, name, folder, miner.study(name), miner.owner(name, "north"))
        opened.north.publish(name, release)
        return opened

    def _miner(
        self, job_seconds: float = 3600, lease_seconds: float = 15, workers: int = 1
    ) -> Miner:
        key = (job_seconds, lease_seconds, workers)
        if key not in self._miners:
            self._miners[key] = self._start(
                Limits(job_seconds=job_seconds, job_bytes=512 * MEBIBYTE),
                crew=lambda services: ProcessWorkerPool(services, LEARNING),
                jobs=JobSettings(workers=workers, lease_seconds=lease_seconds),
                at=self._folder / f"data-{len(self._miners)}",
            )
        return self._miners[key]


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("workers")
    with pytest.MonkeyPatch.context() as patch, starting(folder / "data") as start:
        patch.setenv("PRAMANA_TEST_FOLDER", str(folder))
        yield Shared(start, folder)


@pytest.fixture
def begin(shared, release_a):
    """Open a study with a release on the module's miner: `(what, **settings)`."""
    return lambda what, **settings: shared.begin(what, release_a, **settings)
