"""Study plans over HTTP: agreed on, followed, refused, and what they make of sums and jobs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pramana_core.channels import RESOLUTION, Identity, Mixture, Symmetric
from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan
from pramana_core.study_plan import StudyPart, StudyPlan, StudySet
from pramana_core.wire.channels import PlanMessage
from pramana_core.wire.study_plans import StudyPlanMessage
from tests.miner_service.conftest import build

QUARTER = RESOLUTION // 4
YES = ("no", "yes")
CLASS, A, B = (Variable(name, YES) for name in ("class", "a", "b"))
PAIR, HALF = Mixture.from_gamma(4, 9.0), Symmetric.from_gamma(2, 3.0)
AGREED = StudyPlan(
    (("north", (CLASS, A)), ("south", (B,))),
    (
        StudySet(2 * QUARTER, (StudyPart(0, (0, 1), PAIR),)),
        StudySet(QUARTER, (StudyPart(0, (0,), HALF), StudyPart(1, (0,), HALF))),
        StudySet(QUARTER, (StudyPart(0, (1,), HALF), StudyPart(1, (0,), HALF))),
    ),
)
OTHER = replace(AGREED, sets=(replace(AGREED.sets[0], weight=QUARTER), *AGREED.sets[1:]))
PUBLIC = Block((Variable("region", YES),), Identity(2))
RECORDS = 400


def sent(plan: StudyPlan) -> dict[str, Any]:
    return StudyPlanMessage.from_plan(plan).model_dump(mode="json")


def put(person, plan: StudyPlan = AGREED) -> Any:
    return person("PUT", "/v1/studies/s/plan", json=sent(plan))


def own_plan(owner: str, agreed: StudyPlan = AGREED) -> Plan:
    return Plan((agreed.block(owner),))


def lone(name: str, gamma: float = 3.0) -> Plan:
    return Plan((Block((Variable(name, YES),), Symmetric.from_gamma(2, gamma)),))


def joined(miner):
    """An analyst and the two owners of a study."""
    return miner.study("s"), miner.owner("s", "north"), miner.owner("s", "south")


@pytest.fixture
def people(miner):
    return joined(miner)


@pytest.fixture
def release() -> Callable[..., Any]:
    """A release of some records by a plan, all withheld where nothing else is said."""

    def make(plan: Plan, codes=None, ids=range(10), name="r1") -> Any:
        sizes = plan.reported_sizes
        told = codes or {n: np.full(len(ids), size - 1) for n, size in sizes.items()}
        return build(plan, ids, told, name=name, per_part=100_000)

    return make


def test_a_plan_is_agreed_on_once_and_everybody_reads_what_it_tells(people):
    analyst, *_ = people
    first = put(analyst)
    assert first.status_code == 201, first.text
    again = put(analyst)
    assert (again.status_code, again.json()) == (200, first.json())
    for person in people:
        read = person("GET", "/v1/studies/s/plan")
        view = read.json()
        assert view["digest"] == AGREED.digest
        assert view["record"]["gamma"] == pytest.approx(9, rel=1e-6)
        assert view["silent"] == 0
        shares = {
            o["owner"]: {r["variable"]: r["share"] for r in o["reported"]} for o in view["owners"]
        }
        assert shares == {"north": {"class": 0.75, "a": 0.75}, "south": {"b": 0.5}}
        assert StudyPlanMessage.model_validate(view["plan"]).to_plan() == AGREED


def test_what_is_no_plan_or_too_large_is_refused(people, start, assert_problem):
    analyst, *_ = people
    document = sent(AGREED)
    document["sets"][0]["weight"] = 0
    wrong = analyst("PUT", "/v1/studies/s/plan", json=document)
    assert_problem(wrong, 422, "request-invalid")
    document["sets"][0]["weight"] = RESOLUTION
    assert_problem(analyst("PUT", "/v1/studies/s/plan", json=document), 422, "plan-invalid")


def test_it_names_owners_of_the_study_or_those_invited(miner, assert_problem):
    analyst = miner.study("s")
    miner.owner("s", "north")
    told = assert_problem(put(analyst), 409, "conflict")
    assert told.where == "south"
    asked = miner.admin("POST", "/v1/studies/s/invitations", json={"owner": "south"})
    assert asked.status_code == 201
    assert put(analyst).status_code == 201


def test_what_was_told_without_a_plan_stands_in_its_way(people, release, assert_problem):
    analyst, north, _ = people
    path = north.publish("s", release(lone("class")))
    assert north("POST", f"{path}/withdraw").status_code == 200
    assert_problem(put(analyst), 409, "conflict")


def test_releases_that_follow_are_taken_and_keep_the_plan(people, release, assert_problem):
    analyst, north, south = people
    put(analyst)
    north.publish("s", release(Plan((PUBLIC, *own_plan("north").blocks))))
    south.publish("s", release(own_plan("south")))
    town = Block((Variable("town", YES),), Identity(2))
    south.publish("s", release(Plan((town, *own_plan("south").blocks)), name="r2"))
    # Now another plan may not take its place, and it may not be removed.
    assert_problem(put(analyst, OTHER), 409, "conflict")
    assert_problem(analyst("DELETE", "/v1/studies/s/plan"), 409, "conflict")
    assert analyst.get("/v1/studies/s/plan")["digest"] == AGREED.digest


@pytest.mark.slow
@pytest.mark.parametrize(
    "plan",
    [
        lone("class"),
        Plan((PUBLIC,)),
        own_plan("south"),
        own_plan("north", OTHER),
        Plan((*own_plan("north").blocks, *lone("more").blocks)),
    ],
)
def test_a_release_that_does_not_follow_is_refused_and_nothing_is_stored(
    people, miner, release, assert_problem, plan
):
    analyst, north, _ = people
    put(analyst)
    before = miner.snapshot()
    answer = north("POST", "/v1/studies/s/releases", json=release(plan).body)
    told = assert_problem(answer, 409, "study-plan-not-followed")
    assert "GET /v1/studies/s/plan" in told.remedy
    assert miner.snapshot() == before
    asked = {"plan": PlanMessage.from_plan(plan).model_dump(mode="json")}
    forecast = north("POST", "/v1/studies/s/privacy", json=asked).json()
    assert forecast["refused"]


def test_who_is_not_in_the_plan_may_release_public_columns_alone(
    people, miner, release, assert_problem
):
    analyst, *_ = people
    put(analyst)
    guest = miner.owner("s", "guest")
    answer = guest("POST", "/v1/studies/s/releases", json=release(lone("more")).body)
    assert_problem(answer, 409, "study-plan-not-followed")
    guest.publish("s", release(Plan((PUBLIC,))))


def test_a_coin_that_nobody_agreed_on_is_refused(people, release, assert_problem):
    analyst, north, _ = people
    answer = north("POST", "/v1/studies/s/releases", json=release(own_plan("north")).body)
    assert_problem(answer, 409, "study-plan-not-followed")
    put(analyst)
    north.publish("s", release(own_plan("north")))


def gamma(person) -> float:
    return person.get("/v1/studies/s/privacy")["record"]["determined"]["gamma"]


def test_by_one_coin_a_record_loses_what_the_plan_states(people, release):
    analyst, north, south = people
    put(analyst)
    north.publish("s", release(own_plan("north")))
    south.publish("s", release(own_plan("south")))
    for person in people:
        told = person.get("/v1/studies/s/privacy")
        # 9 of the pair and 3 x 3 of a set over both, not 9 x 3.
        assert told["record"]["determined"]["gamma"] == pytest.approx(9, rel=1e-6)
        assert told["study_plan"]["digest"] == AGREED.digest
        assert told["study_plan"]["record"]["gamma"] == pytest.approx(9, rel=1e-6)
        assert told["warnings"] == []
        each = {o["owner"]: o["determined"]["gamma"] for o in told["owners"]}
        assert each == pytest.approx({"north": 9, "south": 3}, rel=1e-6)
    (shown,) = analyst.get("/v1/dashboard")["studies"]
    assert shown["privacy"]["study_plan"]["digest"] == AGREED.digest


def test_without_a_plan_everybody_is_told_that_the_losses_add(miner, release):
    """The issue's own figure: gamma 19 at each of three owners is 6,859 for the record."""
    analyst = miner.study("s")
    owners = {name: miner.owner("s", name) for name in ("north", "south", "west")}
    for name, owner in list(owners.items())[:2]:
        owner.publish("s", release(lone(f"{name}_ill", 19.0)))
    asked = {"plan": PlanMessage.from_plan(lone("west_ill", 19.0)).model_dump(mode="json")}
    forecast = owners["west"]("POST", "/v1/studies/s/privacy", json=asked).json()
    assert forecast["after"]["record"]["determined"]["gamma"] == pytest.approx(6859, rel=1e-6)
    for said in (forecast["after"]["warnings"],):
        assert len(said) == 1
        assert "epsilon 8.834 (gamma 6859)" in said[0]
        assert "north 2.945, south 2.945, west 2.945" in said[0]
    owners["west"].publish("s", release(lone("west_ill", 19.0)))
    for person in (analyst, *owners.values()):
        (said,) = person.get("/v1/studies/s/privacy")["warnings"]
        assert "gamma 6859" in said
        (shown,) = person.get("/v1/dashboard")["studies"]
        assert shown["privacy"]["warnings"] == [said]


