"""Jobs that never end by themselves: cancelled, too long, too large, deadly."""

from __future__ import annotations

import pytest

from tests.miner_service.workers.conftest import wait_gone

pytestmark = pytest.mark.end_to_end


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


def test_a_job_whose_release_goes_away_ends_with_its_process(begin):
    study = begin("loop")
    path = study.create()
    pid = study.pid()
    (release,) = study.north.get(f"/v1/studies/{study.name}/releases")["items"]
    assert study.north("POST", f"/v1/releases/{release['id']}/withdraw").status_code == 200
    wait_gone(pid)
    job = study.analyst.get(path)
    assert (job["state"], job["problem"]["code"]) == ("failed", "conflict")


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


def test_a_job_that_kills_its_worker_is_given_up_after_three_runs(begin):
    study = begin("die")
    path = study.create()
    job = study.analyst.wait(path)
    assert (job["state"], job["problem"]["code"]) == ("failed", "worker-lost")
    assert "ended 3 times in a row in the middle of this job" in job["problem"]["detail"]
    assert study.runs == 3
    assert len([line for line in study.lines(path) if "ended with status -6" in line]) == 3


def test_a_job_may_not_run_for_ever(begin):
    study = begin("hold_everything", job_seconds=1)
    path = study.create()
    job = study.analyst.wait(path)
    assert (job["state"], job["problem"]["code"]) == ("failed", "limit-exceeded")
    assert "more than 1 seconds" in job["problem"]["detail"]
    assert "predicted" in job["problem"]["detail"]
    # On a busy machine the time may be over before the run has come to what never ends.
    assert "The process of run 1 has ended." in study.lines(path)
    assert study.runs <= 1
