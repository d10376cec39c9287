"""The runs of a job: late ones, interrupted ones, ones that take the service down."""

from __future__ import annotations

import threading

import pytest

from miner_service.jobs.runner import learn_model
from pramana_core.errors import NotConverged
from tests.miner_service.crew import ThreadCrew

JOBS = "/v1/studies/asia/jobs"
SPEC = {"spec": {"structure": {"A": []}}}


@pytest.mark.slow
def test_an_attempt_that_ends_late_decides_nothing(start, release_a):
    """Attempt 1 is held, given up and ends, badly, while attempt 2 runs; attempt 2 decides."""
    reached, go_on, past = threading.Event(), threading.Event(), threading.Event()

    def first(spec, prepared, services, on_node):
        if reached.is_set():  # the next job: what became of attempt 1 is written
            past.set()
            return learn_model(spec, prepared, services, on_node)
        reached.set()
        go_on.wait()
        raise NotConverged("Attempt 1 failed.")

    def second(spec, prepared, services, on_node):
        go_on.set()
        past.wait()
        assert analyst.get(path)["state"] == "running"
        return learn_model(spec, prepared, services, on_node)

    miner = start(learn=first)
    analyst = miner.study("asia")
    miner.owner("asia", "north").publish("asia", release_a)
    path = analyst("POST", JOBS, json=SPEC).headers["location"]
    reached.wait()
    assert analyst("DELETE", path).json()["state"] == "cancelled"
    again = analyst("POST", JOBS, json=SPEC)
    assert (again.status_code, again.headers["location"]) == (202, path)
    other = analyst("POST", JOBS, json={"spec": {"structure": {"B": []}}})
    runner = ThreadCrew(miner.services, second)
    beside = threading.Thread(target=runner.run_queued)
    with miner.services.database.read() as session:
        query = "SELECT attempt, state FROM jobs ORDER BY seq"
        rows = session.connection().exec_driver_sql(query).all()
    assert rows == [(2, "queued"), (1, "queued")]
    beside.start()
    beside.join()
    job = analyst.wait(path)
    assert (job["state"], job["problem"]) == ("succeeded", None)
    assert analyst.get(f"/v1/models/{job['model']}")["records"] == 100
    assert analyst.wait(other.headers["location"])["state"] == "succeeded"


def test_a_job_created_again_takes_the_releases_in_use_now(start, release_a):
    """The key is that of the content; the release that had it before was withdrawn."""
    fail = [True]

    def fails_once(spec, prepared, services, on_node):
        if fail.pop() if fail else False:
            raise NotConverged("No.")
        return learn_model(spec, prepared, services, on_node)

    miner = start(learn=fails_once)
    analyst = miner.study("asia")
    north = miner.owner("asia", "north")
    first = north.publish("asia", release_a)
    path = analyst("POST", JOBS, json=SPEC).headers["location"]
    assert analyst.wait(path)["state"] == "failed"
    release_a.body["name"] = "r2"
    second = north.publish("asia", release_a)
    assert north("POST", f"{first}/withdraw").status_code == 200
    again = analyst("POST", JOBS, json=SPEC)
    assert (again.status_code, again.headers["location"]) == (202, path)
    job = analyst.wait(path)
    assert job["state"] == "succeeded", job
    used = analyst.get(f"/v1/models/{job['model']}")["releases"]
    assert list(used) == [second.rsplit("/", 1)[1]]


@pytest.fixture
def interrupted(start, release_a, when_stopping):
    """A stopped miner with a job; call to start it with the job as a crash would leave it."""
    go_on = threading.Event()
    ran = []

    def held(spec, prepared, services, on_node):
        ran.append(spec)
        go_on.wait()
        on_node(1, 1)
        raise AssertionError("asked to stop")

    miner = start(learn=held, entered=False)
    with miner.client:
        analyst = miner.study("asia")
        miner.owner("asia", "north").publish("asia", release_a)
        path = analyst("POST", JOBS, json=SPEC).headers["location"]
        when_stopping(miner, go_on.set)

    def crash(state="running"):
        with miner.services.database.write() as session:
            session.connection().exec_driver_sql(f"UPDATE jobs SET state = '{state}'")

    def look():
        with miner.services.database.read() as session:
            query = "SELECT state, attempt, broken_off FROM jobs"
            return session.connection().exec_driver_sql(query).one()

    def only_start():
        """Begin as a process does, and end before the job is taken up."""
        runner = ThreadCrew(miner.services, held)
        runner.ask_to_stop()
        runner.start()
        runner.stop()

    return miner, analyst, path, crash, look, only_start


@pytest.mark.slow
def test_a_job_that_ends_the_service_three_times_is_given_up(interrupted, start):
    _, analyst, path, crash, look, only_start = interrupted
    for times in (1, 2):
        crash()
        only_start()
        assert look() == ("queued", 2 + times, times)
    crash()
    again = start()
    person = type(analyst)(again.client, analyst.token)
    job = person.get(path)
    assert (job["state"], job["model"]) == ("failed", None)
    assert job["finished"] is not None
    assert job["problem"]["code"] == "worker-lost"
    assert "ended 3 times in a row in the middle of this job" in job["problem"]["detail"]
    assert "log" in job["problem"]["remedy"]
    answer = person("POST", JOBS, json=SPEC)
    assert (answer.status_code, answer.headers["location"]) == (202, path)
    assert person.wait(path)["state"] == "succeeded"
    assert look()[2] == 0


@pytest.mark.slow
def test_a_service_that_was_asked_to_end_counts_against_no_job(interrupted):
    *_, crash, look, only_start = interrupted
    assert look() == ("queued", 2, 0)
    for _ in range(4):
        only_start()
    assert look() == ("queued", 2, 0)
    crash()
    only_start()
    assert look() == ("queued", 3, 1)
