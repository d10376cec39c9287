"""A release that two owners sent alike is named to staff, and to no owner."""

from __future__ import annotations

import numpy as np
import pytest

from miner_service.alignment.copies import FEWEST, Copies, ReleaseInUse, Reports
from pramana_core.channels import Symmetric
from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan
from tests.miner_service import sharing

RECORDS = 400
NAMES = ("ill", "smoker", "old")
PLAN = Plan(tuple(Block((Variable(n, ("no", "yes")),), Symmetric.from_gamma(2, 3)) for n in NAMES))
TRUTH = np.random.default_rng(0).integers(2, size=(len(NAMES), RECORDS))


def reports(seed):
    """Reports of the same people, drawn by the keys of one owner."""
    kept = np.random.default_rng(seed).random(TRUTH.shape) < 0.75
    drawn = np.where(kept, TRUTH, 1 - TRUTH).astype(np.uint8)
    return dict(zip(NAMES, drawn, strict=True))


@pytest.fixture
def study(miner):
    """A miner, an analyst of its study, and two owners of it."""
    return miner, miner.study("asia"), miner.owner("asia", "north"), miner.owner("asia", "south")


def alike(person):
    return person.get("/v1/studies/asia/alignment")["same"]


def warnings(person):
    told = person.get("/v1/studies/asia/privacy")["warnings"]
    return [one for one in told if "sent the same release" in one]


def test_one_release_of_two_owners_is_said_to_all_but_owners(study, build):
    miner, analyst, north, south = study
    paths = [
        owner.publish("asia", build(PLAN, range(RECORDS), reports(1), name=name))
        for owner, name in ((north, "r1"), (south, "other"))
    ]
    for person in (miner.admin, analyst):
        (found,) = alike(person)
        assert found["owners"] == ["north", "south"]
        assert found["releases"] == [north.get(paths[0])["id"], south.get(paths[1])["id"]]
        assert (found["same"], found["of"]) == (RECORDS, RECORDS)
        (sentence,) = warnings(person)
        assert "400 of 400 records" in sentence
        (board,) = person.get("/v1/dashboard")["studies"]
        assert board["alignment"]["same"] == [found]
        assert sentence in board["privacy"]["warnings"]
    for owner in (north, south):
        assert (alike(owner), warnings(owner)) == ([], [])
    for records in ("identical", "any"):
        spec = {"kind": "contingency-table", "variables": ["ill"], "records": records}
        refused = analyst("POST", "/v1/studies/asia/jobs", json={"spec": spec})
        assert refused.status_code == 409
        assert "sent the same release" in refused.json()["detail"]
    assert south("POST", f"{paths[1]}/withdraw").status_code == 200
    assert (alike(analyst), warnings(analyst)) == ([], [])


@pytest.mark.slow
def test_nearly_the_same_is_found_and_draws_of_each_owners_own_are_not(study, build):
    miner, analyst, north, south = study
    north.publish("asia", build(PLAN, range(RECORDS), reports(1), name="r1"))
    # The control: the same people under the same plan, drawn by south's own keys.
    south.publish("asia", build(PLAN, range(RECORDS), reports(2), name="r1"))
    assert (alike(analyst), warnings(analyst)) == ([], [])
    corrected = reports(1)
    corrected["ill"] = corrected["ill"].copy()
    corrected["ill"][:8] = 1 - corrected["ill"][:8]
    fewer = {name: column[:-4] for name, column in corrected.items()}
    south.publish("asia", build(PLAN, range(RECORDS - 4), fewer, name="r2"))
    (found,) = alike(miner.admin)
    assert (found["same"], found["of"]) == (RECORDS - 12, RECORDS)
    different = {name: column[:300] for name, column in corrected.items()}
    south.publish("asia", build(PLAN, range(300), different, name="r3"))
    assert alike(analyst) == []


def test_one_tree_of_two_owners_is_said_and_stands_in_the_log_of_a_job(study):
    _, analyst, north, south = study
    paths = [sharing.share(owner, "asia", sharing.model()) for owner in (north, south)]
    (sentence,) = warnings(analyst)
    assert "north and south" in sentence
    assert "trees" in sentence
    assert warnings(north) == []
    spec = {"kind": "model-sharing", "method": "votes"}
    job = analyst("POST", "/v1/studies/asia/jobs", json={"spec": spec})
    assert job.status_code == 202, job.text
    path = job.headers["location"]
    assert analyst.wait(path)["state"] == "succeeded"
    assert f"Warning: {sentence}" in [one["line"] for one in analyst.get(path)["log"]]
    # A job that uses one of them alone has nothing to be warned of.
    alone = analyst("POST", "/v1/studies/asia/jobs", json={"spec": spec | {"owners": ["north"]}})
    lines = analyst.get(alone.headers["location"])["log"]
    assert not [one for one in lines if "Warning" in one["line"]]
    assert south("POST", f"{paths[1]}/withdraw").status_code == 200
    assert warnings(analyst) == []


def sent(owner, records, columns=("a",)):
    return ReleaseInUse(owner, f"{owner}-1", "c", owner, records, columns)


@pytest.mark.parametrize(("records", "found"), [(FEWEST - 1, 0), (FEWEST, 1)])
def test_of_few_records_nothing_is_said(records, found):
    codes = np.zeros(records, np.uint8)
    owners = [sent("north", records), sent("south", records)]
    # Ascending, as sealed releases have them.
    copies = Copies(
        lambda _release, _names: Reports(np.sort(np.arange(records).astype("S16")), {"a": codes})
    )
    assert len(copies.among(owners)) == found


def test_a_release_that_cannot_be_read_is_not_a_copy_until_it_can_be():
    codes, mishaps = np.zeros(100, np.uint8), [OSError("not there yet")]

    def load(_release, _names):
        if mishaps:
            raise mishaps.pop()
        return Reports(np.sort(np.arange(100).astype("S16")), {"a": codes})

    copies = Copies(load)
    owners = [sent("north", 100), sent("south", 100)]
    assert copies.among(owners) == []
    (found,) = copies.among(owners)
    assert found.same == 100
