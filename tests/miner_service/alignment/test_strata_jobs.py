"""Jobs on all records: what an owner does not report of a record is missing there."""

from __future__ import annotations

import numpy as np
import pytest

from pramana_core.channels import Identity, Symmetric
from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan

JOBS = "/v1/studies/asia/jobs"
SPEC = {"structure": {"A": [], "C": ["A"]}, "records": "any"}
A, C = Variable("A", ("no", "yes")), Variable("C", ("no", "yes"))


def plan_of(variable, channel=None):
    return Plan((Block((variable,), channel or Identity(2)),))


def estimates(person, spec):
    """Run a job; return its model and the estimates of C and A by value and A's value."""
    job = person.wait(person("POST", JOBS, json={"spec": spec}).headers["location"])
    assert job["state"] == "succeeded", job
    model = person.get(f"/v1/models/{job['model']}")
    return model, {
        (p["node"], p["value"], p["parents"].get("A")): p["estimate"] for p in model["parameters"]
    }


@pytest.fixture
def partial(miner, build):
    """A is known of records 0 to 99, C of 40 to 139; C mostly follows A."""
    miner.analyst = miner.study("asia")
    miner.north, miner.south = miner.owner("asia", "north"), miner.owner("asia", "south")
    rng = np.random.default_rng(4)
    a = rng.integers(0, 2, 140).tolist()
    c = [value ^ int(flip) for value, flip in zip(a, rng.random(140) < 0.2, strict=True)]
    miner.north.publish("asia", build(plan_of(A), range(100), {"A": a[:100]}))
    miner.south.publish("asia", build(plan_of(C), range(40, 140), {"C": c[40:]}))
    miner.codes = np.array(a), np.array(c)
    return miner


def textbook_em(a, c):
    """Maximize the likelihood of two variables of which each is missing at random, cell by cell."""
    theta = np.full((2, 2), 0.25)
    both = np.zeros((2, 2))
    np.add.at(both, (a[40:100], c[40:100]), 1)
    only_a = np.bincount(a[:40], minlength=2)
    only_c = np.bincount(c[100:], minlength=2)
    for _ in range(5000):
        filled = both + only_a[:, None] * theta / theta.sum(1, keepdims=True)
        filled += only_c[None, :] * theta / theta.sum(0, keepdims=True)
        theta = filled / filled.sum()
    return theta


@pytest.mark.slow
def test_all_records_are_used_and_what_is_missing_is_explained(partial):
    model, found = estimates(partial.analyst, {**SPEC, "estimator": "ml"})
    assert model["records"] == 140
    theta = textbook_em(*partial.codes)
    # The table of A alone is explained by the reports of A.
    assert found["A", "yes", None] == pytest.approx(partial.codes[0][:100].mean(), abs=1e-9)
    for value in (0, 1):
        expected = theta[value, 1] / theta[value].sum()
        assert found["C", "yes", A.categories[value]] == pytest.approx(expected, abs=1e-3)
    # The records at both owners alone say something else.
    _, common = estimates(partial.analyst, {**SPEC, "records": "common"})
    assert common["C", "yes", "yes"] != pytest.approx(found["C", "yes", "yes"], abs=1e-6)


@pytest.mark.parametrize("spec", [SPEC, {"kind": "bayes-net-structure", "records": "any"}])
def test_moments_say_nothing_of_what_is_missing(partial, assert_problem, spec):
    before = partial.snapshot()
    answer = partial.analyst("POST", JOBS, json={"spec": spec})
    assert_problem(answer, 422, "option-invalid")
    assert partial.snapshot() == before


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ["sum", "moment", "ml"])
def test_owners_of_different_people_combine(miner, build, estimator):
    """Horizontal owners, each with its own matrices: their strata count together."""
    analyst = miner.study("asia")
    rng = np.random.default_rng(3)
    total = np.zeros((2, 2))
    strata = []
    for number, (owner, p) in enumerate((("north", 0.1), ("south", 0.25))):
        a = rng.integers(0, 2, 3000)
        c = a ^ (rng.random(3000) < 0.2)
        channel = Symmetric.from_probability(2, p)
        noisy = {n: v ^ (rng.random(3000) < p) for n, v in (("A", a), ("C", c))}
        plan = Plan((Block((A,), channel), Block((C,), channel)))
        people = range(3000 * number, 3000 * number + 3000)
        codes = {n: v.astype(int) for n, v in noisy.items()}
        miner.owner("asia", owner).publish("asia", build(plan, people, codes))
        table = np.zeros((2, 2))
        np.add.at(table, (codes["A"], codes["C"]), 1)
        inverse = np.linalg.inv([[1 - p, p], [p, 1 - p]])
        strata.append((table, inverse))
        total += inverse.T @ table @ inverse
    _, found = estimates(analyst, {**SPEC, "estimator": estimator})
    if estimator == "sum":
        for value in (0, 1):
            expected = total[value, 1] / total[value].sum()
            assert found["C", "yes", A.categories[value]] == pytest.approx(expected, abs=1e-9)
    else:
        # Both weigh the less noisy stratum more; all estimate the same.
        assert found["C", "yes", "yes"] == pytest.approx(total[1, 1] / total[1].sum(), abs=0.02)
        assert found["C", "yes", "yes"] != pytest.approx(total[1, 1] / total[1].sum(), abs=1e-6)


def test_one_record_of_two_owners_has_each_variable_once(miner, build, assert_problem):
    analyst = miner.study("asia")
    for owner, people in (("north", range(50)), ("south", range(45, 100))):
        codes = {"A": [i % 2 for i in people]}
        miner.owner("asia", owner).publish("asia", build(plan_of(A), people, codes))
    before = miner.snapshot()
    answer = analyst("POST", JOBS, json={"spec": {"structure": {"A": []}, "records": "any"}})
    assert_problem(answer, 409, "conflict")
    assert miner.snapshot() == before
