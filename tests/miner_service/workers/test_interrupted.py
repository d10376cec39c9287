"""Processes that are killed in the middle of a job: it runs again, and gives the same model."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace

import pytest

from miner_service.jobs.crew import COMMAND, ProcessWorkerPool
from miner_service.settings import JobSettings
from tests.miner_service.workers.conftest import (
    SPEC,
    exists,
    kill,
    state,
    supervisor_of,
    wait_gone,
)

pytestmark = pytest.mark.end_to_end


def model_of(study, path):
    """The model of a job, once it is there."""
    job = study.analyst.wait(path)
    assert job["state"] == "succeeded", job
    return job, study.analyst.get(f"/v1/models/{job['model']}")


def runs_begun(study, path):
    return [line for line in study.lines(path) if "began" in line]


@pytest.mark.parametrize("victim", ["worker", "supervisor"])
def test_a_job_whose_process_is_killed_runs_again_and_gives_the_same_model(begin, victim):
    """No lease has to run out: the supervisor sees its worker end, and knows its former life."""
    study = begin("once loop", lease_seconds=3600)
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


def test_a_supervisor_that_stood_still_has_lost_its_job_and_stores_nothing(begin):
    """Another takes the job over; the first one's worker is ended when it goes on.

    Then both go on together, and never have the same job.
    """
    study = begin("once loop", lease_seconds=3600)
    path = study.create()
    worker, first = study.pid(), supervisor_of(study.miner)
    services = study.miner.services
    with services.database.write() as session:  # so that it has no lock of it while it stands
        session.connection()  # the transaction begins here, not before
        os.kill(first, signal.SIGSTOP)
        while state(first) != "T":
            time.sleep(0.005)
    impatient = JobSettings(workers=1, lease_seconds=5)
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
        paths = [study.create(SPEC, key=f"job-{number}") for number in range(8)]
        for one in paths:
            assert study.analyst.wait(one)["state"] == "succeeded"
            assert sorted(set(runs_begun(study, one))) == sorted(runs_begun(study, one))
    finally:
        os.kill(first, signal.SIGCONT)
        other.stop()


def test_a_service_that_ends_leaves_no_process_and_no_run(begin, start):
    study = begin("once loop", lease_seconds=3601)
    miner = study.miner
    path = study.create()
    worker, supervisor = study.pid(), supervisor_of(miner)
    miner.client.__exit__(None, None, None)
    assert not any(exists(pid) for pid in (worker, supervisor))
    with miner.services.database.read() as session:
        query = "SELECT state, attempt, broken_off, lease FROM jobs"
        assert session.connection().exec_driver_sql(query).one() == ("queued", 2, 0, None)
        assert session.connection().exec_driver_sql("SELECT * FROM supervisors").all() == []
    again = start(crew=lambda services: ProcessWorkerPool(services, COMMAND), at=miner.data)
    person = type(study.analyst)(again.client, study.analyst.token)
    assert person.wait(path)["state"] == "succeeded"
