"""Processes that are killed in the middle of a job: it runs again, and gives the same model."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace

import pytest

from miner_service.settings import JobSettings
from miner_service.workers.crew import COMMAND, ProcessCrew
from tests.miner_service.workers.conftest import (
    SPEC,
    create,
    end,
    exists,
    supervisor_of,
    told,
    wait_gone,
)

pytestmark = pytest.mark.end_to_end


def model_of(miner, path):
    """The model of a job, once it is there."""
    job = miner.analyst.wait(path)
    assert job["state"] == "succeeded", job
    return job, miner.analyst.get(f"/v1/models/{job['model']}")


@pytest.mark.parametrize("victim", ["worker", "supervisor"])
def test_a_job_whose_process_is_killed_runs_again_and_gives_the_same_model(begin, runs, victim):
    miner = begin("once loop")
    path = create(miner)
    worker, supervisor = runs.pid(), supervisor_of(miner)
    end(worker if victim == "worker" else supervisor)
    wait_gone(worker)
    job, model = model_of(miner, path)
    assert job["model"] == path.rsplit("/", 1)[1].replace("j-", "m-")
    _, fresh = model_of(miner, create(miner, SPEC, key="undisturbed"))
    passing = ("id", "job", "created")
    assert {k: v for k, v in model.items() if k not in passing} == {
        k: v for k, v in fresh.items() if k not in passing
    }
    lines = [one["line"] for one in miner.analyst.get(f"{path}/log")["items"]]
    assert [line for line in lines if "began" in line] == ["Run 1 began.", "Run 2 began."]
    assert any(line.startswith("Broken off") for line in lines)
    assert (miner.app.state.crew.alive, supervisor_of(miner) == supervisor) == (
        True,
        victim == "worker",
    )


def test_a_service_that_ends_leaves_no_process_and_no_run(start, begin, runs):
    miner = begin("once loop")
    path = create(miner)
    worker, supervisor = runs.pid(), supervisor_of(miner)
    miner.client.__exit__(None, None, None)
    assert not any(exists(pid) for pid in (worker, supervisor))
    with miner.services.database.read() as session:
        query = "SELECT state, attempt, broken_off, lease FROM jobs"
        assert session.connection().exec_driver_sql(query).one() == ("queued", 2, 0, None)
        assert session.connection().exec_driver_sql("SELECT * FROM supervisors").all() == []
    again = start(crew=lambda services: ProcessCrew(services, COMMAND))
    person = type(miner.analyst)(again.client, miner.analyst.token)
    assert person.wait(path)["state"] == "succeeded"


def test_a_supervisor_that_stood_still_has_lost_its_job_and_stores_nothing(begin, runs):
    """Another takes the job over; the first one's worker is ended when it goes on."""
    miner = begin("once loop", lease_seconds=3600)
    path = create(miner)
    worker, first = runs.pid(), supervisor_of(miner)
    while miner.analyst.get(path)["progress"] == 0:
        time.sleep(0.01)
    # It has written all there is to write for a while, and so holds no lock of the database.
    os.kill(first, signal.SIGSTOP)
    impatient = JobSettings(workers=1, lease_seconds=5)
    settings = replace(miner.services.settings, jobs=impatient)
    other = ProcessCrew(replace(miner.services, settings=settings), COMMAND)
    other.start()
    try:
        job, _ = model_of(miner, path)
        assert (told(miner, path)["runs"], runs.count) == (2, 1)
        os.kill(first, signal.SIGCONT)
        wait_gone(worker)
        assert miner.analyst.get(path) == job
    finally:
        os.kill(first, signal.SIGCONT)
        other.stop()


def test_two_supervisors_never_have_the_same_job(begin):
    miner = begin(None, workers=2)
    other = ProcessCrew(miner.services, COMMAND)
    other.start()
    try:
        paths = [create(miner, SPEC, key=f"job-{number}") for number in range(12)]
        while "queued" in (states := [miner.analyst.get(path)["state"] for path in paths]):
            time.sleep(0.05)
        assert set(states) <= {"running", "succeeded"}
        for path in paths:
            assert miner.analyst.wait(path)["state"] == "succeeded"
            assert told(miner, path)["runs"] == 1
            log = miner.analyst.get(f"{path}/log")["items"]
            assert [one["line"] for one in log] == ["Queued.", "Run 1 began.", "Succeeded."]
    finally:
        other.stop()
