"""Jobs in processes of their own: never ending, killed, interrupted, lost by their leases.

Each test has a study of its own on a miner that they share, and says what its jobs do.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from miner_service.jobs.supervisor import Run, Supervisor
from miner_service.jobs.workers import LocalWorkers
from miner_service.settings import MEBIBYTE, JobSettings, Limits, Settings
from miner_service.store.queue import Lease
from miner_service.store.sqlite import SqliteStore
from pramana_core.errors import NotReady, StorageFull
from tests.miner_service.conftest import Miner, Person, starting
from tests.miner_service.workers.learning import learn

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

    def lines(self, path: str) -> list[str]:
        """The log of a job."""
        return [one["line"] for one in self.analyst.get(path)["log"]]

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
        self._start, self._folder, self._numbers = start, folder, itertools.count(1)
        self.miner: Miner | None = None

    def begin(self, what: str, release: Any) -> Opened:
        """Open a study; its jobs do `what`, the first one only where it says `once`."""
        name = f"study-{next(self._numbers)}"
        folder = self._folder / name
        folder.mkdir()
        (self._folder / "now").write_text(json.dumps({"what": what, "folder": str(folder)}))
        if self.miner is None:  # no lease runs out, and a job may take half a GiB
            self.miner = self._start(
                Limits(job_bytes=512 * MEBIBYTE),
                crew=lambda services: LocalWorkers(services, learn),
                jobs=JobSettings(workers=2, lease_seconds=3600),
                at=self._folder / f"data-{name}",
            )
        miner = self.miner
        opened = Opened(miner, name, folder, miner.study(name), miner.owner(name, "north"))
        opened.north.publish(name, release)
        return opened


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("workers")
    with starting(folder / "data") as start:
        yield Shared(start, folder)


@pytest.fixture
def begin(shared, release_a):
    """Open a study with a release on the module's miner, whose jobs do what is said."""
    return lambda what: shared.begin(what, release_a)


@pytest.mark.end_to_end
@pytest.mark.parametrize("what", ["loop", "hold_everything"])
def test_a_job_that_never_ends_is_cancelled_whatever_it_computes(begin, what):
    study = begin(f"once {what}")
    path = study.create()
    pid = study.pid()
    # Where memory runs out, the kernel ends a job's process before the service.
    assert Path(f"/proc/{pid}/oom_score_adj").read_text().strip() == "1000"
    assert study.analyst.get(path)["state"] == "running"
    assert study.analyst("DELETE", path).json()["state"] == "cancelled"
    wait_gone(pid)
    assert study.create() == path
    assert study.analyst.wait(path)["state"] == "succeeded"
    assert study.pid(1) != pid


@pytest.mark.end_to_end
def test_a_job_whose_release_goes_away_ends_with_its_process(begin):
    study = begin("loop")
    path = study.create()
    pid = study.pid()
    (release,) = study.north.get(f"/v1/studies/{study.name}/releases")["items"]
    assert study.north("POST", f"/v1/releases/{release['id']}/withdraw").status_code == 200
    wait_gone(pid)
    job = study.analyst.get(path)
    assert (job["state"], job["problem"]["code"]) == ("failed", "conflict")


@pytest.mark.end_to_end
@pytest.mark.parametrize("what", ["hog", "take_all_at_once"])
def test_a_job_that_takes_all_memory_ends_alone(begin, what):
    study = begin(f"once {what}")
    path = study.create()
    job = study.analyst.wait(path)
    assert (job["state"], job["problem"]["code"]) == ("failed", "limit-exceeded")
    assert "512 MiB are allowed" in job["problem"]["detail"]
    assert study.runs == 1
    assert study.create() == path
    assert study.analyst.wait(path)["state"] == "succeeded"


@pytest.mark.end_to_end
def test_a_job_that_kills_its_worker_is_given_up_after_three_runs(begin):
    study = begin("die")
    path = study.create()
    job = study.analyst.wait(path)
    assert (job["state"], job["problem"]["code"]) == ("failed", "worker-lost")
    assert "ended 3 times in a row during this job" in job["problem"]["detail"]
    assert study.runs == 3
    assert len([line for line in study.lines(path) if "ended with status -6" in line]) == 3


@pytest.mark.end_to_end
def test_a_job_whose_store_was_away_is_given_back_and_not_counted_as_broken_off(begin):
    study = begin("once lose_store")
    path = study.create()
    assert study.analyst.wait(path)["state"] == "succeeded"
    assert study.runs == 2
    lines = study.lines(path)
    assert [line for line in lines if "Given back" in line]
    assert not [line for line in lines if "Broken off" in line]


def model_of(study, path):
    """The model of a job, once it is there."""
    job = study.analyst.wait(path)
    assert job["state"] == "succeeded", job
    return job, study.analyst.get(f"/v1/models/{job['model']}")


@pytest.mark.end_to_end
def test_a_job_whose_process_is_killed_runs_again_and_gives_the_same_model(begin):
    study = begin("once loop")
    path = study.create()
    pid = study.pid()
    kill(pid)
    wait_gone(pid)
    job, model = model_of(study, path)
    assert job["model"] == path.rsplit("/", 1)[1].replace("j-", "m-")
    _, fresh = model_of(study, study.create(SPEC, key="undisturbed"))
    passing = ("id", "job", "name", "created")
    assert {k: v for k, v in model.items() if k not in passing} == {
        k: v for k, v in fresh.items() if k not in passing
    }
    lines = study.lines(path)
    assert [line for line in lines if "began" in line] == ["Run 1 began.", "Run 2 began."]
    assert any(line.startswith("Broken off") for line in lines)


