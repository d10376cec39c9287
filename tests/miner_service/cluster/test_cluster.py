"""A miner whose jobs a real cluster counts: a scheduler and workers, all processes, over TLS."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from miner_service.settings import ClusterSettings
from tests.certificates import Authority
from tests.forked import Forked
from tests.miner_service.conftest import Person, Survey, build, opened_survey, starting

PIECE = 700
"""Records in a piece: the survey has six, and each pass several tasks."""

SCHEDULER = """
from distributed.cli.dask_scheduler import main
main()
"""
HOLDING_WORKER = """
from tests.miner_service.cluster.holding_worker import main
main()
"""

VOLATILE = {"id", "job", "name", "created", "releases", "study"}
TABLE = {"kind": "contingency-table", "variables": ["smoker", "age", "ill"]}
NETWORK = {"kind": "bayes-net-structure", "variables": ["smoker", "age", "sport", "ill"]}
TREE = {"kind": "decision-tree", "target": "ill"}


@dataclass
class Cluster:
    """A scheduler and workers, as processes; `data` is where the workers read records."""

    folder: Path
    data: Path
    settings: ClusterSettings
    processes: dict[str, Forked] = field(default_factory=dict)

    def schedule(self) -> None:
        """Start the scheduler; it is there once it takes connections."""
        told = self.folder / "scheduler.json"
        told.unlink(missing_ok=True)
        port = self.settings.scheduler.rpartition(":")[2] if self.settings.scheduler else "0"
        words = ["--host", "tls://127.0.0.1", "--port", port, "--no-dashboard"]
        words += ["--tls-ca-file", self.settings.authority, "--tls-cert", self.settings.certificate]
        words += ["--tls-key", self.settings.private_key, "--scheduler-file", told]
        self._start("scheduler", SCHEDULER, *words)
        self._until("scheduler", lambda: told.exists() and told.read_text().endswith("}"))
        address = json.loads(told.read_text())["address"]
        self.settings = ClusterSettings(**asdict(self.settings) | {"scheduler": address})
        lines = [
            f"{name} = {str(value)!r}".replace("'", '"')
            for name, value in asdict(self.settings).items()
            if isinstance(value, str | Path)
        ]
        (self.folder / "miner.toml").write_text("\n".join(["[cluster]", *lines]))

    def work(self, *names: str) -> None:
        """Start workers that may be held; they are there once they count for the scheduler."""
        words = [self.folder, "cluster-worker", "--columns", self.data / "columns"]
        words += ["--threads", "1", "--settings", self.folder / "miner.toml"]
        for name in names:
            self._start(name, HOLDING_WORKER, *words)
        for name in names:
            while b"counting for" not in (self.folder / name).read_bytes():
                self._require_alive(name)

    def _start(self, name: str, script: str, *words: Any) -> None:
        self.processes[name] = Forked(script, *map(str, words), out=self.folder / name)

    def _until(self, name: str, true: Callable[[], bool]) -> None:
        while not true():
            self._require_alive(name)

    def _require_alive(self, name: str) -> None:
        assert self.processes[name].poll() is None, (self.folder / name).read_text()
        time.sleep(0.01)

    def end(self, name: str, number: signal.Signals = signal.SIGKILL) -> int:
        """End a process."""
        process = self.processes.pop(name)
        process.send_signal(number)
        return process.wait()

    def hold(self) -> Path:
        """Let all who count stand still; return the file in which the first leaves its number."""
        (self.folder / "begun").unlink(missing_ok=True)
        (self.folder / "hold").touch()
        return self.folder / "begun"

    def held(self, begun: Path, survey: Survey, job: str) -> str:
        """Wait until a worker stands still amid its count for a job; return its name."""
        self.until(lambda: begun.exists() and begun.read_text() != "", survey, job)
        return next(n for n, p in self.processes.items() if p.pid == int(begun.read_text()))

    def go_on(self) -> None:
        """Let them go on."""
        (self.folder / "hold").unlink()

    def until(self, true: Callable[[], bool], survey: Survey, job: str) -> None:
        """Wait for something that comes while a job is not at its end and all processes live."""
        while not true():
            found = survey.analyst.get(job)
            assert found["state"] in ("queued", "running"), found
            for name, process in self.processes.items():
                assert process.poll() is None, (self.folder / name).read_text()
            time.sleep(0.02)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    authority = Authority.make(folder / "tls", "cluster")
    certificate, key = authority.issue("member")
    settings = ClusterSettings(
        authority=authority.path,
        certificate=certificate,
        private_key=key,
        piece_records=PIECE,
        wait_seconds=60.0,
    )
    made = Cluster(folder, folder / "data", settings)
    try:
        made.schedule()
        yield made
    finally:
        for name in list(made.processes):
            made.end(name)


@pytest.fixture(scope="module")
def surveys(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Survey]]:
    """The same study twice: counted by the jobs themselves, and by the cluster."""
    with (
        starting(tmp_path_factory.mktemp("alone") / "data") as alone,
        starting(cluster.data) as counted,
    ):
        made = [opened_survey(alone), opened_survey(counted, cluster=cluster.settings)]
        yield made
    client = made[1].miner.services.access.count._client
    if client is not None:  # a job's own process takes it along when it ends
        client.close()


@pytest.fixture
def impatient(surveys: list[Survey], monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs are given back soon."""
    place = surveys[1].miner.services.access.count
    monkeypatch.setattr(place, "_settings", replace(place._settings, wait_seconds=1.0))


