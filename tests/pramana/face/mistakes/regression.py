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
from tests.pramana.face.mistakes import Mistakes


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


MISTAKES: Mistakes = {
    TableError: {
        "a regression of categories": (
            lambda: learn("sex"),
            "'sex' has categories … explains a number",
        ),
        "a regression of randomized reports": (
            lambda: learn("age", data=titanic()),
            "data must be masked or plain records, not a Reports",
        ),
        "a regression of a file's name": (lambda: learn(data="people.csv"), "data … people.csv"),
        "a regression with cells missing": (
            lambda: learn(data=people().assign(age=[np.nan] * 3 + [40.0] * 57)),
            "'age' has 3 values that are missing",
        ),
        "a regression with dates": (
            lambda: learn(data=people().assign(age=pd.Timestamp("2020-01-01"))),
            "'age' holds times … days",
        ),
        "copies of different records": (
            lambda: learn(data=[people(), people().head(50)]),
            "Copy 2 differs from the first",
        ),
        "predictions of words in place of numbers": (
            lambda: learn().predict({"age": ["young"], "sex": ["f"]}),
            "'age' has categories … numbers",
        ),
        "a score against too few targets": (
            lambda: learn().score(people(), [1.0, 2.0]),
            "y must be 60 finite numbers … a list",
        ),
    },
    OptionError: {
        "a regression without a target": (
            lambda: learn(3),
            "target must be the name of a column … 3 (int)",
        ),
        "a target that explains itself": (
            lambda: learn("spends", ["spends", "age"]),
            "'spends' is among the features",
        ),
        "one feature's name in place of a list": (
            lambda: learn("spends", "age"),
            "features must be a list of names such as ['age']",
        ),
        "a kind of regression that there is not": (
            lambda: learn(model="spline"),
            "model must be one of … kernel … 'spline'",
        ),
        "an option of scikit-learn's regression": (
            lambda: pm.Regression("spends", fit_intercept=False),  # type: ignore[call-arg]
            "Regression has no option 'fit_intercept' … degree",
        ),
        "a polynomial of a hundred degrees": (
            lambda: learn(model="polynomial", degree=100),
            "degree must be at least 2 and at most 6, not 100",
        ),
        "a regression fitted to X and y": (
            lambda: pm.Regression("spends").fit(people()[["age"]], people()["spends"]),
            "y must be left out … column of the data",
        ),
        "coefficients of a tree": (
            lambda: learn(model="tree", min_leaf=10).coef_,
            "A tree model has no coefficients … to_frame()",
        ),
    },
    MissingColumn: {
        "a target that no column has": (
            lambda: learn("wealth"),
            "data has no column 'wealth' … 'age', 'sex', 'spends'",
        ),
        "a feature that no column has": (
            lambda: learn("spends", ["age", "wealth"]),
            "data has no column 'wealth'",
        ),
        "predictions without a feature": (
            lambda: learn().predict(people()[["age"]]),
            "frame has no column 'sex'",
        ),
    },
    EstimationError: {
        "more coefficients than records": (
            lambda: learn(data=people().head(3)),
            "3 records are too few for 3 coefficients",
        )
    },
    NotFitted: {
        "predictions before a regression is fitted": (
            lambda: pm.Regression("spends").predict(people()),
            "Regression has not learned anything yet … fit",
        )
    },
    UnknownCategory: {
        "predictions of a category that a regression has not seen": (
            lambda: learn().predict({"age": [30.0], "sex": ["x"]}),
            "'sex' has 1 values in categories … does not know",
        )
    },
    InputError: {
        "a regression read from another file": (
            lambda: pm.Regression.from_json('{"kind": "regression"}'),
            "text … saved model",
        )
    },
}
