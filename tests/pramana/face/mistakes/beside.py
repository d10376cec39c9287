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
    MissingColumn: {
        "indicators in place of categories at prediction": (
            lambda: bayes().predict(pd.get_dummies(FEATURES)),
            "frame has no column … 'class' … 'sex_male'",
        ),
        "features without the target to randomize": (
            lambda: randomized(FEATURES),
            "frame has no column 'survived'",
        ),
        "one column to predict from": (
            lambda: bayes().predict(PEOPLE["survived"]),
            "frame has no column",
        ),
    },
    UnknownCategory: {
        "categories encoded as numbers": (
            lambda: pm.estimate(CODES, pm.plan(DOMAIN.project(["sex"]), p=0.1)),
            "Column 'sex' … holds 0, 1 in 2,201 of 2,201 rows … 'female', 'male'",
        )
    },
    KeyFileError: {
        "a random state in place of keys": (
            lambda: randomized(PEOPLE, np.random.default_rng(1)),
            "keys must be the owner's Keys … Generator … pm.Keys.create",
        )
    },
    TableError: {
        "a matrix of indicators to fit": (
            lambda: pm.NaiveBayes("survived").fit(pd.get_dummies(FEATURES).to_numpy(), PLAN),
            "an ndarray of shape (2201, 8) … pd.DataFrame(array",
        )
    },
    DomainError: {
        "an encoder's lists for categories": (
            lambda: pm.domain(PEOPLE, [PEOPLE[name].unique() for name in PEOPLE]),
            "categories must be a dict … a list",
        ),
        "the target's column for categories": (
            lambda: pm.domain(FEATURES, PEOPLE["survived"]),
            "categories must be a dict … Series",
        ),
    },
    OptionError: {
        "a probability in per cent": (lambda: pm.plan(DOMAIN, p=10), "p must be above 0 … 10"),
        "the records in place of their number": (
            lambda: pm.design(DOMAIN, PEOPLE, gamma=19),
            "records must be … DataFrame",
        ),
        "an estimator for what will be learned": (
            lambda: pm.design(DOMAIN, 2201, gamma=19, learn=pm.NaiveBayes("survived")),
            "learn must be … NaiveBayes",
        ),
        "a kind of model for what will be learned": (
            lambda: pm.design(DOMAIN, 2201, gamma=19, learn="naive-bayes", target="survived"),
            "learn must be … naive-bayes … classifier",
        ),
        "a grid of depths in place of one": (
            lambda: pm.DecisionTree("survived", max_depth=[2, 3]).fit(reports()),
            "max_depth must be a whole number … a list",
        ),
        "the kind of a penalty for its weight": (
            lambda: pm.LinearClassifier("survived", l2="l2").fit(reports()),
            "l2 … 'l2'",
        ),
    },
    ChannelError: {
        "a number where a channel is wanted": (
            lambda: pm.plan(DOMAIN, {"class": 0.1}, p=0.1),
            "channels['class'] … 0.1",
        )
    },
}
