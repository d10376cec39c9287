"""Mistakes with pictures, itemsets and rules."""

from __future__ import annotations

from functools import cache

import pandas as pd

import pramana as pm
from pramana_core.errors import (
    NotFitted,
    OptionError,
    UnknownCategory,
    UnknownVariable,
)
from tests.pramana.face.mistakes import Mistakes


@cache
def _people() -> pd.DataFrame:
    return pm.example("berkeley")


@cache
def _plan() -> pm.Plan:
    people = _people()
    return pm.Plan.unrandomized(pm.domain(people, pm.observed_categories(people)))


def _net() -> pm.BayesNet:
    return pm.BayesNet([("sex", "admitted")]).fit(_people(), _plan())


def _grid() -> object:
    from matplotlib.figure import Figure

    return Figure().subplots(2, 2)


def _figure() -> object:
    from matplotlib.figure import Figure

    return Figure()


def _mined(*given: object, **options: object) -> object:
    return pm.FrequentItemsets(*given, **options).fit(_people(), _plan())


MISTAKES: Mistakes = {
    NotFitted: [
        (lambda: pm.DecisionTree("admitted").plot(), "DecisionTree"),
        (lambda: pm.AssociationRules(0.1).plot(), "AssociationRules"),
        (lambda: pm.AssociationRules(0.1).rules_, "AssociationRules"),
        (lambda: pm.FrequentItemsets(0.1).itemsets_, "FrequentItemsets"),
    ],
    OptionError: [
        (
            lambda: pm.DecisionTree("admitted").fit(_people(), _plan()).plot(max_depth="two"),
            "max_depth",
        ),
        (lambda: _net().plot(_figure()), "ax"),
        (lambda: _net().plot(ax=_grid()), "ax"),
        (lambda: _net().plot("net.png"), "ax"),
        (lambda: pm.estimate(_people(), _plan()).plot("sex", "admitted"), "ax"),
        (lambda: pm.estimate(_people(), _plan()).plot(_figure()), "variables"),
        (lambda: _mined(5), "minimum_support"),
        (lambda: _mined("0.1"), "minimum_support"),
        (lambda: pm.FrequentItemsets(min_support=0.1), "min_support"),
        (lambda: pm.AssociationRules(0.1, 80).fit(_people(), _plan()), "minimum_confidence"),
        (lambda: _mined(0.1, items="sex"), "items"),
        (lambda: _mined(0.1, items={"sex": "female"}), "items['sex']"),
        (lambda: _mined(0.1, present=["yes"]), "present"),
        (lambda: _mined(0.1, present="yes", items={"sex": ["male"]}), "items"),
        (lambda: _mined(0.1, variables="sex"), "variables"),
    ],
    UnknownVariable: [
        (lambda: pm.estimate(_people(), _plan()).plot(["Sex"]), "Sex"),
        (lambda: _mined(0.1, items={"Sex": ["female"]}), "Sex"),
    ],
    UnknownCategory: [
        (lambda: _mined(0.1, items={"sex": ["f"]}), "sex"),
        (lambda: _mined(0.1, present="true"), "items"),
    ],
}
