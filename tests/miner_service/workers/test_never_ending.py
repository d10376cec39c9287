"""Jobs that never end by themselves: cancelled, too long, too large, deadly."""

from __future__ import annotations

import pytest

from miner_service.settings import MEBIBYTE, Limits
from tests.miner_service.workers.conftest import create, wait_gone

pytestmark = pytest.mark.end_to_end


@pytest.mark.parametrize("what", ["loop", "hold_everything"])
def test_a_job_that_never_ends_is_cancelled_whatever_it_computes(begin, runs, what):
    miner = begin(f"once {what}")
    path = create(miner)
    pid = runs.pid()
    assert miner.analyst.get(path)["state"] == "running"
    assert miner.analyst("DELETE", path).json()["state"] == "cancelled"
    wait_gone(pid)
    again = create(miner)
    assert again == path
    assert miner.analyst.wait(path)["state"] == "succeeded"
    assert runs.pid(1) != pid


def test_a_job_whose_release_goes_away_ends_with_its_process(begin, runs):
    miner = begin("loop")
    path = create(miner)
    pid = runs.pid()
    (release,) = miner.north.get("/v1/studies/asia/releases")["items"]
    assert miner.north("POST", f"/v1/releases/{release['id']}/withdraw").status_code == 200
    wait_gone(pid)
    job = miner.analyst.get(path)
    assert (job["state"], job["problem"]["code"]) == ("failed", "conflict")


def test_a_job_may_not_run_for_ever(begin, runs):
    miner = begin("hold_everything", limits=Limits(job_seconds=1))
    job = miner.analyst.wait(create(miner))
    assert (job["state"], job["problem"]["code"]) == ("failed", "limit-exceeded")
    assert "more than 1 seconds" in job["problem"]["detail"]
    assert "predicted" in job["problem"]["detail"]
    wait_gone(runs.pid())
    assert runs.count == 1


@pytest.mark.parametrize("what", ["hog", "take_all_at_once"])
def test_a_job_that_takes_all_memory_ends_alone(begin, runs, what):
    miner = begin(f"once {what}", limits=Limits(job_bytes=512 * MEBIBYTE))
    path = create(miner)
    job = miner.analyst.wait(path)
    assert (job["state"], job["problem"]["code"]) == ("failed", "limit-exceeded")
    assert "512 MiB are allowed" in job["problem"]["detail"]
    assert runs.count == 1
    assert create(miner) == path
    assert miner.analyst.wait(path)["state"] == "succeeded"


def test_a_job_that_kills_its_worker_is_given_up_after_three_runs(begin, runs):
    miner = begin("die")
    job = miner.analyst.wait(create(miner))
    assert (job["state"], job["problem"]["code"]) == ("failed", "internal")
    assert "ended 3 times in a row in the middle of this job" in job["problem"]["detail"]
    assert runs.count == 3
