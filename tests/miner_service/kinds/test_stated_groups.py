"""Groups of categories that owners state with a release: the default of a table of levels."""

from __future__ import annotations

import numpy as np
import pytest

from pramana_core.channels import Identity
from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan
from tests.miner_service import masking

PLACES = ("A", "B", "C, D", "E -> F")
PLAN = Plan((Block((Variable("place", PLACES),), Identity(4)),))
STATED = {"north": ["A", "B"], "south": {"coast": ["C, D"], "hills": ["E -> F"]}}
TABLE = {"kind": "contingency-table", "variables": ["place"], "records": "any"}
RELEASES = "/v1/studies/s/releases"


@pytest.fixture
def made(build):
    """A release of 20 records that states groups."""

    def release(groups, ids=range(20)):
        built = build(PLAN, ids, {"place": np.arange(len(ids)) % 4})
        if groups is not None:
            built.body["groups"] = {"place": groups}
        return built

    return release


def level_names(model):
    return [(row["level"], row["category"]) for row in model["levels"]]


def test_stated_groups_are_the_default_of_a_table(miner, made):
    analyst, north = miner.study("s"), miner.owner("s", "north")
    path = north.publish("s", made(STATED))
    assert analyst.get(path)["groups"] == {"place": STATED}
    model = analyst.learn("s", TABLE)
    assert model["spec"]["groups"] == STATED
    assert {(1, "north"), (1, "south"), (2, "coast")} <= {*level_names(model)}
    assert analyst.learn("s", {**TABLE, "groups": STATED})["id"] == model["id"]
    other = analyst.learn("s", {**TABLE, "groups": {"all": PLACES}})
    assert level_names(other)[0] == (1, "all")
    assert analyst.learn("s", {**TABLE, "groups": {}})["levels"] == []


def test_a_release_sealed_before_groups_were_stated_is_announced_again(miner, made):
    analyst, north = miner.study("s"), miner.owner("s", "north")
    path = north.publish("s", made(None))
    assert "groups" not in analyst.get(path)
    assert analyst.learn("s", TABLE)["levels"] == []
    assert north.announce("s", made(STATED)) == path
    assert analyst.get(path)["state"] == "sealed"
    assert analyst.learn("s", TABLE)["levels"] != []
    assert north.announce("s", made(None)) == path
    assert analyst.learn("s", TABLE)["levels"] == []


TURNED = {"south": {"hills": ["E -> F"], "coast": ["C, D"]}, "north": ["B", "A"]}
FLAT = {"hills": ["E -> F"], "coast": ["C, D"], "south": ["coast", "hills"], "north": ["A", "B"]}


@pytest.mark.parametrize("second", [None, STATED, TURNED, FLAT, {"all": list(PLACES)}])
def test_owners_of_one_column_must_state_the_same_groups(miner, made, assert_problem, second):
    analyst = miner.study("s", people="different")
    miner.owner("s", "north").publish("s", made(STATED))
    miner.owner("s", "south").publish("s", made(second, range(20, 40)))
    if second in (None, STATED, TURNED, FLAT):
        assert analyst.learn("s", TABLE)["spec"]["groups"] == STATED
        return
    answer = analyst("POST", "/v1/studies/s/jobs", json={"spec": TABLE})
    assert assert_problem(answer, 422, "option-invalid", "north", "south").where == "groups"
    assert analyst.learn("s", {**TABLE, "groups": {}})["levels"] == []


@pytest.mark.parametrize(
    ("groups", "code"),
    [
        ({"place": {"all": [*PLACES, "A"]}}, "option-invalid"),
        ({"place": {"all": PLACES[1:]}}, "option-invalid"),
        ({"place": {"all": [*PLACES, "G"]}}, "unknown-category"),
        ({"town": {"all": PLACES}}, "unknown-variable"),
        ({"place": ["A"]}, "request-invalid"),
    ],
)
def test_groups_that_do_not_fit_are_refused_with_the_release(
    miner, made, assert_problem, groups, code
):
    miner.study("s")
    north, built = miner.owner("s", "north"), made(None)
    before = miner.snapshot()
    answer = north("POST", RELEASES, json={**built.body, "groups": groups})
    assert_problem(answer, 422, code)
    assert miner.snapshot() == before


def test_masked_columns_have_no_groups(miner, assert_problem):
    miner.study("s")
    body = {**masking.masked(range(40)).body, "groups": {"place": STATED}}
    answer = miner.owner("s", "north")("POST", RELEASES, json=body)
    assert_problem(answer, 422, "request-invalid")
