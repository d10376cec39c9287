"""Miners in this process whose jobs run in processes of their own."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from miner_service.settings import JobSettings
from miner_service.workers.crew import COMMAND, ProcessCrew

LEARNING = (sys.executable, "-m", "tests.miner_service.workers.supervise")
SPEC = {"structure": {"A": ["B"], "B": []}}


def exists(pid: int) -> bool:
    """Whether a process is there that is not only waiting to be buried."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_gone(pid: int) -> None:
    """Wait until a process is gone."""
    while exists(pid):
        time.sleep(0.005)


def supervisor_of(miner):
    """The number of the process of a miner's supervisor."""
    return miner.app.state.crew._process.pid


class Runs:
    """The runs of jobs that a worker of `learning` has begun."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def pid(self, number: int = 0) -> int:
        """Wait for a run; return the number of its process."""
        file = self.folder / f"run-{number}"
        while not (file.exists() and file.read_text()):
            time.sleep(0.01)
        return int(file.read_text())

    @property
    def count(self) -> int:
        return len(list(self.folder.iterdir()))


@pytest.fixture
def runs(tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    return Runs(folder)


@pytest.fixture
def begin(start, monkeypatch, runs, release_a):
    """Start a miner whose jobs do what `what` says, with a study that has a release."""

    def begun(what=None, *, workers=1, limits=None, **times):
        command = COMMAND if what is None else LEARNING
        monkeypatch.setenv("PRAMANA_TEST_FOLDER", str(runs.folder))
        monkeypatch.setenv("PRAMANA_TEST_LEARN", what or "")
        miner = start(
            limits,
            crew=lambda services: ProcessCrew(services, command),
            jobs=JobSettings(workers=workers, **times),
        )
        miner.analyst = miner.study("asia")
        miner.north = miner.owner("asia", "north")
        miner.north.publish("asia", release_a)
        return miner

    return begun


def create(miner, spec=None, study="asia", **more):
    """Create a job; return its path."""
    body = {"spec": spec or SPEC, **more}
    answer = miner.analyst("POST", f"/v1/studies/{study}/jobs", json=body)
    assert answer.status_code == 202, answer.text
    return answer.headers["location"]


def end(pid: int) -> None:
    """Kill a process as nothing can prevent it."""
    os.kill(pid, signal.SIGKILL)


def told(miner, path):
    """What an analyst of the present version is told of a job."""
    return miner.analyst("GET", path, headers={"Pramana-Protocol": "2"}).json()
