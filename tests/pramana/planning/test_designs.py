"""Designs: what the custodian's command finds, as an object."""

from __future__ import annotations

import math
from typing import Any

import pytest

import pramana as pm
from pramana_core.design import Problem, Requirements, find_design, goal
from pramana_core.errors import OptionError
from pramana_core.privacy import GAMMA_LIMIT, CentralLoss, ShuffledReport, central_loss

DOMAIN = pm.Domain.of(
    rank=["1st", "2nd", "3rd", "crew"],
    age=["child", "adult"],
    sex=["f", "m"],
    survived=["no", "yes"],
)


@pytest.fixture(scope="module")
def made() -> pm.Design:
    return pm.design(DOMAIN, 2201, gamma=19, learn="classifier", target="survived")


def test_a_design_is_that_of_the_command(made: pm.Design):
    wanted = goal(DOMAIN, "classifier", target="survived")
    found = find_design(Problem(Requirements(DOMAIN, 19), wanted, 2201))
    assert made.plan == found.chosen.plan
    assert made.family == found.chosen.family
    assert made.as_dict() == found.as_dict()


def test_a_central_epsilon_is_kept_by_the_bound_that_the_plan_states():
    made = pm.design(DOMAIN, 2201, central_epsilon=1, delta=1e-6)
    central = CentralLoss(1, 1e-6)
    needs = Requirements(DOMAIN, GAMMA_LIMIT, central=central)
    found = find_design(Problem(needs, goal(DOMAIN, "pairs"), 2201))
    assert made.plan == found.chosen.plan
    stated = central_loss(ShuffledReport.of(made.plan), 2201, 1e-6).epsilon
    assert 0.98 < stated <= 1
    assert pm.design(DOMAIN, 2201, gamma=3, central_epsilon=1, delta=1e-6).gamma <= 3


@pytest.mark.parametrize(
    ("bounds", "where"),
    [
        ({"central_epsilon": 1, "delta": 0}, "delta"),
        ({"gamma": 19, "delta": 1e-5}, "delta"),
        ({"central_epsilon": 1e-300}, "central_epsilon"),
        ({"central_epsilon": 1e-12}, "central_epsilon"),
    ],
)
def test_a_central_bound_that_cannot_be_kept_is_named(bounds: dict[str, float], where: str):
    with pytest.raises(OptionError) as caught:
        pm.design(DOMAIN, 2201, **bounds)
    assert caught.value.where == where


def test_its_bound_is_rounded_up_in_the_title_and_in_each_row():
    title, *rows = repr(pm.design(DOMAIN, 20_000, gamma=3.6693)).splitlines()
    assert "gamma 3.67 " in title
    chosen = next(row for row in rows if row.startswith("*"))
    assert " 3.67 " in chosen


def test_its_bound_may_be_said_in_three_ways(made: pm.Design):
    how: dict[str, Any] = {"learn": "classifier", "target": "survived"}
    assert pm.design(DOMAIN, 2201, epsilon=math.log(19), **how).gamma == pytest.approx(19, rel=1e-6)
    # 5 percent to 50: odds of 1/19 to 1.
    assert pm.design(DOMAIN, 2201, breach=(0.05, 0.5), **how).gamma == pytest.approx(19, rel=1e-6)
    assert made.gamma <= 19 * (1 + 1e-9)


def test_its_estimator_is_the_one_that_its_reports_are_estimated_by():
    people = pm.example("berkeley")
    domain = pm.domain(people, pm.observed_categories(people))
    for wanted in ("classifier", "itemsets"):
        target = {"target": "admitted"} if wanted == "classifier" else {}
        made = pm.design(domain, len(people), gamma=19, learn=wanted, **target)
        keys = pm.Keys.for_experiments(1)
        reports = pm.randomize(people, made.plan, keys, record_id=people.index)
        assert made.estimator == pm.estimate(reports).estimator


def test_families_stand_side_by_side(made: pm.Design):
    table = made.to_frame()
    able = table[table["reason"] == ""]
    assert table.loc[table["chosen"], "family"].tolist() == [made.family]
    assert able["error"].notna().all()
    assert table.loc[table["reason"] != "", "error"].isna().all()
    assert set(able["estimator"]) <= {"moment", "pooled"}
    withheld = table.set_index("family")["withheld"]
    assert withheld["sampled-1"] == pytest.approx(3 / 4)
    assert withheld["sampled-3"] == pytest.approx(1 / 4)
    assert withheld["gamma-diagonal"] == 0


@pytest.mark.slow
def test_a_family_may_be_chosen_by_its_name_or_its_kind():
    assert pm.design(DOMAIN, 2201, gamma=19, family="mask").family == "mask"
    assert pm.design(DOMAIN, 2201, gamma=19, family="sampled").family.startswith("sampled-")
    with pytest.raises(pm.InputError) as caught:
        pm.design(DOMAIN, 2201, gamma=19, family="sampled-1")
    assert caught.value.where == "family"


def test_public_variables_are_reported_as_they_are():
    plan = pm.design(DOMAIN, 2201, gamma=19, public="sex").plan
    assert plan.block_of("sex").channel == pm.Identity(2)
    assert set(plan.domain.names) == set(DOMAIN.names)


def test_owners_share_one_study_plan():
    owners = {"harbour": ["sex", "rank"], "court": ["survived", "age"]}
    made = pm.design(DOMAIN, 2201, gamma=19, owners=owners)
    assert made.study_plan is not None
    parts = {owner: made.plan_of(owner) for owner in owners}
    assert {owner: list(part.domain.names) for owner, part in parts.items()} == owners
    assert pm.Plan.combine(parts.values()) == made.plan
    assert made.study_plan.amplification.gamma <= 19 * (1 + 1e-9)
    with pytest.raises(pm.PramanaError):
        made.plan_of("police")
