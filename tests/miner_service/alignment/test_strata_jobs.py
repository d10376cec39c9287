"""Jobs on all records: what an owner does not report of a record is missing there."""

from __future__ import annotations

import pytest

from pramana_core.channels import Identity
from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan

JOBS = "/v1/studies/asia/jobs"
SPEC = {"structure": {"A": [], "C": ["A"]}, "records": "any"}
A, C = Variable("A", ("no", "yes")), Variable("C", ("no", "yes"))


def plan_of(variable):
    return Plan((Block((variable,), Identity(2)),))


@pytest.fixture
def partial(miner, build):
    """A is known of records 0 to 99, C of 40 to 139; C mostly follows A."""
    miner.analyst = miner.study("asia")
    miner.north, miner.south = miner.owner("asia", "north"), miner.owner("asia", "south")
    a = [i % 2 for i in range(140)]
    miner.north.publish("asia", build(plan_of(A), range(100), {"A": a[:100]}))
    miner.south.publish("asia", build(plan_of(C), range(40, 140), {"C": a[40:]}))
    return miner


@pytest.mark.parametrize("spec", [SPEC, {"kind": "bayes-net-structure"}])
def test_moments_say_nothing_of_what_is_missing(partial, assert_problem, spec):
    before = partial.snapshot()
    answer = partial.analyst(
        "POST", JOBS, json={"spec": {**spec, "records": "any", "estimator": "moment"}}
    )
    assert_problem(answer, 422, "option-invalid")
    assert partial.snapshot() == before


def test_one_record_of_two_owners_has_each_variable_once(miner, build, assert_problem):
    analyst = miner.study("asia")
    for owner, people in (("north", range(50)), ("south", range(45, 100))):
        codes = {"A": [i % 2 for i in people]}
        miner.owner("asia", owner).publish("asia", build(plan_of(A), people, codes))
    before = miner.snapshot()
    answer = analyst("POST", JOBS, json={"spec": {"structure": {"A": []}, "records": "any"}})
    assert_problem(answer, 409, "conflict")
    assert miner.snapshot() == before
