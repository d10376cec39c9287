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
    PlanError: {
        "y passed to fit as in scikit-learn": (
            lambda: pm.DecisionTree("survived").fit(people(), people()["survived"]),
            "plan … Series … takes no y",
        ),
        "cross-validation by scikit-learn": (cross_validated, "plan … takes no y"),
        "a frame without its plan": (
            lambda: pm.DecisionTree("survived").fit(people()),
            "plan … DataFrame … unrandomized",
        ),
        "a domain for a plan": (
            lambda: pm.NaiveBayes("survived").fit(people(), plan().domain),  # type: ignore[arg-type]
            "plan … Domain … unrandomized",
        ),
        "a plan beside counts that were estimated": (
            lambda: pm.NaiveBayes("survived").fit(pm.estimate(people(), plan()), plan()),
            "plan … left out … counts",
        ),
    },
    TableError: {
        "the plan before the reports": (
            lambda: pm.NaiveBayes("survived").fit(plan(), people()),
            "reports … Plan … second",
        ),
        "a prediction of one row": (
            lambda: fitted().predict(people().iloc[0]),
            "frame … one row … iloc[[0]]",
        ),
        "a prediction of an array": (
            lambda: fitted().predict(people().to_numpy()),
            "frame … ndarray",
        ),
        "a score on reports": (
            lambda: fitted().score(
                pm.randomize(people(), plan(), pm.Keys.for_experiments(1), record_id=people().index)
            ),
            "frame … Reports … to_frame",
        ),
        "a score with too few true classes": (
            lambda: fitted().score(rest(), ["yes", "no"]),
            "y … 2201 … 2",
        ),
    },
    MissingColumn: {
        "a plan of other variables": (
            lambda: pm.NaiveBayes("admitted").fit(pm.example("berkeley"), plan()),
            "reports … 'class' … 'department'",
        ),
        "a linear prediction without a feature": (
            lambda: fitted("LinearClassifier").predict(rest().drop(columns="age")),
            "frame … 'age' … NaiveBayes",
        ),
        "a linear prediction with empty cells": (
            lambda: fitted("LinearClassifier").predict(rest(age=[None, *["adult"] * 2200])),
            "frame … 'age' … 1 of 2201 … NaiveBayes",
        ),
        "a prediction without any feature": (
            lambda: fitted().predict({"fare": [7.25]}),
            "frame … 'sex' … 'fare'",
        ),
        "a score without true classes": (lambda: fitted().score(rest()), "frame … 'survived' … y"),
    },
    UnknownCategory: {
        "a plan of other categories": (
            lambda: pm.NaiveBayes("survived").fit(
                people(),
                Plan.unrandomized(pm.Domain.of(survived=["0", "1"], sex=["female", "male"])),
            ),
            "'survived' … 'no' … '0' … '1'",
        ),
        "a prediction of a category that was not there": (
            lambda: fitted().predict(rest(age="infant")),
            "'age' … 'infant' … 'child'",
        ),
        "a score with classes as numbers": (
            lambda: fitted().score(rest(), [0] * 2201),
            "y … 0 … 'yes'",
        ),
    },
    NotFitted: {
        "a prediction before fit": (
            lambda: pm.LinearClassifier("survived").predict(people()),
            "LinearClassifier … fit",
        ),
        "a file of a model that learned nothing": (
            lambda: pm.LinearClassifier("survived").save("model.json"),
            "LinearClassifier … fit",
        ),
        "the classes before fit": (
            lambda: pm.BayesClassifier("survived").classes_,
            "BayesClassifier … fit",
        ),
    },
    UnknownVariable: {
        "a target that the reports do not have": (
            lambda: learn("NaiveBayes", "Survived"),
            "target … 'Survived' … class, age, sex, survived",
        ),
        "a feature that the reports do not have": (
            lambda: learn("BayesClassifier", "survived", ["fare"]),
            "features … 'fare' … class, age, sex, survived",
        ),
    },
    OptionError: {
        "a column for the target's name": (
            lambda: learn("NaiveBayes", people()["survived"]),
            "target … Series … name of a variable",
        ),
        "features as one text": (
            lambda: learn("LinearClassifier", "survived", "sex"),
            "features … 'sex' … ['sex']",
        ),
        "features as a number": (
            lambda: learn("LinearClassifier", "survived", 2),
            "features … 2 … list of names",
        ),
        "the target among the features": (
            lambda: learn("DecisionTree", "survived", ["sex", "survived"]),
            "features … 'survived' … target",
        ),
        "a feature twice": (
            lambda: learn("DecisionTree", "survived", ["sex", "age", "sex"]),
            "features … each once … 'sex'",
        ),
        "no features": (lambda: learn("BayesClassifier", "survived", []), "features … one or more"),
        "an option of scikit-learn's trees": (
            lambda: pm.DecisionTree("survived", min_samples_leaf=5),  # type: ignore[call-arg]
            "DecisionTree … 'min_samples_leaf' … least_records",
        ),
        "an option that is set and not there": (
            lambda: pm.NaiveBayes("survived").set_params(priors=[0.5, 0.5]),
            "NaiveBayes … 'priors' … alpha",
        ),
        "a depth below 0": (
            lambda: learn("DecisionTree", max_depth=-1),
            "max_depth … -1 … at least 0",
        ),
        "a depth as text": (
            lambda: learn("DecisionTree", max_depth="4"),
            "max_depth … whole number … '4'",
        ),
        "text for a switch": (
            lambda: learn("DecisionTree", prune="no"),
            "prune … 'no' … True or False",
        ),
        "no smoothing": (lambda: learn("NaiveBayes", alpha=0), "alpha … above 0"),
        "a number as text": (lambda: learn("NaiveBayes", alpha="1"), "alpha … finite number … '1'"),
        "features as a table": (
            lambda: learn("NaiveBayes", "survived", people()),
            "features … DataFrame … list of names",
        ),
        "reports of the target alone": (
            lambda: pm.NaiveBayes("survived").fit(people(), plan("survived")),
            "target … 'survived' … others",
        ),
        "a seed that is none": (
            lambda: learn("LinearClassifier", seed=None),
            "seed … None … whole number",
        ),
        "a loss by another name": (
            lambda: learn("LinearClassifier", loss="log_loss"),
            "loss … 'log_loss' … logistic",
        ),
        "numbers for too few categories": (
            lambda: learn("LinearClassifier", numeric={"class": [1, 2]}),
            "'class' … 4",
        ),
        "numbers of no variable": (
            lambda: learn("LinearClassifier", numeric=[1, 2, 3, 4]),
            "numeric … list … variable",
        ),
        "probabilities of a perceptron": (
            lambda: fitted("LinearClassifier", loss="perceptron").predict_proba(people()),
            "predict_proba … perceptron … logistic",
        ),
        "the rules of a tree to a depth below 0": (
            lambda: fitted("DecisionTree").to_text(max_depth=-1),
            "max_depth … at least 0 … -1",
        ),
        "a tree of nothing": (
            lambda: pm.DecisionTree(),  # type: ignore[call-arg]
            "DecisionTree … missing … 'target' … max_depth",
        ),
        "a model saved to a folder that is not there": (
            lambda: fitted().save("/nowhere/model.json"),
            "path … /nowhere/model.json",
        ),
    },
    EstimationError: {
        "classes that a plane parts": (lambda: learn("LinearClassifier", "class"), "separates … l2")
    },
    InputError: {
        "a model read from text that is none": (
            lambda: pm.NaiveBayes.from_json("model.json"),
            "text … JSON",
        ),
        "a model read as another": (
            lambda: pm.DecisionTree.from_json(fitted().to_json()),
            "NaiveBayes … DecisionTree",
        ),
        "a model read that a later release wrote": (
            lambda: pm.NaiveBayes.from_document(fitted().to_document() | {"version": 2}),
            "version 2 … version 1",
        ),
    },
}
