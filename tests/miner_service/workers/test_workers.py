"""Jobs in processes of their own: never ending, killed, interrupted, lost by their leases.

Each test has a study of its own on a miner that they share, and says what its jobs do.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from miner_service.jobs.crew import COMMAND, ProcessWorkerPool
from miner_service.jobs.process import departed, named
from miner_service.jobs.supervisor import Supervisor
from miner_service.jobs.worker import Run
from miner_service.settings import MEBIBYTE, JobSettings, Limits, Settings
from miner_service.store.queue import Lease
from miner_service.store.sqlite import SqliteStore
from pramana_core.errors import LimitExceeded, NotReady, StorageFull
from tests.miner_service.conftest import Miner, Person, starting
from tests.miner_service.workers import learning

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
        self._miner: Miner | None = None

    def begin(self, what: str, release: Any) -> Opened:
        """Open a study; its jobs do `what`, the first one only where it says `once`."""
        name = f"study-{next(self._numbers)}"
        folder = self._folder / name
        folder.mkdir()
        (self._folder / "now").write_text(json.dumps({"what": what, "folder": str(folder)}))
        miner = self.miner()
        opened = Opened(miner, name, folder, miner.study(name), miner.owner(name, "north"))
        opened.north.publish(name, release)
        return opened

    def close(self) -> None:
        """End the service; whoever begins a study after that has another one."""
        assert self._miner is not None
        self._miner.client.__exit__(None, None, None)
        self._miner = None

    def miner(self) -> Miner:
        """The service. No lease runs out, and a job may take half a GiB."""
        if self._miner is None:
            self._miner = self._start(
                Limits(job_bytes=512 * MEBIBYTE),
                crew=lambda services: ProcessWorkerPool(services, learning.COMMAND),
                jobs=JobSettings(workers=2, lease_seconds=3600),
                at=self._folder / f"data-{next(self._numbers)}",
            )
        return self._miner


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("workers")
    with pytest.MonkeyPatch.context() as patch, starting(folder / "data") as start:
        patch.setenv("PRAMANA_TEST_FOLDER", str(folder))
        yield Shared(start, folder)


@pytest.fixture
def begin(shared, release_a):
    """Open a study with a release on the module's miner, whose jobs do what is said."""
    return lambda what: shared.begin(what, release_a)


