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
from tests.pramana.face.mistakes import Mistake


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


MISTAKES = [
    Mistake(
        "y passed to fit as in scikit-learn",
        lambda: pm.DecisionTree("survived").fit(people(), people()["survived"]),
        PlanError,
        ("plan", "Series", "takes no y"),
    ),
    Mistake(
        "cross-validation by scikit-learn",
        cross_validated,
        PlanError,
        ("plan", "takes no y"),
    ),
    Mistake(
        "a frame without its plan",
        lambda: pm.DecisionTree("survived").fit(people()),
        PlanError,
        ("plan", "DataFrame", "unrandomized"),
    ),
    Mistake(
        "a domain for a plan",
        lambda: pm.NaiveBayes("survived").fit(people(), plan().domain),  # type: ignore[arg-type]
        PlanError,
        ("plan", "Domain", "unrandomized"),
    ),
    Mistake(
        "the plan before the reports",
        lambda: pm.NaiveBayes("survived").fit(plan(), people()),
        TableError,
        ("reports", "Plan", "second"),
    ),
    Mistake(
        "a plan beside counts that were estimated",
        lambda: pm.NaiveBayes("survived").fit(pm.estimate(people(), plan()), plan()),
        PlanError,
        ("plan", "left out", "counts"),
    ),
    Mistake(
        "a plan of other variables",
        lambda: pm.NaiveBayes("admitted").fit(pm.example("berkeley"), plan()),
        MissingColumn,
        ("reports", "'class'", "'department'"),
    ),
    Mistake(
        "a plan of other categories",
        lambda: pm.NaiveBayes("survived").fit(
            people(), Plan.unrandomized(pm.Domain.of(survived=["0", "1"], sex=["female", "male"]))
        ),
        UnknownCategory,
        ("'survived'", "'no'", "'0'", "'1'"),
    ),
    Mistake(
        "a prediction before fit",
        lambda: pm.LinearClassifier("survived").predict(people()),
        NotFitted,
        ("LinearClassifier", "fit"),
    ),
    Mistake(
        "a file of a model that learned nothing",
        lambda: pm.LinearClassifier("survived").save("model.json"),
        NotFitted,
        ("LinearClassifier", "fit"),
    ),
    Mistake(
        "the classes before fit",
        lambda: pm.BayesClassifier("survived").classes_,
        NotFitted,
        ("BayesClassifier", "fit"),
    ),
    Mistake(
        "a target that the reports do not have",
        lambda: learn("NaiveBayes", "Survived"),
        UnknownVariable,
        ("target", "'Survived'", "class, age, sex, survived"),
    ),
    Mistake(
        "a column for the target's name",
        lambda: learn("NaiveBayes", people()["survived"]),
        OptionError,
        ("target", "Series", "name of a variable"),
    ),
    Mistake(
        "features as one text",
        lambda: learn("LinearClassifier", "survived", "sex"),
        OptionError,
        ("features", "'sex'", "['sex']"),
    ),
    Mistake(
        "features as a number",
        lambda: learn("LinearClassifier", "survived", 2),
        OptionError,
        ("features", "2", "list of names"),
    ),
    Mistake(
        "the target among the features",
        lambda: learn("DecisionTree", "survived", ["sex", "survived"]),
        OptionError,
        ("features", "'survived'", "target"),
    ),
    Mistake(
        "a feature twice",
        lambda: learn("DecisionTree", "survived", ["sex", "age", "sex"]),
        OptionError,
        ("features", "each once", "'sex'"),
    ),
    Mistake(
        "no features",
        lambda: learn("BayesClassifier", "survived", []),
        OptionError,
        ("features", "one or more"),
    ),
    Mistake(
        "a feature that the reports do not have",
        lambda: learn("BayesClassifier", "survived", ["fare"]),
        UnknownVariable,
        ("features", "'fare'", "class, age, sex, survived"),
    ),
    Mistake(
        "an option of scikit-learn's trees",
        lambda: pm.DecisionTree("survived", min_samples_leaf=5),  # type: ignore[call-arg]
        OptionError,
        ("DecisionTree", "'min_samples_leaf'", "least_records"),
    ),
    Mistake(
        "an option that is set and not there",
        lambda: pm.NaiveBayes("survived").set_params(priors=[0.5, 0.5]),
        OptionError,
        ("NaiveBayes", "'priors'", "alpha"),
    ),
    Mistake(
        "a criterion of scikit-learn's",
        lambda: learn("DecisionTree", criterion="gini"),
        OptionError,
        ("criterion", "'gini'", "gain-ratio"),
    ),
    Mistake(
        "a depth below 0",
        lambda: learn("DecisionTree", max_depth=-1),
        OptionError,
        ("max_depth", "-1", "at least 0"),
    ),
    Mistake(
        "a depth as text",
        lambda: learn("DecisionTree", max_depth="4"),
        OptionError,
        ("max_depth", "whole number", "'4'"),
    ),
    Mistake(
        "text for a switch",
        lambda: learn("DecisionTree", prune="no"),
        OptionError,
        ("prune", "'no'", "True or False"),
    ),
    Mistake(
        "no smoothing",
        lambda: learn("NaiveBayes", alpha=0),
        OptionError,
        ("alpha", "above 0"),
    ),
    Mistake(
        "a number as text",
        lambda: learn("NaiveBayes", alpha="1"),
        OptionError,
        ("alpha", "finite number", "'1'"),
    ),
    Mistake(
        "features as a table",
        lambda: learn("NaiveBayes", "survived", people()),
        OptionError,
        ("features", "DataFrame", "list of names"),
    ),
    Mistake(
        "reports of the target alone",
        lambda: pm.NaiveBayes("survived").fit(people(), plan("survived")),
        OptionError,
        ("target", "'survived'", "others"),
    ),
    Mistake(
        "a prediction of one row",
        lambda: fitted().predict(people().iloc[0]),
        TableError,
        ("frame", "one row", "iloc[[0]]"),
    ),
    Mistake(
        "a seed that is none",
        lambda: learn("LinearClassifier", seed=None),
        OptionError,
        ("seed", "None", "whole number"),
    ),
    Mistake(
        "a loss by another name",
        lambda: learn("LinearClassifier", loss="log_loss"),
        OptionError,
        ("loss", "'log_loss'", "logistic"),
    ),
    Mistake(
        "numbers for too few categories",
        lambda: learn("LinearClassifier", numeric={"class": [1, 2]}),
        OptionError,
        ("'class'", "4"),
    ),
    Mistake(
        "numbers of no variable",
        lambda: learn("LinearClassifier", numeric=[1, 2, 3, 4]),
        OptionError,
        ("numeric", "list", "variable"),
    ),
    Mistake(
        "classes that a plane parts",
        lambda: learn("LinearClassifier", "class"),
        EstimationError,
        ("separates", "l2"),
    ),
    Mistake(
        "a linear prediction without a feature",
        lambda: fitted("LinearClassifier").predict(rest().drop(columns="age")),
        MissingColumn,
        ("frame", "'age'", "NaiveBayes"),
    ),
    Mistake(
        "a linear prediction with empty cells",
        lambda: fitted("LinearClassifier").predict(rest(age=[None, *["adult"] * 2200])),
        MissingColumn,
        ("frame", "'age'", "1 of 2201", "NaiveBayes"),
    ),
    Mistake(
        "a prediction of a category that was not there",
        lambda: fitted().predict(rest(age="infant")),
        UnknownCategory,
        ("'age'", "'infant'", "'child'"),
    ),
    Mistake(
        "a prediction of an array",
        lambda: fitted().predict(people().to_numpy()),
        TableError,
        ("frame", "ndarray"),
    ),
    Mistake(
        "a prediction without any feature",
        lambda: fitted().predict({"fare": [7.25]}),
        MissingColumn,
        ("frame", "'sex'", "'fare'"),
    ),
    Mistake(
        "a score on reports",
        lambda: fitted().score(
            pm.randomize(people(), plan(), pm.Keys.for_experiments(1), record_id=people().index)
        ),
        TableError,
        ("frame", "Reports", "to_frame"),
    ),
    Mistake(
        "a score without true classes",
        lambda: fitted().score(rest()),
        MissingColumn,
        ("frame", "'survived'", "y"),
    ),
    Mistake(
        "a score with too few true classes",
        lambda: fitted().score(rest(), ["yes", "no"]),
        TableError,
        ("y", "2201", "2"),
    ),
    Mistake(
        "a score with classes as numbers",
        lambda: fitted().score(rest(), [0] * 2201),
        UnknownCategory,
        ("y", "0", "'yes'"),
    ),
    Mistake(
        "probabilities of a perceptron",
        lambda: fitted("LinearClassifier", loss="perceptron").predict_proba(people()),
        OptionError,
        ("predict_proba", "perceptron", "logistic"),
    ),
    Mistake(
        "a perceptron as scikit-learn's logistic regression",
        lambda: fitted("LinearClassifier", loss="perceptron").to_sklearn(),
        OptionError,
        ("to_sklearn", "'perceptron'", "'logistic'"),
    ),
    Mistake(
        "numbers as scikit-learn's indicators",
        lambda: fitted("LinearClassifier", encoding="ordinal").to_sklearn(),
        OptionError,
        ("to_sklearn", "'class'", "indicator"),
    ),
    Mistake(
        "the rules of a tree to a depth below 0",
        lambda: fitted("DecisionTree").to_text(max_depth=-1),
        OptionError,
        ("max_depth", "at least 0", "-1"),
    ),
    Mistake(
        "a model read from text that is none",
        lambda: pm.NaiveBayes.from_json("model.json"),
        InputError,
        ("text", "JSON"),
    ),
    Mistake(
        "a model read as another",
        lambda: pm.DecisionTree.from_json(fitted().to_json()),
        InputError,
        ("NaiveBayes", "DecisionTree"),
    ),
    Mistake(
        "a model read that a later release wrote",
        lambda: pm.NaiveBayes.from_document(fitted().to_document() | {"version": 2}),
        InputError,
        ("version 2", "version 1"),
    ),
    Mistake(
        "a tree of nothing",
        lambda: pm.DecisionTree(),  # type: ignore[call-arg]
        OptionError,
        ("DecisionTree", "missing", "'target'", "max_depth"),
    ),
    Mistake(
        "a model saved to a folder that is not there",
        lambda: fitted().save("/nowhere/model.json"),
        OptionError,
        ("path", "/nowhere/model.json"),
    ),
]
