"""Itemsets and rules as estimators: as mlxtend has them where nothing is randomized, and errors."""

from __future__ import annotations

from functools import cache

import pandas as pd
import pytest

import pramana as pm
from pramana_core.learn.common.options import MINIMUM_CONFIDENCE, RuleOptions

PEOPLE = pm.example("titanic")
DOMAIN = pm.domain(PEOPLE, pm.observed_categories(PEOPLE))
CLEAN = pm.Plan.unrandomized(DOMAIN)
PLAN = pm.plan(DOMAIN, p=0.1)


@cache
def reports() -> pm.Reports:
    keys = pm.Keys.for_experiments(1)
    return pm.randomize(PEOPLE, PLAN, keys, record_id=PEOPLE.index)


@pytest.mark.parametrize(
    ("asked", "items"),
    [
        ({}, {f"{v.name}={c}" for v in DOMAIN for c in v.categories}),
        ({"variables": ["sex", "age"]}, {"sex=female", "sex=male", "age=adult", "age=child"}),
        ({"present": "yes"}, {"survived=yes"}),
        ({"items": {"sex": ["female"], "age": ["child"]}}, {"sex=female", "age=child"}),
    ],
)
def test_items_are_those_asked_for(asked, items):
    frame = pm.AssociationRules(0.01, **asked).fit(PEOPLE, CLEAN).examined_
    assert set().union(*frame["itemsets"]) == items


def test_options_are_those_of_the_miner():
    defaults = pm.AssociationRules(0.1).get_params()
    told = RuleOptions(0.1)
    for name in RuleOptions.__dataclass_fields__:
        assert defaults[name] == getattr(told, name)
    assert defaults["minimum_confidence"] == MINIMUM_CONFIDENCE


def test_a_saved_model_is_read_back(tmp_path):
    model = pm.AssociationRules(0.1, items={"sex": ["male"], "survived": ["no", "yes"]})
    model.fit(reports())
    path = tmp_path / "found.json"
    model.save(path)
    back = pm.load(path)
    assert repr(back) == repr(model)
    assert back.to_json() == model.to_json()
    pd.testing.assert_frame_equal(back.to_frame(), model.to_frame())
    pd.testing.assert_frame_equal(back.itemsets_, model.itemsets_)