def learned(survey: Survey, **spec: Any) -> Any:
    found = survey.learn(**spec)
    return {name: value for name, value in found.items() if name not in VOLATILE}


def log_of(survey: Survey, job: str) -> str:
    return "\n".join(line["line"] for line in survey.analyst.get(job)["log"])


@pytest.mark.usefixtures("impatient")
def test_a_job_that_nobody_counts_for_is_given_back_until_somebody_does(cluster, surveys):
    alone, counted = surveys
    created = counted.job(**TABLE).headers["location"]
    cluster.until(lambda: "has no workers" in log_of(counted, created), counted, created)
    cluster.work("one", "two")
    assert counted.analyst.wait(created)["state"] == "succeeded"
    assert learned(counted, **TABLE) == learned(alone, **TABLE)


def test_jobs_learn_on_a_cluster_to_the_digit_what_they_learn_alone(surveys):
    alone, counted = surveys
    for spec in (NETWORK, TREE):
        assert learned(counted, **spec) == learned(alone, **spec)
    assert counted.miner.client.get("/readyz").status_code == 200


def test_records_that_only_some_owners_have_are_found_by_the_workers(cluster, surveys):
    analysts: list[Person] = []
    for survey in surveys:
        miner = survey.miner
        analyst, owners = miner.study("overlap"), [miner.owner("overlap", n) for n in ("n", "s")]
        for owner, start, names in zip(owners, (0, 1500), survey.plans, strict=True):
            plan = survey.plans[names]
            rows = slice(start, start + 2500)
            codes = {v: survey.reports[v][rows] for v in plan.domain.names}
            owner.publish("overlap", build(plan, range(start, start + 2500), codes, per_part=2500))
        analysts.append(analyst)
    found = []
    for analyst in analysts:
        for records in ("common", "any"):
            spec = {**TABLE, "variables": ["age", "ill"], "records": records, "estimator": "ml"}
            created = analyst("POST", "/v1/studies/overlap/jobs", json={"spec": spec})
            job = analyst.wait(created.headers["location"])
            assert job["state"] == "succeeded", job
            model = analyst.get(f"/v1/models/{job['model']}")
            found.append({n: v for n, v in model.items() if n not in VOLATILE})
    assert found[:2] == found[2:]
    assert [model["records"] for model in found[:2]] == [1000, 4000]


def test_a_worker_that_is_killed_amid_a_job_changes_nothing(cluster, surveys):
    """The scheduler gives its pieces to the other one."""
    alone, counted = surveys
    spec = {**TREE, "target": "smoker"}
    begun = cluster.hold()
    created = counted.job(**spec).headers["location"]
    killed = cluster.held(begun, counted, created)
    cluster.end(killed)
    cluster.go_on()
    assert counted.analyst.wait(created)["state"] == "succeeded"
    assert "Given back" not in log_of(counted, created)
    assert learned(counted, **spec) == learned(alone, **spec)


@pytest.mark.usefixtures("impatient")
def test_a_job_whose_scheduler_goes_away_is_given_back_and_runs_when_it_is_there_again(
    cluster, surveys
):
    alone, counted = surveys
    spec, client = {**TREE, "target": "age"}, counted.miner.client
    begun = cluster.hold()
    created = counted.job(**spec).headers["location"]
    cluster.held(begun, counted, created)
    cluster.end("scheduler")
    said = "Given back: The scheduler of the cluster does not answer"
    cluster.until(lambda: said in log_of(counted, created), counted, created)
    assert client.get("/healthz").status_code == 200
    away = client.get("/readyz")
    assert (away.status_code, away.json()["code"]) == (503, "not-ready")
    assert "scheduler" in away.text
    cluster.go_on()
    cluster.schedule()
    assert counted.analyst.wait(created)["state"] == "succeeded"
    assert learned(counted, **spec) == learned(alone, **spec)
