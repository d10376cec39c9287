"""Mistakes with regressions: their options, what they learn from, and what they predict."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import pramana as pm
from pramana_core.errors import (
    EstimationError,
    InputError,
    MissingColumn,
    NotFitted,
    OptionError,
    TableError,
    UnknownCategory,
)
from tests.pramana.face.mistakes import Mistake


@cache
def people() -> Any:
    """Return 60 people with what they spend."""
    rng = np.random.default_rng(1)
    age = rng.uniform(20, 60, 60)
    sex = np.where(rng.random(60) < 0.5, "f", "m")
    return pd.DataFrame({"age": age, "sex": sex, "spends": 3 * age + rng.normal(size=60)})


def learn(*args: Any, data: Any = None, **options: Any) -> Any:
    """Learn with options that may be wrong."""
    return pm.Regression(*(args or ("spends",)), **options).fit(people() if data is None else data)


def titanic() -> Any:
    """Return randomized records."""
    table = pm.example("titanic")
    domain = pm.domain(table, pm.observed_categories(table))
    keys = pm.Keys.for_experiments(1)
    return pm.randomize(table, pm.plan(domain, p=0.1), keys, record_id=table.index)


MISTAKES = [
    Mistake(
        "a regression of categories",
        lambda: learn("sex"),
        TableError,
        ("'sex' has categories", "explains a number"),
    ),
    Mistake(
        "a regression without a target",
        lambda: learn(3),
        OptionError,
        ("target must be the name of a column", "3 (int)"),
    ),
    Mistake(
        "a target that no column has",
        lambda: learn("wealth"),
        MissingColumn,
        ("data has no column 'wealth'", "'age', 'sex', 'spends'"),
    ),
    Mistake(
        "a feature that no column has",
        lambda: learn("spends", ["age", "wealth"]),
        MissingColumn,
        ("data has no column 'wealth'",),
    ),
    Mistake(
        "a target that explains itself",
        lambda: learn("spends", ["spends", "age"]),
        OptionError,
        ("'spends' is among the features",),
    ),
    Mistake(
        "one feature's name in place of a list",
        lambda: learn("spends", "age"),
        OptionError,
        ("features must be a list of names such as ['age']",),
    ),
    Mistake(
        "a kind of regression that there is not",
        lambda: learn(model="spline"),
        OptionError,
        ("model must be one of", "kernel", "'spline'"),
    ),
    Mistake(
        "an option of scikit-learn's regression",
        lambda: pm.Regression("spends", fit_intercept=False),  # type: ignore[call-arg]
        OptionError,
        ("Regression has no option 'fit_intercept'", "degree"),
    ),
    Mistake(
        "a polynomial of a hundred degrees",
        lambda: learn(model="polynomial", degree=100),
        OptionError,
        ("degree must be at least 2 and at most 6, not 100",),
    ),
    Mistake(
        "products in a linear regression",
        lambda: learn(interactions=True),
        OptionError,
        ("interactions are of no use to the model 'linear'", "polynomial"),
    ),
    Mistake(
        "a regression fitted to X and y",
        lambda: pm.Regression("spends").fit(people()[["age"]], people()["spends"]),
        OptionError,
        ("y must be left out", "column of the data"),
    ),
    Mistake(
        "a regression of randomized reports",
        lambda: learn("age", data=titanic()),
        TableError,
        ("data must be masked or plain records, not a Reports",),
    ),
    Mistake(
        "a regression of a file's name",
        lambda: learn(data="people.csv"),
        TableError,
        ("data", "people.csv"),
    ),
    Mistake(
        "a regression with cells missing",
        lambda: learn(data=people().assign(age=[np.nan] * 3 + [40.0] * 57)),
        TableError,
        ("'age' has 3 values that are missing",),
    ),
    Mistake(
        "a regression with dates",
        lambda: learn(data=people().assign(age=pd.Timestamp("2020-01-01"))),
        TableError,
        ("'age' holds times", "days"),
    ),
    Mistake(
        "copies of different records",
        lambda: learn(data=[people(), people().head(50)]),
        TableError,
        ("Copy 2 differs from the first",),
    ),
    Mistake(
        "more coefficients than records",
        lambda: learn(data=people().head(3)),
        EstimationError,
        ("3 records are too few for 3 coefficients",),
    ),
    Mistake(
        "predictions before a regression is fitted",
        lambda: pm.Regression("spends").predict(people()),
        NotFitted,
        ("Regression has not learned anything yet", "fit"),
    ),
    Mistake(
        "predictions without a feature",
        lambda: learn().predict(people()[["age"]]),
        MissingColumn,
        ("frame has no column 'sex'",),
    ),
    Mistake(
        "predictions of a category that a regression has not seen",
        lambda: learn().predict({"age": [30.0], "sex": ["x"]}),
        UnknownCategory,
        ("'sex' has 1 values in categories", "does not know"),
    ),
    Mistake(
        "predictions of words in place of numbers",
        lambda: learn().predict({"age": ["young"], "sex": ["f"]}),
        TableError,
        ("'age' has categories", "numbers"),
    ),
    Mistake(
        "a score against too few targets",
        lambda: learn().score(people(), [1.0, 2.0]),
        TableError,
        ("y must be 60 finite numbers", "a list"),
    ),
    Mistake(
        "coefficients of a tree",
        lambda: learn(model="tree", min_leaf=10).coef_,
        OptionError,
        ("A tree model has no coefficients", "to_frame()"),
    ),
    Mistake(
        "a regression read from another file",
        lambda: pm.Regression.from_json('{"kind": "regression"}'),
        InputError,
        ("text", "saved model"),
    ),
]
