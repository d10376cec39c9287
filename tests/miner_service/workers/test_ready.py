"""A worker is ready before there is a job for it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.miner_service.workers.conftest import SPEC, supervisor_of

pytestmark = pytest.mark.end_to_end


def children(pid):
    return [int(n) for n in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def wait_for_workers(miner, number):
    """Wait until so many workers were forked; return their processes."""
    while True:
        found = [w for template in children(supervisor_of(miner)) for w in children(template)]
        if len(found) == number:
            return set(found)
        time.sleep(0.01)


def test_a_small_job_beside_a_long_one_has_a_worker_that_was_ready_before_it(begin):
    long = begin("once loop", workers=2)
    ready = wait_for_workers(long.miner, 1)  # for its release, there being no job yet
    path = long.create()
    assert {long.pid()} == ready
    both = wait_for_workers(long.miner, 2)  # while no job waits
    other = long.create(SPEC, key="small")
    assert long.analyst.wait(other)["state"] == "succeeded"
    assert {long.pid(1)} == both - ready
    assert long.analyst.get(path)["state"] == "running"
