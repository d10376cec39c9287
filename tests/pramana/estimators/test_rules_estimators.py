"""Itemsets and rules as estimators: as mlxtend has them where nothing is randomized, and errors."""

from __future__ import annotations

from functools import cache

import pandas as pd
import pytest
from mlxtend import frequent_patterns as theirs

import pramana as pm
from pramana_core.learn.common.options import MINIMUM_CONFIDENCE, RuleOptions
from pramana_core.learn.rules.frames import ENDS, ITEMSET_ERRORS, MEASURED, SIDES

PEOPLE = pm.example("titanic")
DOMAIN = pm.domain(PEOPLE, pm.observed_categories(PEOPLE))
CLEAN = pm.Plan.unrandomized(DOMAIN)
PLAN = pm.plan(DOMAIN, p=0.1)


@cache
def reports() -> pm.Reports:
    keys = pm.Keys.for_experiments(1)
    return pm.randomize(PEOPLE, PLAN, keys, record_id=PEOPLE.index)


def one_hot(frame: pd.DataFrame) -> pd.DataFrame:
    """Columns in the order of the domain, so that frames stand in one order."""
    columns = [f"{v.name}={category}" for v in DOMAIN for category in v.categories]
    return pd.get_dummies(frame, prefix_sep="=")[columns]


def by_rule(rules: pd.DataFrame) -> pd.DataFrame:
    """Return the numbers of rules by the rules in words, in their order."""
    sides = rules[["antecedents", "consequents"]].map(lambda side: " ".join(sorted(side)))
    numbers = rules.drop(columns=["antecedents", "consequents"])
    return numbers.set_index(pd.MultiIndex.from_frame(sides)).sort_index()


def test_itemsets_of_a_clean_table_are_mlxtends():
    found = pm.AssociationRules(0.1).fit(PEOPLE, CLEAN).itemsets_
    wanted = theirs.apriori(one_hot(PEOPLE), 0.1, use_colnames=True)
    assert list(found) == ["support", "itemsets", *ITEMSET_ERRORS]
    pd.testing.assert_frame_equal(found[["support", "itemsets"]], wanted, rtol=1e-12)
    assert (found["se_records"] == 0).all()
    assert (found["se_population"] > 0).any()


def test_rules_of_a_clean_table_are_mlxtends():
    model = pm.AssociationRules(0.1, 0.7).fit(PEOPLE, CLEAN)
    # It takes our itemsets as they are, with their further columns.
    wanted = theirs.association_rules(model.itemsets_, metric="confidence", min_threshold=0.7)
    columns = [*SIDES, *MEASURED]
    errors = [f"{name}_{end}" for name in MEASURED for end in ENDS]
    assert list(model.rules_) == ["antecedents", "consequents", *columns, *errors]
    pd.testing.assert_frame_equal(
        by_rule(model.rules_)[columns], by_rule(wanted)[columns], rtol=1e-9
    )


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
