"""Masked releases come in as others do, stand beside them, and are told apart from them."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from pramana_core.channels import Symmetric
from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan
from pramana_core.study_plan import StudyPart, StudyPlan, StudySet
from pramana_core.wire.parts import encode_part
from pramana_core.wire.study_plans import StudyPlanMessage
from tests.miner_service.masking import COLUMNS, announced, masked, send_clumsily

RELEASES = "/v1/studies/asia/releases"
AGE, SEX, DEBT = COLUMNS


def test_a_masked_release_is_announced_sent_and_sealed(miner, north):
    built = masked(range(100))
    path = send_clumsily(north, "asia", built)
    told = north.get(path)
    assert told["kind"] == "masked-records"
    assert told["table"] == built.body["table"]
    assert told["table_digest"] == built.table.digest
    assert (told["records"], told["parts_received"]) == (100, [0, 1, 2])
    assert told["consistency"]["state"] == "not-examined"
    assert "only their owner can" in told["consistency"]["reason"]
    assert not {"plan", "plan_digest"} & set(told)
    (study,) = north.get("/v1/dashboard")["studies"]
    assert study["releases"] == [told]


def test_one_owner_has_a_release_of_each_kind_in_use(miner, north, release_a):
    analyst = miner.study("asia")
    plain = north.publish("asia", release_a)
    sealed = north.publish("asia", masked(range(50)))
    aligned = analyst.get("/v1/studies/asia/alignment")
    assert aligned["state"] == "identical"
    assert [row["release"] for row in aligned["owners"]] == [plain.rsplit("/", 1)[1]]
    assert aligned["in_all"] == 100
    assert north("POST", f"{plain}/withdraw").status_code == 200
    aligned = analyst.get("/v1/studies/asia/alignment")
    assert (aligned["state"], aligned["owners"], aligned["missing"]) == ("waiting", [], [])
    assert north("POST", f"{sealed}/withdraw").status_code == 200
    assert analyst.get("/v1/studies/asia/alignment")["missing"] == ["north"]


def test_other_content_under_a_name_is_a_conflict_whatever_its_kind(
    miner, north, release_a, assert_problem
):
    north.announce("asia", masked(range(100)))
    before = miner.snapshot()
    for other in (masked(range(100), seed=2), masked(range(100), method="ipso")):
        assert_problem(north("POST", RELEASES, json=other.body), 409, "conflict")
    plain = release_a.body | {"name": "m1"}
    assert_problem(north("POST", RELEASES, json=plain), 409, "conflict")
    assert miner.snapshot() == before


def test_other_words_on_the_protection_are_the_same_release(miner, north):
    built = masked(range(100))
    path = north.announce("asia", built)
    before = miner.snapshot()
    built.body["table"]["protection"] = ["Said better."]
    assert north.announce("asia", built) == path
    assert miner.snapshot() == before


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"table": None}, "has a table"),
        ({"kind": "randomized-records"}, "has a plan"),
        ({"kind": "model"}, "kind"),
        ({"draws": ["0" * 64]}, "no plan by which"),
    ],
)
def test_a_manifest_that_is_of_no_kind_is_refused(miner, north, assert_problem, changed, words):
    before = miner.snapshot()
    answer = north("POST", RELEASES, json=masked(range(10)).body | changed)
    assert_problem(answer, 422, "request-invalid")
    assert miner.snapshot() == before


def test_a_part_of_one_kind_is_refused_by_a_release_of_the_other(
    miner, north, release_a, manifest, plan_a, assert_problem
):
    built = masked(range(40))
    as_masked = announced(built.table, release_a.parts[:1], [40])
    as_plan = manifest(plan_a, built.parts[:1], [40])
    for release, part in ((as_masked, release_a.parts[0]), (as_plan, built.parts[0])):
        path = north.announce("asia", release)
        before = miner.snapshot()
        assert_problem(north.put(path, 0, part), 422, "part-invalid")
        assert miner.snapshot() == before


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1e300])
def test_numbers_that_are_none_are_refused_and_not_stored(miner, north, assert_problem, wrong):
    good = masked(range(40))
    keys = np.sort(
        np.frombuffer(
            b"".join(hashlib.sha256(str(i).encode()).digest()[:16] for i in range(40)), "S16"
        )
    ).view("V16")
    debts = good.columns["debt"].copy()
    debts[7] = wrong
    part = encode_part(good.table.schema_of_parts, keys, good.columns | {"debt": debts})
    path = north.announce("asia", announced(good.table, [part], [40]))
    before = miner.snapshot()
    problem = assert_problem(north.put(path, 0, part), 422, "part-invalid")
    assert "1e+300" not in problem.detail
    assert miner.snapshot() == before


# --- budgets, study plans, what the study tells --------------------------------------------------


@pytest.mark.parametrize("budget", ["max_epsilon_record", "max_epsilon_column"])
def test_a_budget_has_no_room_for_a_masked_release(miner, assert_problem, budget):
    miner.admin("POST", "/v1/studies", json={"name": "asia", budget: 5.0})
    owner = miner.owner("asia", "north")
    before = miner.snapshot()
    answer = owner("POST", RELEASES, json=masked(range(10)).body)
    assert_problem(answer, 409, "budget-exceeded")
    assert miner.snapshot() == before


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


def told(person):
    return person.get("/v1/studies/asia/privacy")


def test_the_study_tells_masked_releases_apart_and_that_no_sum_has_them(miner, north, build):
    plan = Plan((Block((Variable("ill", ("no", "yes")),), Symmetric.from_gamma(2, 3.0)),))
    north.publish("asia", build(plan, range(50), {"ill": [0, 1] * 25}))
    before = told(north)
    assert (before["unbounded"], before["warnings"]) == ([], [])
    path = north.announce("asia", masked(range(50)))
    assert told(north)["unbounded"] == []
    north.put(path, 0, masked(range(50)).parts[0])
    after = told(north)
    assert after["unbounded"] == [
        {
            "owner": "north",
            "kind": "masked-records",
            "confidential": ["debt"],
            "told": ["age", "sex"],
            "statement": "Masked records carry no gamma: nothing bounds what they tell of one"
            " record.",
        }
    ]
    assert after["record"] == before["record"]
    (warning,) = after["warnings"]
    assert "The sums leave out 1 releases" in warning
    assert "no figure here is a bound" in warning
    told_columns = {c["variable"] for c in after["columns"] if c["amplification"] is None}
    assert told_columns == {"age", "sex"}
    assert north("POST", f"{path}/withdraw").status_code == 200
    assert told(north) == after
    (study,) = miner.study("asia").get("/v1/dashboard")["studies"]
    assert study["privacy"]["unbounded"] == after["unbounded"]


def test_the_same_column_randomized_and_masked_is_told(miner, north, build):
    sex = Variable("sex", ("f", "m"))
    plan = Plan((Block((sex,), Symmetric.from_gamma(2, 3.0)),))
    north.publish("asia", build(plan, range(50), {"sex": [0, 1] * 25}))
    north.publish("asia", masked(range(50)))
    assert any("both randomized" in w and "sex of north" in w for w in told(north)["warnings"])


# --- interruptions -------------------------------------------------------------------------------


def test_two_masked_releases_of_an_owner_are_told(miner, north):
    north.publish("asia", masked(range(50)))
    assert len(told(north)["warnings"]) == 1
    north.publish("asia", masked(range(49), name="m2"))
    warnings = told(north)["warnings"]
    assert any("north has sent 2 different releases" in warning for warning in warnings)
    south = miner.owner("asia", "south")
    south.publish("asia", masked(range(50), seed=3))
    assert "(of north, south)" in told(south)["warnings"][0]
