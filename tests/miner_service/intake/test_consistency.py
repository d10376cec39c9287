"""A sealed release says whether its reports fit its plan, and so does whatever uses it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from miner_service.intake import examining, intake
from pramana_core.channels import Symmetric
from pramana_core.domain import Variable
from pramana_core.errors import LimitExceeded
from pramana_core.estimation.plausibility import RATE
from pramana_core.plan import Block, Plan

SIZES = {"age": 5, "illness": 10, "region": 4, "smoker": 2}
KEPT = 0.7


def plan_of(kept):
    return Plan(
        tuple(
            Block(
                (Variable(n, tuple(map(str, range(k)))),), Symmetric.from_probability(k, 1 - kept)
            )
            for n, k in SIZES.items()
        )
    )


def people(records, rng):
    """Ages, illnesses that go with age and some of which are rare, regions, smokers.

    None of the youngest smokes, and the last illness is one of the oldest only.
    """
    age = rng.choice(5, records, p=[0.2, 0.3, 0.25, 0.2, 0.05])
    rare = 0.01 ** (np.arange(10) / 9)
    illness = rng.choice(10, records, p=rare / rare.sum())
    illness = np.where(rng.random(records) < 0.4, 2 * age, illness)
    illness = np.where((illness == 9) & (age < 4), 0, illness)
    smoker = ((rng.random(records) < 0.3) & (age > 0)).astype(int)
    region = rng.choice(4, records, p=[0.6, 0.25, 0.1, 0.05])
    return {"age": age, "illness": illness, "region": region, "smoker": smoker}


def reports(truth, kept, rng):
    """Each value kept with a probability, else one of the others."""
    return {
        name: np.where(
            rng.random(len(column)) < kept,
            column,
            (column + rng.integers(1, SIZES[name], len(column))) % SIZES[name],
        ).astype(np.uint8)
        for name, column in truth.items()
    }


def release(build, records, kept, seed=1, name="r1"):
    rng = np.random.default_rng(seed)
    codes = reports(people(records, rng), kept, rng)
    return build(plan_of(KEPT), range(records), codes, per_part=250_000, name=name)


@pytest.fixture
def study(miner):
    """A study's analyst, owner and admin."""
    return miner.study("s"), miner.owner("s", "north"), miner


JOB = {"spec": {"structure": {"smoker": [], "region": []}}}


def learned(analyst):
    response = analyst("POST", "/v1/studies/s/jobs", json=JOB)
    return analyst.wait(response.headers["location"])


def test_reports_by_other_probabilities_are_marked_wherever_they_are_seen(study, build):
    analyst, owner, _ = study
    path = owner.publish("s", release(build, 20_000, 1.2 * KEPT))
    sealed = analyst.get(path)
    said = sealed["consistency"]
    assert said["state"] == "inconsistent"
    assert said["p_value"] < 1e-10
    assert set(said["variables"]) <= set(SIZES)
    assert (said["tables"], said["left_out"], said["reason"]) == (10, 0, None)
    assert owner.get(path)["consistency"] == said
    assert analyst.get("/v1/studies/s/releases")["items"][0]["consistency"] == said
    (board,) = analyst.get("/v1/dashboard")["studies"]
    assert board["releases"][0]["consistency"] == said

    told = {sealed["id"]: said["p_value"]}
    job = learned(analyst)
    assert job["inconsistent"] == told
    assert analyst.get("/v1/studies/s/jobs")["items"][0]["inconsistent"] == told
    assert analyst.get("/v1/dashboard")["studies"][0]["jobs"][0]["inconsistent"] == told
    model = f"/v1/models/{job['model']}"
    assert analyst.get(model)["inconsistent"] == told
    page = analyst("GET", f"{model}/page").text
    assert f"Warning:</b> the reports of release {sealed['id']} do not fit" in page


