"""Mistakes with classifiers: their options, what they learn from, and what they predict."""

from __future__ import annotations

from functools import cache
from typing import Any

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
    PlanError: [
        (lambda: pm.DecisionTree("survived").fit(people(), people()["survived"]), "plan"),
        (cross_validated, "plan"),
        (lambda: pm.DecisionTree("survived").fit(people()), "plan"),
        (
            lambda: pm.NaiveBayes("survived").fit(people(), plan().domain),  # type: ignore[arg-type]
            "plan",
        ),
        (lambda: pm.NaiveBayes("survived").fit(pm.estimate(people(), plan()), plan()), "plan"),
    ],
    TableError: [
        (lambda: pm.NaiveBayes("survived").fit(plan(), people()), "reports"),
        (lambda: fitted().predict(people().iloc[0]), "frame"),
        (lambda: fitted().predict(people().to_numpy()), "frame"),
        (
            lambda: fitted().score(
                pm.randomize(people(), plan(), pm.Keys.for_experiments(1), record_id=people().index)
            ),
            "frame",
        ),
        (lambda: fitted().score(rest(), ["yes", "no"]), "y"),
    ],
    MissingColumn: [
        (lambda: pm.NaiveBayes("admitted").fit(pm.example("berkeley"), plan()), "frame"),
        (lambda: fitted("LinearClassifier").predict(rest().drop(columns="age")), "frame"),
        (lambda: fitted("LinearClassifier").predict(rest(age=[None, *["adult"] * 2200])), "age"),
        (lambda: fitted().predict({"fare": [7.25]}), "frame"),
        (lambda: fitted().score(rest()), "frame"),
    ],
    UnknownCategory: [
        (
            lambda: pm.NaiveBayes("survived").fit(
                people(),
                Plan.unrandomized(pm.Domain.of(survived=["0", "1"], sex=["female", "male"])),
            ),
            "survived",
        ),
        (lambda: fitted().predict(rest(age="infant")), "age"),
        (lambda: fitted().score(rest(), [0] * 2201), "survived"),
    ],
    NotFitted: [
        (lambda: pm.LinearClassifier("survived").predict(people()), "LinearClassifier"),
        (lambda: pm.LinearClassifier("survived").save("model.json"), "LinearClassifier"),
        (lambda: pm.BayesClassifier("survived").classes_, "BayesClassifier"),
    ],
    UnknownVariable: [
        (lambda: learn("NaiveBayes", "Survived"), "target"),
        (lambda: learn("BayesClassifier", "survived", ["fare"]), "features"),
    ],
    OptionError: [
        (lambda: learn("NaiveBayes", people()["survived"]), "target"),
        (lambda: learn("LinearClassifier", "survived", "sex"), "features"),
        (lambda: learn("LinearClassifier", "survived", 2), "features"),
        (lambda: learn("DecisionTree", "survived", ["sex", "survived"]), "features"),
        (lambda: learn("DecisionTree", "survived", ["sex", "age", "sex"]), "features"),
        (lambda: learn("BayesClassifier", "survived", []), "features"),
        (
            lambda: pm.DecisionTree("survived", min_samples_leaf=5),  # type: ignore[call-arg]
            "min_samples_leaf",
        ),
        (lambda: pm.NaiveBayes("survived").set_params(priors=[0.5, 0.5]), "priors"),
        (lambda: learn("DecisionTree", criterion="gini"), "criterion"),
        (lambda: learn("DecisionTree", max_depth=-1), "max_depth"),
        (lambda: learn("DecisionTree", max_depth="4"), "max_depth"),
        (lambda: learn("DecisionTree", prune="no"), "prune"),
        (lambda: learn("NaiveBayes", alpha=0), "alpha"),
        (lambda: learn("NaiveBayes", alpha="1"), "alpha"),
        (lambda: learn("NaiveBayes", "survived", people()), "features"),
        (lambda: pm.NaiveBayes("survived").fit(people(), plan("survived")), "target"),
        (lambda: learn("LinearClassifier", seed=None), "seed"),
        (lambda: learn("LinearClassifier", loss="log_loss"), "loss"),
        (lambda: learn("LinearClassifier", numeric={"class": [1, 2]}), "numeric.class"),
        (lambda: learn("LinearClassifier", numeric=[1, 2, 3, 4]), "numeric"),
        (
            lambda: fitted("LinearClassifier", loss="perceptron").predict_proba(people()),
            "predict_proba",
        ),
        (lambda: fitted("DecisionTree").to_text(max_depth=-1), "max_depth"),
        (lambda: pm.DecisionTree(), "DecisionTree"),  # type: ignore[call-arg]
        (lambda: fitted().save("/nowhere/model.json"), "path"),
    ],
    EstimationError: [
        (lambda: learn("LinearClassifier", "class"), "separates"),
    ],
    InputError: [
        (lambda: pm.NaiveBayes.from_json("model.json"), "text"),
        (lambda: pm.DecisionTree.from_json(fitted().to_json()), "text"),
        (lambda: pm.NaiveBayes.from_document(fitted().to_document() | {"version": 2}), "document"),
    ],
}
