"""Options of estimators, what they were learned from, and their saved form."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import pramana as pm
from pramana.estimators.base import Estimator
from pramana_core.learn.common.options import BayesClassifierOptions, LinearOptions, TreeOptions
from pramana_core.learn.learners import read_predictor
from tests.pramana.estimators.aboard import CLASSIFIERS, clean, fitted, people, reports

OPTIONS = {
    "NaiveBayes": (BayesClassifierOptions, {"model"}),
    "BayesClassifier": (BayesClassifierOptions, set()),
    "DecisionTree": (TreeOptions, set()),
    "LinearClassifier": (LinearOptions, set()),
}
"""By estimator the options that it has, and those of them that it decides itself."""


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_option_reaches_the_learner(name: str):
    other = {
        "NaiveBayes": {"alpha": 3.0},
        "BayesClassifier": {"alpha": 3.0, "model": "tan"},
        "DecisionTree": {
            "max_depth": 1, "significance": 0.01,
            "least_records": 20.0, "prune": False, "shrinkage": 0.2,
        },
        "LinearClassifier": {
            "loss": "least-squares", "l2": 0.1, "encoding": "ordinal", "basis": "cells",
            "sample": 100, "numeric": {"age": (40.0, 8.0)},
        },
    }[name]  # fmt: skip
    made = getattr(pm, name)("survived", **other).fit(people(), clean())
    perceptrons = {"steps", "keep"} if name == "LinearClassifier" else set()
    every = {field.name for field in fields(OPTIONS[name][0])}
    assert set(other) == every - OPTIONS[name][1] - perceptrons
    assert {option: getattr(made.model_.options, option) for option in other} == other


def test_options_are_read_and_set():
    tree = pm.DecisionTree("survived", max_depth=2)
    assert tree.get_params()["max_depth"] == 2
    assert tree.set_params(max_depth=3, prune=False) is tree
    assert repr(tree) == "DecisionTree(target='survived', max_depth=3, prune=False)"


def test_features_in_any_list_of_names():
    frame = people()[["sex", "age"]]
    for features in (frame.columns, frame.columns.to_numpy(), ("sex", "age")):
        model = pm.NaiveBayes("survived", features).fit(people(), clean())  # type: ignore[arg-type]
        assert list(model.feature_names_in_) == ["sex", "age"]


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_fit_says_what_it_was_learned_from(name: str):
    model = fitted(name, noisy=True)
    assert model.n_records_ == 2201
    assert model.plan_digests_ == (reports().plan.digest,)
    assert (model.gamma_, model.epsilon_) == (reports().gamma, reports().epsilon)
    assert model.estimated_by_ == "moment"
    said = repr(model)
    assert said.startswith(f"{name}(target='survived')")
    for part in ("2,201 records", "epsilon 9.888", reports().plan.digest[:12], "moment"):
        assert part in said


@pytest.mark.parametrize("noisy", [False, True], ids=["true", "reports"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_model_is_saved_and_read_without_loss(name: str, noisy: bool, tmp_path: Path):
    model = fitted(name, noisy=noisy, features=("class", "sex"))
    path = tmp_path / "model.json"
    model.save(path)
    read = Estimator.from_json(path.read_text(encoding="utf-8"))
    assert type(read) is type(model)
    assert repr(read) == repr(model).replace("('class', 'sex')", "['class', 'sex']")
    assert read.to_json() == model.to_json()
    assert np.array_equal(read.predict_proba(people()), model.predict_proba(people()))
    assert read.gamma_ == model.gamma_


def test_the_saved_form_has_a_version_and_the_shared_document():
    text = fitted("DecisionTree").to_json()
    assert ("\n" in text[:-1], ": " in text) == (False, False)  # no spaces that show the depth
    document = json.loads(text)
    assert {key: document[key] for key in ("format", "version", "kind", "estimator")} == {
        "format": "pramana-model",
        "version": 1,
        "kind": "decision-tree",
        "estimator": "DecisionTree",
    }
    worth = document["learned_from"].pop("worth")
    assert (
        worth["figures"][0]["low"]
        < fitted("DecisionTree").score(people())
        < worth["figures"][0]["high"]
    )
    assert document["learned_from"] == {
        "records": 2201,
        "plans": [clean().digest],
        "gamma": None,
        "epsilon": None,
        "estimated_by": "moment",
        "lack_of_fit": [],
        "masking": [],
        "filled_in": "",
    }
    assert read_predictor(json.dumps(document["document"])) == fitted("DecisionTree").model_


@pytest.mark.parametrize(
    "change",
    [
        {"format": "pickle"},
        {"version": 0},
        {"estimator": "Forest"},
        {"kind": "linear-classifier"},
        {"params": {"depth": 3}},
        {"params": {}},
        {"learned_from": {}},
        {"document": {}},
        {"more": 1},
    ],
)
def test_an_invalid_document_is_refused(change: dict[str, object]):
    with pytest.raises(pm.InputError):
        Estimator.from_document(fitted("DecisionTree").to_document() | change)
