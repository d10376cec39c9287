"""Mistakes with classifiers: their options, what they learn from, and what they predict."""

from __future__ import annotations

from functools import cache
from typing import Any

import pandas as pd

import pramana as pm
from pramana_core.errors import (
    EstimationError,
    InputError,
    MissingColumn,
    NotFitted,
    OptionError,
    PlanError,
    TableError,
    UnknownCategory,
    UnknownVariable,
)
from pramana_core.plan import Plan
from tests.pramana.face.mistakes import Mistakes


def people() -> Any:
    """Return the people aboard the Titanic."""
    return pm.example("titanic")


@cache
def plan(*names: str) -> Plan:
    """Return the plan that leaves these variables, or all, as they are."""
    frame = people()
    return Plan.unrandomized(
        pm.Domain.of(**{n: sorted(frame[n].unique()) for n in names or frame.columns})
    )


def fitted(kind: str = "NaiveBayes", **options: Any) -> Any:
    """Return a classifier of who survived."""
    return getattr(pm, kind)("survived", **options).fit(people(), plan())


def learn(kind: str = "DecisionTree", target: Any = "survived", *args: Any, **options: Any) -> Any:
    """Learn a classifier with options that may be wrong."""
    return getattr(pm, kind)(target, *args, **options).fit(people(), plan())


def rest(**columns: object) -> Any:
    """Return the people with columns put in place of others."""
    return people().drop(columns="survived").assign(**columns)


def cross_validated() -> object:
    """Pass a classifier to what fits features and y."""
    from sklearn.model_selection import cross_val_predict

    return cross_val_predict(pm.NaiveBayes("survived"), rest(), people()["survived"])


MISTAKES: Mistakes = {
    (PlanError, "plan"): [
        lambda: pm.DecisionTree("survived").fit(people(), people()["survived"]),
        cross_validated,
    ],
    (TableError, "reports"): [lambda: pm.NaiveBayes("survived").fit(plan(), people())],
    (TableError, "frame"): [
        lambda: pm.NaiveBayes("survived").fit(pd.get_dummies(people()).to_numpy(), plan()),
    ],
    (TableError, "y"): [lambda: fitted().score(rest(), ["yes", "no"])],
    (MissingColumn, "frame"): [
        lambda: fitted().predict(pd.get_dummies(rest())),
        lambda: fitted().predict(people()["survived"]),
    ],
    (MissingColumn, "age"): [
        lambda: fitted("LinearClassifier").predict(rest(age=[None, *["adult"] * 2200]))
    ],
    (UnknownCategory, "survived"): [
        lambda: pm.NaiveBayes("survived").fit(
            people(),
            Plan.unrandomized(pm.Domain.of(survived=["0", "1"], sex=["female", "male"])),
        ),
    ],
    (UnknownCategory, "age"): [lambda: fitted().predict(rest(age="infant"))],
    (NotFitted, "LinearClassifier"): [lambda: pm.LinearClassifier("survived").predict(people())],
    (NotFitted, "BayesClassifier"): [lambda: pm.BayesClassifier("survived").classes_],
    (UnknownVariable, "target"): [lambda: learn("NaiveBayes", "Survived")],
    (UnknownVariable, "features"): [lambda: learn("BayesClassifier", "survived", ["fare"])],
    (OptionError, "target"): [lambda: learn("NaiveBayes", people()["survived"])],
    (OptionError, "features"): [
        lambda: learn("LinearClassifier", "survived", 2),
        lambda: learn("DecisionTree", "survived", ["sex", "survived"]),
    ],
    (OptionError, "min_samples_leaf"): [lambda: pm.DecisionTree("survived", min_samples_leaf=5)],
    (OptionError, "priors"): [lambda: pm.NaiveBayes("survived").set_params(priors=[0.5, 0.5])],
    (OptionError, "max_depth"): [lambda: learn("DecisionTree", max_depth=-1)],
    (OptionError, "prune"): [lambda: learn("DecisionTree", prune="no")],
    (OptionError, "alpha"): [lambda: learn("NaiveBayes", alpha=0)],
    (OptionError, "seed"): [lambda: learn("LinearClassifier", seed=None)],
    (OptionError, "loss"): [lambda: learn("LinearClassifier", loss="log_loss")],
    (OptionError, "numeric.class"): [lambda: learn("LinearClassifier", numeric={"class": [1, 2]})],
    (OptionError, "numeric"): [lambda: learn("LinearClassifier", numeric=[1, 2, 3, 4])],
    (OptionError, "predict_proba"): [
        lambda: fitted("LinearClassifier", loss="perceptron").predict_proba(people())
    ],
    (OptionError, "DecisionTree"): [lambda: pm.DecisionTree()],
    (OptionError, "path"): [lambda: fitted().save("/nowhere/model.json")],
    (EstimationError, None): [lambda: learn("LinearClassifier", "class")],
    (InputError, "text"): [lambda: pm.NaiveBayes.from_json("model.json")],
    (InputError, "document"): [
        lambda: pm.NaiveBayes.from_document(fitted().to_document() | {"version": 2})
    ],
}
