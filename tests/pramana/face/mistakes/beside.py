"""What a user of scikit-learn, mlxtend or pgmpy writes out of habit."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import pramana as pm
from pramana_core.errors import (
    ChannelError,
    DomainError,
    KeyFileError,
    MissingColumn,
    OptionError,
    TableError,
    UnknownCategory,
)
from tests.pramana.face.mistakes import Mistakes

PEOPLE = pm.example("titanic")
DOMAIN = pm.domain(PEOPLE, pm.observed_categories(PEOPLE))
PLAN = pm.plan(DOMAIN, p=0.1)
KEYS = pm.Keys.for_experiments(1)
FEATURES = PEOPLE.drop(columns="survived")
CODES = PEOPLE.apply(lambda column: pd.Series(pd.factorize(column)[0], column.index))


@cache
def reports() -> pm.Reports:
    return pm.randomize(PEOPLE, PLAN, KEYS, record_id="person")


@cache
def bayes() -> pm.NaiveBayes:
    return pm.NaiveBayes("survived").fit(reports())


def randomized(frame: Any, keys: Any = KEYS) -> pm.Reports:
    return pm.randomize(frame, PLAN, keys, record_id="person")


MISTAKES: Mistakes = {
    (MissingColumn, "frame"): [
        lambda: bayes().predict(pd.get_dummies(FEATURES)),
        lambda: randomized(FEATURES),
        lambda: bayes().predict(PEOPLE["survived"]),
    ],
    (UnknownCategory, "sex"): [lambda: pm.estimate(CODES, pm.plan(DOMAIN.project(["sex"]), p=0.1))],
    (KeyFileError, "keys"): [lambda: randomized(PEOPLE, np.random.default_rng(1))],
    (TableError, "frame"): [
        lambda: pm.NaiveBayes("survived").fit(pd.get_dummies(FEATURES).to_numpy(), PLAN)
    ],
    (DomainError, "categories"): [
        lambda: pm.domain(PEOPLE, [PEOPLE[name].unique() for name in PEOPLE]),
        lambda: pm.domain(FEATURES, PEOPLE["survived"]),
    ],
    (OptionError, "p"): [lambda: pm.plan(DOMAIN, p=10)],
    (OptionError, "records"): [lambda: pm.design(DOMAIN, PEOPLE, gamma=19)],
    (OptionError, "learn"): [
        lambda: pm.design(DOMAIN, 2201, gamma=19, learn=pm.NaiveBayes("survived")),
        lambda: pm.design(DOMAIN, 2201, gamma=19, learn="naive-bayes", target="survived"),
    ],
    (OptionError, "max_depth"): [
        lambda: pm.DecisionTree("survived", max_depth=[2, 3]).fit(reports())
    ],
    (OptionError, "l2"): [lambda: pm.LinearClassifier("survived", l2="l2").fit(reports())],
    (ChannelError, None): [lambda: pm.plan(DOMAIN, {"class": 0.1}, p=0.1)],
}
