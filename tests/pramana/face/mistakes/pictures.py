"""Mistakes with pictures, itemsets and rules."""

from __future__ import annotations

from functools import cache

import pandas as pd

import pramana as pm
from pramana_core.errors import (
    EmptyTable,
    MissingColumn,
    NotFitted,
    OptionError,
    PlanError,
    TableError,
    UnknownCategory,
    UnknownVariable,
)
from tests.pramana.face.mistakes import Mistake


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


def _items() -> pd.DataFrame:
    return pd.get_dummies(_people(), prefix_sep="=")


def _mined(*given: object, **options: object) -> object:
    return pm.FrequentItemsets(*given, **options).fit(_people(), _plan())


MISTAKES = [
    Mistake(
        "a picture of a tree that has learned nothing",
        lambda: pm.DecisionTree("admitted").plot(),
        NotFitted,
        ("DecisionTree", "call fit first"),
    ),
    Mistake(
        "a picture of rules that have learned nothing",
        lambda: pm.AssociationRules(0.1).plot(),
        NotFitted,
        ("AssociationRules", "call fit first"),
    ),
    Mistake(
        "the rules before fit",
        lambda: pm.AssociationRules(0.1).rules_,
        NotFitted,
        ("AssociationRules", "call fit first"),
    ),
    Mistake(
        "the itemsets before fit",
        lambda: pm.FrequentItemsets(0.1).itemsets_,
        NotFitted,
        ("FrequentItemsets", "call fit first"),
    ),
    Mistake(
        "a tree drawn to a depth in words",
        lambda: pm.DecisionTree("admitted").fit(_people(), _plan()).plot(max_depth="two"),
        OptionError,
        ("max_depth", "a whole number", "'two'"),
    ),
    Mistake(
        "a figure where axes are wanted",
        lambda: _net().plot(_figure()),
        OptionError,
        ("ax", "a Figure", "one matplotlib Axes", "plt.subplots()"),
    ),
    Mistake(
        "all axes of a grid where one is wanted",
        lambda: _net().plot(ax=_grid()),
        OptionError,
        ("ax", "shape (2, 2)", "one matplotlib Axes"),
    ),
    Mistake(
        "a file name where axes are wanted",
        lambda: _net().plot("net.png"),
        OptionError,
        ("ax", "'net.png'", "Axes"),
    ),
    Mistake(
        "a second variable where axes are wanted",
        lambda: pm.estimate(_people(), _plan()).plot("sex", "admitted"),
        OptionError,
        ("ax", "'admitted'", "Axes"),
    ),
    Mistake(
        "axes where variables are wanted",
        lambda: pm.estimate(_people(), _plan()).plot(_figure()),
        OptionError,
        ("variables", "a list of names", "a Figure"),
    ),
    Mistake(
        "a picture of a variable that there is not",
        lambda: pm.estimate(_people(), _plan()).plot(["Sex"]),
        UnknownVariable,
        ("'Sex'", "department", "admitted"),
    ),
    Mistake(
        "a minimum support in per cent",
        lambda: _mined(5),
        OptionError,
        ("minimum_support", "at most 1", "5"),
    ),
    Mistake(
        "a minimum support as text",
        lambda: _mined("0.1"),
        OptionError,
        ("minimum_support", "a finite number", "'0.1'"),
    ),
    Mistake(
        "mlxtend's name of the minimum support",
        lambda: pm.FrequentItemsets(min_support=0.1),
        OptionError,
        ("'min_support'", "minimum_support"),
    ),
    Mistake(
        "a minimum confidence in per cent",
        lambda: pm.AssociationRules(0.1, 80).fit(_people(), _plan()),
        OptionError,
        ("minimum_confidence", "at most 1", "80"),
    ),
    Mistake(
        "a name where items are wanted",
        lambda: _mined(0.1, items="sex"),
        OptionError,
        ("items", "a dict of lists", "'sex'"),
    ),
    Mistake(
        "a category where a list of them is wanted",
        lambda: _mined(0.1, items={"sex": "female"}),
        OptionError,
        ("items['sex']", "a list of categories", "'female'"),
    ),
    Mistake(
        "items of a variable that there is not",
        lambda: _mined(0.1, items={"Sex": ["female"]}),
        UnknownVariable,
        ("'Sex'", "department"),
    ),
    Mistake(
        "an item that there is not",
        lambda: _mined(0.1, items={"sex": ["f"]}),
        UnknownCategory,
        ("'sex'", "'f'", "'female'"),
    ),
    Mistake(
        "a present category that no variable has",
        lambda: _mined(0.1, present="true"),
        UnknownCategory,
        ("'true'", "department"),
    ),
    Mistake(
        "a list where the present category is wanted",
        lambda: _mined(0.1, present=["yes"]),
        OptionError,
        ("present", "a category", "a list"),
    ),
    Mistake(
        "items and a present category",
        lambda: _mined(0.1, present="yes", items={"sex": ["male"]}),
        OptionError,
        ("items", "present", "exclude each other"),
    ),
    Mistake(
        "variables of itemsets as one text",
        lambda: _mined(0.1, variables="sex"),
        OptionError,
        ("variables", "a list of names", "'sex'"),
    ),
    Mistake(
        "labels where mlxtend wants a column per item",
        lambda: pm.apriori(_people(), 0.1),
        TableError,
        ("'department'", "true and false", "get_dummies"),
    ),
    Mistake(
        "a minimum support above all for mlxtend's function",
        lambda: pm.apriori(_items(), 10),
        OptionError,
        ("min_support", "at most 1", "10"),
    ),
    Mistake(
        "lists of items where a table is wanted",
        lambda: pm.apriori([["milk", "bread"], ["bread"]], 0.1),
        TableError,
        ("df", "a pandas", "a list"),
    ),
    Mistake(
        "a table where mlxtend's function wants a plan",
        lambda: pm.apriori(_items(), 0.1, plan=_people()),
        PlanError,
        ("plan", "must be a Plan", "DataFrame"),
    ),
    Mistake(
        "reports without the columns of a variable",
        lambda: pm.apriori(_items().drop(columns="sex=male"), 0.1, plan=_plan()),
        MissingColumn,
        ("'sex'", "sex=category"),
    ),
    Mistake(
        "rules made of the table, not of its itemsets",
        lambda: pm.association_rules(_items()),
        MissingColumn,
        ("df", "'support', 'itemsets'", "apriori"),
    ),
    Mistake(
        "rules of no itemsets",
        lambda: pm.association_rules(pm.apriori(_items(), 1.0)),
        EmptyTable,
        ("df", "no rows"),
    ),
    Mistake(
        "a measure that there is not",
        lambda: pm.association_rules(pm.apriori(_items(), 0.1), metric="conf"),
        OptionError,
        ("metric", "'conf'", "confidence"),
    ),
    Mistake(
        "a least measure as text",
        lambda: pm.association_rules(pm.apriori(_items(), 0.1), min_threshold="0.5"),
        OptionError,
        ("min_threshold", "a number", "'0.5'"),
    ),
]
