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
    (TableError, "sex"): [lambda: learn("sex")],
    (TableError, "data"): [lambda: learn("age", data=titanic())],
    (TableError, "age"): [
        lambda: learn(data=people().assign(age=[np.nan] * 3 + [40.0] * 57)),
    ],
    (TableError, None): [lambda: learn(data=[people(), people().head(50)])],
    (TableError, "y"): [lambda: learn().score(people(), [1.0, 2.0])],
    (OptionError, "target"): [lambda: learn(3)],
    (OptionError, "features"): [
        lambda: learn("spends", ["spends", "age"]),
    ],
    (OptionError, "fit_intercept"): [lambda: pm.Regression("spends", fit_intercept=False)],
    (OptionError, "degree"): [lambda: learn(degree=100)],
    (OptionError, "y"): [
        lambda: pm.Regression("spends").fit(people()[["age"]], people()["spends"])
    ],
    (MissingColumn, "wealth"): [
        lambda: learn("wealth"),
    ],
    (MissingColumn, "sex"): [lambda: learn().predict(people()[["age"]])],
    (EstimationError, "features"): [lambda: learn(data=people().head(3))],
    (NotFitted, "Regression"): [lambda: pm.Regression("spends").predict(people())],
    (UnknownCategory, "sex"): [lambda: learn().predict({"age": [30.0], "sex": ["x"]})],
    (InputError, "text"): [lambda: pm.Regression.from_json('{"kind": "regression"}')],
}