def children(pid):
    return [int(n) for n in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def workers_of(miner):
    return {w for template in children(supervisor_of(miner)) for w in children(template)}


def wait_for_workers(miner, number, gone=frozenset()):
    """Wait until so many workers were forked, and none of those is there that are to be gone."""
    while len(found := workers_of(miner)) != number or found & gone:
        time.sleep(0.01)
    return found


@pytest.mark.end_to_end
def test_a_small_job_beside_a_long_one_has_a_worker_that_was_ready_before_it(begin):
    long = begin("once loop")
    earlier = workers_of(long.miner)
    for worker in earlier:
        kill(worker)
    ready = wait_for_workers(long.miner, 1, earlier)  # for its release, there being no job yet
    path = long.create()
    assert {long.pid()} == ready
    both = wait_for_workers(long.miner, 2)  # while no job waits
    other = long.create(SPEC, key="small")
    assert long.analyst.wait(other)["state"] == "succeeded"
    assert {long.pid(1)} == both - ready
    assert long.analyst.get(path)["state"] == "running"
    assert long.analyst("DELETE", path).status_code == 200


@pytest.mark.end_to_end
@pytest.mark.parametrize("what", ["loop", "hold_everything"])
def test_a_job_that_never_ends_is_cancelled_whatever_it_computes(begin, what):
    study = begin(f"once {what}")
    path = study.create()
    pid = study.pid()
    assert study.analyst.get(path)["state"] == "running"
    assert study.analyst("DELETE", path).json()["state"] == "cancelled"
    wait_gone(pid)
    assert study.create() == path
    assert study.analyst.wait(path)["state"] == "succeeded"
    assert study.pid(1) != pid
    while "The process of run 1 has ended." not in study.lines(path):
        time.sleep(0.01)


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
    assert "ended 3 times in a row in the middle of this job" in job["problem"]["detail"]
    assert study.runs == 3
    assert len([line for line in study.lines(path) if "ended with status -6" in line]) == 3


def model_of(study, path):
    """The model of a job, once it is there."""
    job = study.analyst.wait(path)
    assert job["state"] == "succeeded", job
    return job, study.analyst.get(f"/v1/models/{job['model']}")


def runs_begun(study, path):
    return [line for line in study.lines(path) if "began" in line]


@pytest.mark.end_to_end
@pytest.mark.parametrize("victim", ["worker", "supervisor"])
def test_a_job_whose_process_is_killed_runs_again_and_gives_the_same_model(begin, victim):
    """No lease has to run out: the supervisor sees its worker end, and knows its former life."""
    study = begin("once loop")
    path = study.create()
    worker, supervisor = study.pid(), supervisor_of(study.miner)
    kill(worker if victim == "worker" else supervisor)
    wait_gone(worker)
    job, model = model_of(study, path)
    assert job["model"] == path.rsplit("/", 1)[1].replace("j-", "m-")
    _, fresh = model_of(study, study.create(SPEC, key="undisturbed"))
    passing = ("id", "job", "created")
    assert {k: v for k, v in model.items() if k not in passing} == {
        k: v for k, v in fresh.items() if k not in passing
    }
    assert runs_begun(study, path) == ["Run 1 began.", "Run 2 began."]
    assert any(line.startswith("Broken off") for line in study.lines(path))
    crew = study.miner.app.state.crew
    assert (crew.alive, supervisor_of(study.miner) == supervisor) == (True, victim == "worker")


@pytest.mark.end_to_end
def test_a_supervisor_that_stood_still_has_lost_its_job_and_stores_nothing(begin):
    """Another takes the job over; the first one's worker is ended when it goes on.

    Then both go on together, and never have the same job.
    """
    study = begin("once loop")
    path = study.create()
    worker, first = study.pid(), supervisor_of(study.miner)
    services = study.miner.services
    with services.database.write() as session:  # so that it has no lock of it while it stands
        session.connection()  # the transaction begins here, not before
        os.kill(first, signal.SIGSTOP)
        while state(first) != "T":
            time.sleep(0.005)
    impatient = JobSettings(workers=1, lease_seconds=3)
    settings = replace(services.settings, jobs=impatient)
    other = ProcessWorkerPool(replace(services, settings=settings), COMMAND)
    other.start()
    try:
        job, _ = model_of(study, path)
        assert (study.told(path)["runs"], study.runs) == (2, 1)
        os.kill(first, signal.SIGCONT)
        wait_gone(worker)
        # The first one's last word is a line of the log, and changes nothing.
        assert {**study.told(path), "log": job["log"]} == job
        paths = [study.create(SPEC, key=f"job-{number}") for number in range(4)]
        for one in paths:
            assert study.analyst.wait(one)["state"] == "succeeded"
            assert sorted(set(runs_begun(study, one))) == sorted(runs_begun(study, one))
    finally:
        os.kill(first, signal.SIGCONT)
        other.stop()


@pytest.mark.end_to_end
def test_a_service_that_ends_leaves_no_process_and_no_run(begin, shared, start):
    study = begin("once loop")
    miner = study.miner
    path = study.create()
    worker, supervisor = study.pid(), supervisor_of(miner)
    shared.close()
    assert not any(exists(pid) for pid in (worker, supervisor))
    with miner.services.database.read() as session:
        job = path.rsplit("/", 1)[1]
        query = f"SELECT state, attempt, broken_off, lease FROM jobs WHERE id='{job}'"
        assert session.connection().exec_driver_sql(query).one() == ("queued", 2, 0, None)
        assert session.connection().exec_driver_sql("SELECT * FROM supervisors").all() == []
    again = start(at=miner.data)
    person = type(study.analyst)(again.client, study.analyst.token)
    assert person.wait(path)["state"] == "succeeded"


def test_a_supervisor_has_the_name_of_its_former_life_and_nobody_elses(tmp_path):
    with named(tmp_path) as first, named(tmp_path) as second:
        assert first != second
    with named(tmp_path) as again:
        assert again == first


def test_the_names_of_supervisors_that_ended_are_held_while_they_are_looked_at(tmp_path):
    with ExitStack() as ended:
        first, second = (ended.enter_context(named(tmp_path)) for _ in range(2))
        with departed(tmp_path) as gone:
            assert gone == []
    with named(tmp_path) as again:
        with departed(tmp_path) as gone, named(tmp_path) as third:
            assert (again, gone) == (first, [second])
            assert third not in (first, second)
        with named(tmp_path) as free:
            assert free == second


class Watched:
    """A worker whose supervisor may end it."""

    killed, memory = False, 0

    def __init__(self) -> None:
        self.run = Run(Lease("j-1", 1, "one"))
        self.why = "not at all"

    def kill(self, why):
        self.killed, self.why = True, why


@pytest.fixture
def supervisor(tmp_path):
    """One that supervises nobody yet, its leases good for a minute and jobs for two."""
    settings = Settings(
        tmp_path, limits=Limits(job_seconds=120), jobs=JobSettings(lease_seconds=60)
    )
    with closing(SqliteStore(tmp_path / "miner.sqlite")) as database:
        made = Supervisor(settings, database, "one")
        yield made
        made.ask_to_stop()
        made.run()


@pytest.mark.parametrize(
    ("missed", "why"),
    [
        (None, None),
        (NotReady("Away."), "its lease could not be renewed."),
        (StorageFull("Full."), "not at all"),
    ],
    ids=["late", "away", "full"],
)
def test_a_run_counts_whose_supervisor_came_too_late_unless_the_store_was_away(
    supervisor, missed, why
):
    """Without a reason of the supervisor's own the run counts as one that was broken off."""
    worker = Watched()
    supervisor._look_at(worker)
    assert not worker.killed
    supervisor._records.renewed -= 41
    if missed is not None:
        supervisor._records.missed(missed)
    supervisor._look_at(worker)
    assert worker.why == why


def test_a_job_may_not_run_for_ever(supervisor):
    """What is ended is a process, as with one that takes too much memory."""
    worker = Watched()
    worker.run.began -= 119
    supervisor._look_at(worker)
    assert not worker.killed
    worker.run.began -= 1
    supervisor._look_at(worker)
    assert isinstance(worker.why, LimitExceeded)
    assert "more than 120 seconds and was stopped" in str(worker.why)
