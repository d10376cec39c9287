"""A study as it stands: who is there, what was released, and what it told."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pramana as pm
from pramana_core.plan import Plan
from pramana_core.privacy import Amplification
from pramana_core.report.numbers import belief
from pramana_core.rounding import rounded_up
from pramana_core.wire.parts import PART_MEDIA_TYPE
from pramana_core.wire.privacy import ChangedReports
from tests.miner_service.masking import masked
from tests.pramana.client.world import STUDY


def test_a_study_says_how_it_stands(world):
    study = world.study()
    assert repr(study) == (
        "Study(voyage (The Titanic's people) at http://127.0.0.1:9; owners: line, port; the same"
        " 2,201 records at every owner)"
    )
    assert study.owners()[["name", "active"]].values.tolist() == [["line", True], ["port", True]]
    assert study.domain().names == ("class", "sex", "age", "survived")


def test_releases_say_what_is_in_them(world):
    releases = world.study().releases().set_index("owner")
    assert releases["in_use"].tolist() == [True, True]
    assert releases.loc["line", "variables"] == ("class", "sex")
    assert releases.loc["port", "consistency"] == "consistent"
    assert releases.loc["port", "records"] == 2201


def test_a_disclosure_has_two_bounds(world):
    told = world.study().disclosure()
    assert told.central.records == 2201
    assert told.central.epsilon <= told.epsilon
    assert f"{rounded_up(told.central.epsilon)}" in repr(told).split("central")[1]


def test_the_rest_of_a_budget_is_rounded_down(world):
    told = world.study().disclosure()
    budget = told.budget.model_copy(update={"left_for_record": 5 - math.log(43)})
    assert "epsilon 1.238 of" in repr(told.model_copy(update={"budget": budget}))


def test_records_reported_differently_by_the_same_draws_are_shown(world):
    study = world.study()
    told = study.disclosure()
    assert told.changed == []
    assert "changed in value" not in repr(told)
    assert study.releases()["changed"].tolist() == [0, 0]
    blocks = [
        ChangedReports(
            owner="port", variables=[name], releases=2, records=records, of=2000, not_compared=0
        )
        for name, records in (("age", 4), ("survived", 13))
    ]
    assert "; 13 records changed in value" in repr(told.model_copy(update={"changed": blocks}))


@pytest.mark.slow
def test_masked_releases_are_listed_beside_others_and_in_no_sum(world):
    before = world.study().disclosure()
    token = world.owner("bank")
    for name, seed in (("m1", 1), ("m2", 2)):
        built = masked(range(30), name=name, seed=seed)
        made = world.rest("POST", f"/v1/studies/{STUDY}/releases", token, json=built.body)
        path, media = f"/v1/releases/{made['id']}", {"Content-Type": PART_MEDIA_TYPE}
        world.rest("PUT", f"{path}/parts/0", token, content=built.parts[0], headers=media)
        world.rest("POST", f"{path}/seal", token)
    study = world.study()
    listed = study.releases().set_index("name").loc[["m1", "m2"]]
    assert listed["kind"].tolist() == ["masked-records"] * 2
    assert listed["in_use"].tolist() == [False, True]
    assert listed["variables"].tolist() == [("age", "sex", "debt")] * 2
    assert listed["plan_digest"].isna().all()
    assert study.releases()["in_use"].sum() == 3
    assert study.alignment().state == "identical"
    assert "debt" not in study.domain().names
    told = study.disclosure()
    assert (told.epsilon, told.gamma) == (before.epsilon, before.gamma)
    assert any("exclude" in warning for warning in told.warnings)
    frame = told.to_frame()
    apart = frame[frame["of"] == "masked column"]
    assert apart[["owner", "variable"]].drop_duplicates().values.tolist() == [["bank", "debt"]]
    assert np.isinf(apart["gamma"]).all()


def test_records_that_differ_are_counted(world, reports):
    part, plan = reports["port"], Plan.unrandomized(pm.Domain.of(boat=["no", "yes"]))
    codes = {"boat": part.codes["age"][:100]}
    world.publish("late", pm.Reports(plan, codes, part.pseudonyms[:100]))
    study = world.study()
    aligned = study.alignment()
    assert (aligned.state, aligned.in_all, aligned.in_any) == ("partial", 100, 2201)
    assert "100 of 2,201 records at every owner" in repr(study)
    assert aligned.to_frame()["not_everywhere"].tolist() == [2101, 2101, 0]


def test_what_a_study_told_is_what_its_owners_reports_tell_together(world, together):
    told = world.study().disclosure()
    assert told.epsilon == pytest.approx(together.epsilon)
    assert told.gamma == pytest.approx(math.exp(told.epsilon))
    frame = told.to_frame()
    owners = frame[frame["of"] == "owner"]
    assert owners["epsilon"].sum() == pytest.approx(told.epsilon)
    columns = frame[frame["of"] == "column"].set_index("variable")
    assert columns.loc["sex", "epsilon"] == pytest.approx(math.log(9), rel=1e-6)
    assert f"a belief of 5 % can grow to {belief(Amplification(told.epsilon), 0.05)};" in repr(told)
    assert told.warnings