def test_drawn_anew_it_is_more_than_the_plan_states(people, release):
    analyst, north, _ = people
    put(analyst)
    north.publish("s", release(own_plan("north")))
    north.publish("s", release(own_plan("north"), ids=range(11), name="r2"))
    (said,) = analyst.get("/v1/studies/s/privacy")["warnings"]
    assert "more than the study plan's 2.198" in said
    assert gamma(analyst) == pytest.approx(81, rel=1e-6)


def budgeted(miner, most: float) -> tuple[Any, Any, Any]:
    analyst = miner.study("s", max_epsilon_record=most)
    return analyst, miner.owner("s", "north"), miner.owner("s", "south")


def test_a_budget_has_room_for_the_plan_and_no_more(miner, release, assert_problem):
    analyst, north, south = budgeted(miner, math.log(9) + 1e-6)
    put(analyst)
    north.publish("s", release(own_plan("north")))
    south.publish("s", release(own_plan("south")))
    left = analyst.get("/v1/studies/s/privacy")["budget"]["left_for_record"]
    assert left == pytest.approx(0, abs=1e-5)
    # The control: without the coin the same channels are 27 together.
    apart = north("POST", "/v1/studies/s/releases", json=release(own_plan("north"), name="r2").body)
    assert_problem(apart, 409, "budget-exceeded")


def test_a_plan_beyond_the_budget_is_refused(miner, assert_problem):
    analyst, *_ = budgeted(miner, math.log(8))
    assert_problem(put(analyst), 409, "budget-exceeded")
    assert_problem(analyst("GET", "/v1/studies/s/plan"), 404, "not-found")


@pytest.mark.parametrize("records", ["identical", "common", "any"])
def test_choices_of_their_own_are_found_out_when_a_job_uses_them(people, release, records):
    analyst, *owners = people
    put(analyst)
    # No value of the coin reports all three of one record.
    for owner, person, names in zip(("north", "south"), owners, ("class a", "b"), strict=True):
        codes = {name: np.zeros(10) for name in names.split()}
        person.publish("s", release(own_plan(owner), codes))
    spec = {"kind": "contingency-table", "variables": ["class", "b"], "estimator": "ml"}
    made = analyst("POST", "/v1/studies/s/jobs", json={"spec": {**spec, "records": records}})
    job = analyst.wait(made.headers["location"])
    assert (job["state"], job["problem"]["code"]) == ("failed", "records-do-not-align")
