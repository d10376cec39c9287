"""Masked releases come in as others do, stand beside them, and are told apart from them."""

from __future__ import annotations

import numpy as np
import pytest

from pramana_core.channels import Symmetric
from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan
from pramana_core.study_plan import StudyPart, StudyPlan, StudySet
from pramana_core.wire.parts import encode_part
from pramana_core.wire.study_plans import StudyPlanMessage
from tests.miner_service.masking import COLUMNS, masked, table_of

RELEASES = "/v1/studies/asia/releases"
AGE, SEX, DEBT = COLUMNS


def test_other_words_on_the_protection_are_the_same_release(miner, north):
    built = masked(range(100))
    path = north.announce("asia", built)
    before = miner.snapshot()
    built.body["table"]["protection"] = ["Said better."]
    assert north.announce("asia", built) == path
    assert miner.snapshot() == before


def test_a_part_of_one_kind_is_refused_by_a_release_of_the_other(
    miner, north, release_a, manifest, plan_a, assert_problem
):
    built = masked(range(40))
    as_masked = manifest(table_of(), release_a.parts[:1], [40], "m1")
    as_plan = manifest(plan_a, built.parts[:1], [40])
    for release, part in ((as_masked, release_a.parts[0]), (as_plan, built.parts[0])):
        path = north.announce("asia", release)
        before = miner.snapshot()
        assert_problem(north.put(path, 0, part), 422, "part-invalid")
        assert miner.snapshot() == before


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1e300])
def test_numbers_that_are_none_are_refused_and_not_stored(
    miner, north, manifest, keys_of, assert_problem, wrong
):
    good = masked(range(40))
    keys = np.sort(keys_of(range(40)).view("S16")).view("V16")
    debts = good.columns["debt"].copy()
    debts[7] = wrong
    part = encode_part(table_of().schema_of_parts, keys, good.columns | {"debt": debts})
    path = north.announce("asia", manifest(table_of(), [part], [40]))
    before = miner.snapshot()
    problem = assert_problem(north.put(path, 0, part), 422, "part-invalid")
    assert "1e+300" not in problem.detail
    assert miner.snapshot() == before


# --- budgets, study plans, what the study tells --------------------------------------------------


SEXES, ILL = Variable("sex", ("f", "m")), Variable("ill", ("no", "yes"))
PLANNED = StudyPlan(
    (("north", (SEXES,)), ("south", (ILL,))),
    tuple(
        StudySet(1 << 31, (StudyPart(owner, (0,), Symmetric.from_gamma(2, 3.0)),))
        for owner in (0, 1)
    ),
)


def put_plan(miner):
    message = StudyPlanMessage.from_plan(PLANNED).model_dump(mode="json")
    return miner.admin("PUT", "/v1/studies/asia/plan", json=message)


def test_columns_that_the_study_plan_randomizes_are_refused_and_others_taken(
    miner, north, assert_problem
):
    miner.owner("asia", "south")
    assert put_plan(miner).status_code == 201
    before = miner.snapshot()
    answer = north("POST", RELEASES, json=masked(range(10)).body)
    assert_problem(answer, 409, "study-plan-not-followed")
    assert miner.snapshot() == before
    north.publish("asia", masked(range(10), columns=[AGE, DEBT]))


def test_a_study_plan_comes_too_late_for_columns_that_were_masked(miner, north, assert_problem):
    miner.owner("asia", "south")
    north.publish("asia", masked(range(10)))
    assert_problem(put_plan(miner), 409, "conflict")
    assert_problem(miner.admin("GET", "/v1/studies/asia/plan"), 404, "not-found")


def warned(person):
    return person.get("/v1/studies/asia/privacy")["warnings"]


def test_two_masked_releases_of_an_owner_are_told(miner, north):
    north.publish("asia", masked(range(50)))
    assert len(warned(north)) == 1
    miner.owner("asia", "south").publish("asia", masked(range(50), seed=3))
    assert len(warned(north)) == 1
    north.publish("asia", masked(range(49), name="m2"))
    assert len(warned(north)) == 2


def test_the_same_column_randomized_and_masked_is_told(north, build):
    plan = Plan((Block((SEXES,), Symmetric.from_gamma(2, 3.0)),))
    north.publish("asia", build(plan, range(50), {"sex": [0, 1] * 25}))
    assert warned(north) == []
    north.publish("asia", masked(range(50)))
    assert len(warned(north)) == 2
