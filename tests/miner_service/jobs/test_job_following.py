"""What a job tells of its runs; and its result, which waits for a store that is away."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import pytest

from miner_service.jobs.runner import learn_model, work_once
from miner_service.jobs.workers import WorkerPool, workers_of
from miner_service.settings import JobSettings
from miner_service.store.queue import claim_next, show_up
from pramana_core.errors import NotConverged, NotReady, StorageFull

JOBS = "/v1/studies/asia/jobs"
SPEC = {"spec": {"structure": {"A": []}}}
STAFFS = ("worker", "runs")


@pytest.fixture
def asked(start, release_a):
    """Start a miner with a study; return it and a job's path: `(crew=...)`."""

    def begin(**options):
        miner = start(**options)
        miner.analyst, miner.north = miner.study("asia"), miner.owner("asia", "north")
        miner.north.publish("asia", release_a)
        return miner, miner.analyst("POST", JOBS, json=SPEC).headers["location"]

    return begin


def test_owners_do_not_see_by_whom_a_job_is_run(asked):
    miner, path = asked()
    miner.analyst.wait(path)
    staff = miner.analyst("GET", path).json()
    owner = miner.north("GET", path).json()
    assert staff["runs"] == 1
    assert [line["line"] for line in staff["log"]] == ["Queued.", "Run 1 began.", "Succeeded."]
    assert (owner["state"], owner["started"]) == (staff["state"], staff["started"])
    assert ({name: owner[name] for name in STAFFS}, owner["log"]) == (dict.fromkeys(STAFFS), [])


class Away:
    """A database that cannot be written to so many times."""

    def __init__(self, database, error, times) -> None:
        self.database, self.error, self.left = database, error, times
        self.read = database.read

    @contextmanager
    def write(self):
        if self.left:
            self.left -= 1
            raise self.error
        with self.database.write() as session:
            yield session


def without_workers(asked, **settings):
    """A job that nobody runs, its services, and the lease of its first run."""
    miner, path = asked(crew=workers_of, jobs=JobSettings(workers=0, **settings))
    with miner.services.database.write() as session:
        lease = claim_next(session, "here", miner.clock())
    return miner, path, lease


@pytest.mark.parametrize("error", [NotReady("It is away."), StorageFull("It is full.")])
def test_a_result_waits_for_a_store_that_is_away(asked, error):
    """It is not computed again."""
    miner, path, lease = without_workers(asked, lease_seconds=600)
    learned = []

    def learn(*arguments):
        learned.append(1)
        return learn_model(*arguments)

    services = replace(miner.services, database=Away(miner.services.database, error, 2))
    assert work_once(services, lease, learn, lambda *_: None)
    job = miner.analyst.get(path)
    assert (job["state"], len(learned), services.database.left) == ("succeeded", 1, 0)


def test_a_run_that_ends_late_decides_nothing(asked):
    """Run 1 is cancelled and ends, badly, when run 2 has begun; run 2 decides."""
    miner, path, first = without_workers(asked)
    assert miner.analyst("DELETE", path).json()["state"] == "cancelled"
    again = miner.analyst("POST", JOBS, json=SPEC)
    assert (again.status_code, again.headers["location"]) == (202, path)
    with miner.services.database.write() as session:
        second = claim_next(session, "here", miner.clock())

    def learn(*arguments):
        raise NotConverged("Run 1 failed.")

    assert not work_once(miner.services, first, learn, lambda *_: None)
    assert miner.analyst.get(path)["state"] == "running"
    assert work_once(miner.services, second, learn_model, lambda *_: None)
    assert miner.analyst.get(path)["state"] == "succeeded"


def test_a_run_whose_job_is_cancelled_meanwhile_stores_nothing(asked):
    miner, path, lease = without_workers(asked)

    def learn(*arguments):
        assert miner.analyst("DELETE", path).json()["state"] == "cancelled"
        return learn_model(*arguments)

    assert not work_once(miner.services, lease, learn, lambda *_: None)
    job = miner.analyst.get(path)
    assert (job["state"], job["model"]) == ("cancelled", None)


def test_a_result_does_not_wait_for_longer_than_a_lease_holds(asked):
    miner, path, lease = without_workers(asked, lease_seconds=0.05)
    database = Away(miner.services.database, NotReady("It is away."), 1000)
    with pytest.raises(NotReady):
        work_once(replace(miner.services, database=database), lease, learn_model, lambda *_: None)
    assert miner.analyst.get(path)["state"] == "running"


def test_a_service_without_workers_is_ready_while_another_machine_has_some(asked):
    miner, path = asked(crew=workers_of, jobs=JobSettings(workers=0, lease_seconds=0.05))
    assert type(miner.app.state.crew) is WorkerPool
    assert not miner.app.state.crew.alive
    assert miner.analyst.get(path)["state"] == "queued"
    with miner.services.database.write() as session:
        show_up(session, "elsewhere/1", "elsewhere", 2, miner.clock())
    assert miner.app.state.crew.alive
    while miner.app.state.crew.alive:  # it gives no further sign of life
        pass
