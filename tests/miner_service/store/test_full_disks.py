"""Every path on which the miner writes, on a full disk: refused, whole, and over by itself."""

from __future__ import annotations

import numpy as np
import pytest

from tests.small_disk import kinds_of_disks, small_disk

RECORDS = 40_000
KIB = 1024


@pytest.fixture(params=kinds_of_disks())
def disk(request):
    with small_disk(request.param) as disk:
        yield disk


@pytest.fixture
def tmp_path(disk):
    """Where the miner of `start` keeps its data."""
    return disk.folder


@pytest.fixture
def large(build, plan_a):
    """A release of one part, whose columns take some 700 KiB."""
    codes = {"A": np.arange(RECORDS) % 2, "B": np.arange(RECORDS) % 3}
    return build(plan_a, range(RECORDS), codes, per_part=RECORDS)


def require_unready(miner, assert_problem):
    assert_problem(miner.nobody("GET", "/readyz"), 503, "not-ready")
    assert miner.nobody("GET", "/healthz").status_code == 200


@pytest.mark.slow
def test_a_part_that_has_no_room_is_refused_and_sent_again(
    miner, north, disk, large, assert_problem
):
    path = north.announce("asia", large)
    before = miner.snapshot()
    for left in (0, 100 * KIB, 600 * KIB):
        disk.fill(left)
        assert_problem(north.put(path, 0, large.parts[0]), 507, "storage-full")
        require_unready(miner, assert_problem)
        assert miner.snapshot() == before
    disk.free()
    assert north.put(path, 0, large.parts[0]).status_code == 201
    assert miner.nobody("GET", "/readyz").status_code == 200


@pytest.mark.slow
def test_sealing_without_room_for_the_columns_leaves_the_release_open(
    miner, north, disk, large, assert_problem
):
    path = north.send("asia", large)
    before = miner.snapshot()
    # No room for the file that sealing makes, and room for half of it.
    for left in (0, 350 * KIB):
        disk.fill(left)
        assert_problem(north("POST", f"{path}/seal"), 507, "storage-full")
        disk.free()
        assert miner.snapshot() == before
    sealed = north("POST", f"{path}/seal").json()
    assert sealed["state"] == "sealed"
    assert len(miner.snapshot()[1]) == 1


def test_rows_that_have_no_room_are_refused_and_made_later(miner, disk, assert_problem):
    made = 0
    disk.fill()
    while (answer := miner.admin("POST", "/v1/studies", json=study(made))).status_code == 201:
        made += 1
    assert_problem(answer, 507, "storage-full")
    # It still answers, from what it has.
    assert len(miner.admin.get("/v1/studies?limit=500")["items"]) == made
    disk.free()
    assert miner.admin("POST", "/v1/studies", json=study(made)).status_code == 201


def study(number):
    return {"name": f"s{number}", "title": "t" * 500}