@pytest.mark.slow
def test_an_owner_reads_of_its_own_releases_only_how_they_look(study, build):
    analyst, north, miner = study
    south = miner.owner("s", "south")
    path = north.publish("s", release(build, 5000, 1.0))
    other = Plan((Block((Variable("other", ("no", "yes")),), Symmetric.from_probability(2, 0.3)),))
    codes = {"other": np.zeros(5000, np.uint8)}
    south.publish("s", build(other, range(5000), codes, per_part=250_000))
    job = learned(analyst)
    mine = analyst.get(path)["id"]
    assert set(job["inconsistent"]) > {mine}
    model = f"/v1/models/{job['model']}"
    for person, seen in ((analyst, set(job["inconsistent"])), (north, {mine})):
        assert set(person.get(f"/v1/jobs/{job['id']}")["inconsistent"]) == seen
        assert set(person.get("/v1/studies/s/jobs")["items"][0]["inconsistent"]) == seen
        assert set(person.get("/v1/dashboard")["studies"][0]["jobs"][0]["inconsistent"]) == seen
        assert set(person.get(model)["inconsistent"]) == seen
        page = person("GET", f"{model}/page").text
        assert {
            name for name in job["inconsistent"] if f"release {name} do not fit" in page
        } == seen
    assert len(south.get(model)["inconsistent"]) == 1


def test_honest_records_are_not_marked(study, build):
    analyst, owner, _ = study
    path = owner.publish("s", release(build, 20_000, KEPT))
    said = analyst.get(path)["consistency"]
    assert said["state"] == "consistent"
    assert said["p_value"] > RATE
    assert said["tables"] == 10
    job = learned(analyst)
    assert job["inconsistent"] == {}
    model = f"/v1/models/{job['model']}"
    assert analyst.get(model)["inconsistent"] == {}
    assert "Warning" not in analyst("GET", f"{model}/page").text


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (LimitExceeded("A table is larger than allowed."), "A table is larger than allowed."),
        (ValueError("secret"), "The check failed; see the service's log."),
    ],
)
def test_an_examination_that_fails_does_not_keep_a_release_from_being_sealed(
    study, build, monkeypatch, error, reason
):
    def fail(*_):
        raise error

    monkeypatch.setattr(examining, "examine", fail)
    analyst, owner, _ = study
    sealed = analyst.get(owner.publish("s", release(build, 100, KEPT)))
    assert sealed["state"] == "sealed"
    assert sealed["consistency"] == {
        "state": "not-examined",
        "p_value": None,
        "variables": [],
        "tables": 0,
        "left_out": 0,
        "reason": reason,
    }
    assert learned(analyst)["inconsistent"] == {}


@pytest.mark.slow
def test_an_examination_keeps_nobody_waiting_but_its_own_release(study, build, monkeypatch):
    """While one release is examined another is sealed; of two seals of one, one does the work."""
    analyst, owner, miner = study
    examined, started, go_on = intake.examined, threading.Event(), threading.Event()
    names = []

    def slow(release_id, *arguments):
        names.append(release_id)
        if len(names) == 1:
            started.set()
            go_on.wait()
        return examined(release_id, *arguments)

    monkeypatch.setattr(intake, "examined", slow)
    path = owner.send("s", release(build, 200, KEPT))
    with ThreadPoolExecutor(2) as pool:
        seals = [pool.submit(owner, "POST", f"{path}/seal")]
        started.wait()
        seals.append(pool.submit(owner, "POST", f"{path}/seal"))
        other = miner.owner("s", "south").publish("s", release(build, 100, KEPT))
        assert analyst.get(other)["state"] == "sealed"
        assert analyst.get(path)["state"] == "open"
        go_on.set()
        sealed = [seal.result().json() for seal in seals]
    assert sealed[0] == sealed[1] == analyst.get(path)
    assert sealed[0]["state"] == "sealed"
    assert names == [path.rsplit("/", 1)[1], other.rsplit("/", 1)[1]]
    assert miner.services.database._names.data == {}