@pytest.mark.end_to_end
def test_a_silent_supervisor_loses_its_job_to_another_and_stores_nothing(begin, monkeypatch):
    study = begin("once loop")
    path = study.create()
    pid, services = study.pid(), study.miner.services
    first = study.miner.app.state.crew.supervisor
    monkeypatch.setattr(first, "_turn", lambda: None)  # it stands still
    impatient = replace(services.settings, jobs=JobSettings(workers=1, lease_seconds=1))
    second = Supervisor(impatient, services.database, "other", learn)
    thread = threading.Thread(target=second.run)
    thread.start()
    try:
        job, _ = model_of(study, path)
        assert (study.analyst.get(path)["runs"], exists(pid)) == (2, True)
        monkeypatch.undo()
        wait_gone(pid)  # it finds that its run is not wanted any more
        assert {**study.analyst.get(path), "log": job["log"]} == job
    finally:
        monkeypatch.undo()
        second.ask_to_stop()
        thread.join()


@pytest.mark.end_to_end
def test_a_service_that_ends_leaves_no_process_and_no_run(begin, shared, start):
    study = begin("once loop")
    miner, shared.miner = study.miner, None
    path = study.create()
    pid = study.pid()
    miner.client.__exit__(None, None, None)
    assert not exists(pid)
    with miner.services.database.read() as session:
        job = path.rsplit("/", 1)[1]
        query = f"SELECT state, attempt, broken_off, lease FROM jobs WHERE id='{job}'"
        assert session.connection().exec_driver_sql(query).one() == ("queued", 2, 0, None)
        assert session.connection().exec_driver_sql("SELECT * FROM supervisors").all() == []
    again = start(at=miner.data)
    person = type(study.analyst)(again.client, study.analyst.token)
    assert person.wait(path)["state"] == "succeeded"


SERVICE = """
import sys, time
from miner_service.jobs.process import processes
from tests.miner_service.workers.learning import hold_for_parent
processes().Process(target=hold_for_parent, args=(sys.argv[1],)).start()
time.sleep(3600)
"""


@pytest.mark.end_to_end
def test_a_job_ends_with_its_service_whatever_ends_that(tmp_path):
    file = tmp_path / "pid"
    with subprocess.Popen([sys.executable, "-c", SERVICE, str(file)]) as service:
        while not (file.exists() and file.read_text()):
            time.sleep(0.01)
        pid = int(file.read_text())
        forked_by = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
        threads = len(list(Path(f"/proc/{forked_by}/task").iterdir()))
        service.kill()
    wait_gone(pid)
    assert threads == 1


class Process:
    """A process that a supervisor may kill."""

    def __init__(self) -> None:
        self.killed = False

    def is_alive(self):
        return not self.killed

    def kill(self):
        self.killed = True

    exitcode = -9

    def close(self):
        """Nothing is held."""

    def join(self):
        """Nothing is to be waited for."""


@pytest.fixture
def supervised(tmp_path):
    """A supervisor with a run whose leases hold for a minute and jobs for two, and that run."""
    settings = Settings(
        tmp_path, limits=Limits(job_seconds=120), jobs=JobSettings(lease_seconds=60)
    )
    with closing(SqliteStore(tmp_path / "miner.sqlite")) as database:
        supervisor = Supervisor(settings, database, "one")
        run = Run(Lease("j-1", 1, "one"), Process())
        supervisor.runs.append(run)
        yield supervisor, run


@pytest.mark.parametrize("away", [False, True])
def test_a_run_ends_whose_lease_a_store_that_is_away_cannot_renew(supervised, monkeypatch, away):
    supervisor, run = supervised
    supervisor._renewed = now = time.monotonic()

    def missing(*_):
        raise NotReady("Away.")

    if away:
        monkeypatch.setattr(supervisor, "_end_unwanted_runs", missing)
        supervisor._turn()
    supervisor._end_late_runs(now + 39)
    assert not run.process.killed
    supervisor._end_late_runs(now + 41)
    assert run.process.killed == away


def test_a_full_store_is_not_an_absent_one(supervised, monkeypatch):
    supervisor, _ = supervised

    def full(*_):
        raise StorageFull("Full.")

    monkeypatch.setattr(supervisor, "_end_unwanted_runs", full)
    supervisor._renewed = time.monotonic() - 100
    supervisor._turn()  # it was late, and this run ends for that
    assert time.monotonic() - supervisor._renewed < 30


@pytest.mark.slow
def test_a_job_whose_cluster_is_away_runs_again_after_a_pause(begin):
    study = begin("once wait_for_cluster")
    job = study.create()
    assert study.analyst.wait(job)["state"] == "succeeded"
    lines = study.analyst.get(job)["log"]
    began = [datetime.fromisoformat(one["at"]) for one in lines if "began" in one["line"]]
    assert len(began) == 2
    assert (began[1] - began[0]).total_seconds() >= 2


def test_a_supervisor_whose_turns_fail_is_not_alive(supervised, monkeypatch):
    supervisor, _ = supervised
    assert supervisor.alive
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 61)
    assert not supervisor.alive


@pytest.mark.end_to_end
def test_a_job_that_ran_too_long_has_failed(start, release_a, tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    (tmp_path / "now").write_text(json.dumps({"what": "loop", "folder": str(folder)}))
    miner = start(Limits(job_seconds=1), crew=lambda services: LocalWorkers(services, learn))
    analyst = miner.study("asia")
    miner.owner("asia", "north").publish("asia", release_a)
    path = analyst("POST", "/v1/studies/asia/jobs", json={"spec": SPEC}).headers["location"]
    job = analyst.wait(path)
    assert (job["state"], job["problem"]["code"], job["runs"]) == ("failed", "limit-exceeded", 1)
