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
    return pm.AssociationRules(*given, **options).fit(_people(), _plan())


MISTAKES: Mistakes = {
    (NotFitted, "DecisionTree"): [lambda: pm.DecisionTree("admitted").plot()],
    (NotFitted, "AssociationRules"): [
        lambda: pm.AssociationRules(0.1).plot(),
    ],
    (OptionError, "ax"): [
        lambda: _net().plot(_figure()),
        lambda: _net().plot(ax=_grid()),
    ],
    (OptionError, "variables"): [
        lambda: pm.estimate(_people(), _plan()).plot(_figure()),
    ],
    (OptionError, "minimum_support"): [lambda: _mined(5)],
    (OptionError, "min_support"): [lambda: pm.AssociationRules(min_support=0.1)],
    (OptionError, "minimum_confidence"): [
        lambda: pm.AssociationRules(0.1, 80).fit(_people(), _plan())
    ],
    (OptionError, "items"): [
        lambda: _mined(0.1, items="sex"),
    ],
    (OptionError, "present"): [lambda: _mined(0.1, present=["yes"])],
    (UnknownVariable, "Sex"): [
        lambda: pm.estimate(_people(), _plan()).plot(["Sex"]),
    ],
    (UnknownCategory, "sex"): [lambda: _mined(0.1, items={"sex": ["f"]})],
    (UnknownCategory, "items"): [lambda: _mined(0.1, present="true")],
}
