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
    NotFitted: {
        "a picture of a tree that has learned nothing": (
            lambda: pm.DecisionTree("admitted").plot(),
            "DecisionTree … call fit first",
        ),
        "a picture of rules that have learned nothing": (
            lambda: pm.AssociationRules(0.1).plot(),
            "AssociationRules … call fit first",
        ),
        "the rules before fit": (
            lambda: pm.AssociationRules(0.1).rules_,
            "AssociationRules … call fit first",
        ),
        "the itemsets before fit": (
            lambda: pm.FrequentItemsets(0.1).itemsets_,
            "FrequentItemsets … call fit first",
        ),
    },
    OptionError: {
        "a tree drawn to a depth in words": (
            lambda: pm.DecisionTree("admitted").fit(_people(), _plan()).plot(max_depth="two"),
            "max_depth … a whole number … 'two'",
        ),
        "a figure where axes are wanted": (
            lambda: _net().plot(_figure()),
            "ax … a Figure … one matplotlib Axes … plt.subplots()",
        ),
        "all axes of a grid where one is wanted": (
            lambda: _net().plot(ax=_grid()),
            "ax … shape (2, 2) … one matplotlib Axes",
        ),
        "a file name where axes are wanted": (
            lambda: _net().plot("net.png"),
            "ax … 'net.png' … Axes",
        ),
        "a second variable where axes are wanted": (
            lambda: pm.estimate(_people(), _plan()).plot("sex", "admitted"),
            "ax … 'admitted' … Axes",
        ),
        "axes where variables are wanted": (
            lambda: pm.estimate(_people(), _plan()).plot(_figure()),
            "variables … a list of names … a Figure",
        ),
        "a minimum support in per cent": (lambda: _mined(5), "minimum_support … at most 1 … 5"),
        "a minimum support as text": (
            lambda: _mined("0.1"),
            "minimum_support … a finite number … '0.1'",
        ),
        "mlxtend's name of the minimum support": (
            lambda: pm.FrequentItemsets(min_support=0.1),
            "'min_support' … minimum_support",
        ),
        "a minimum confidence in per cent": (
            lambda: pm.AssociationRules(0.1, 80).fit(_people(), _plan()),
            "minimum_confidence … at most 1 … 80",
        ),
        "a name where items are wanted": (
            lambda: _mined(0.1, items="sex"),
            "items … a dict of lists … 'sex'",
        ),
        "a category where a list of them is wanted": (
            lambda: _mined(0.1, items={"sex": "female"}),
            "items['sex'] … a list of categories … 'female'",
        ),
        "a list where the present category is wanted": (
            lambda: _mined(0.1, present=["yes"]),
            "present … a category … a list",
        ),
        "items and a present category": (
            lambda: _mined(0.1, present="yes", items={"sex": ["male"]}),
            "items … present … exclude each other",
        ),
        "variables of itemsets as one text": (
            lambda: _mined(0.1, variables="sex"),
            "variables … a list of names … 'sex'",
        ),
    },
    UnknownVariable: {
        "a picture of a variable that there is not": (
            lambda: pm.estimate(_people(), _plan()).plot(["Sex"]),
            "'Sex' … department … admitted",
        ),
        "items of a variable that there is not": (
            lambda: _mined(0.1, items={"Sex": ["female"]}),
            "'Sex' … department",
        ),
    },
    UnknownCategory: {
        "an item that there is not": (
            lambda: _mined(0.1, items={"sex": ["f"]}),
            "'sex' … 'f' … 'female'",
        ),
        "a present category that no variable has": (
            lambda: _mined(0.1, present="true"),
            "'true' … department",
        ),
    },
}
