"""Predictions and scores on whatever tables people hold."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest

import pramana as pm
from pramana.estimators.base import Estimator
from pramana_core.errors import MissingColumn, OptionError
from pramana_core.plan import Plan
from tests.pramana.estimators.aboard import CLASSIFIERS, clean, domain, fitted, people


@cache
def sampled() -> pm.Reports:
    """Return reports of which each tells some of the variables."""
    frame = people()
    design = pm.design(domain(), len(frame), gamma=50, learn="classifier", target="survived")
    assert design.plan.blocks[0].channel.choices
    return pm.randomize(frame, design.plan, pm.Keys.for_experiments(1), record_id=frame.index)


SUM_OUT = CLASSIFIERS[:3]


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_predictions_have_labels_and_probabilities(name: str):
    model, frame = fitted(name), people()
    shares = model.predict_proba(frame)
    assert shares.shape == (2201, 2)
    assert np.allclose(shares.sum(axis=1), 1)
    assert list(model.classes_) == ["no", "yes"]
    assert np.array_equal(model.predict(frame), model.classes_[shares.argmax(axis=1)])
    assert list(model.feature_names_in_) == ["class", "age", "sex"]
    assert model.n_features_in_ == 3


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_any_table_is_predicted_alike(name: str):
    model = fitted(name)
    frame = people().drop(columns="survived")
    expected = model.predict(frame)
    tables = (
        frame[["sex", "class", "age"]].assign(fare=7.25),
        frame.astype("category"),
        pl.from_pandas(frame.reset_index(drop=True)),
        {column: frame[column].tolist() for column in frame},
    )
    for table in tables:
        assert np.array_equal(model.predict(table), expected)
    first = frame.to_dict("records")[:5]
    assert np.array_equal(model.predict(first), expected[:5])


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_score_takes_the_column_or_y(name: str):
    model, frame = fitted(name), people()
    features, true = frame.drop(columns="survived"), frame["survived"]
    share = float(np.mean(model.predict(frame) == true))
    assert model.score(frame) == share
    assert model.score(features, true) == share
    assert model.score(features, true.to_list()) == share
    assert model.score(features, true.to_numpy()[:, None]) == share
    assert model.score(frame, np.where(true == "yes", "no", "yes")) == pytest.approx(1 - share)


@pytest.mark.parametrize("name", SUM_OUT)
def test_a_missing_column_is_an_empty_one(name: str):
    model, frame = fitted(name), people()
    left_out = model.predict_proba(frame[["class", "age"]], missing_columns="ignore")
    empty = model.predict_proba(frame.assign(sex=None))
    assert np.array_equal(left_out, empty)
    # What is not known of her sex leaves the shares of those of her class and age.
    assert not np.allclose(left_out, model.predict_proba(frame))


@pytest.mark.parametrize("name", SUM_OUT)
@pytest.mark.parametrize("ask", ["predict", "predict_proba", "score"])
def test_a_column_that_is_missing_is_named(name: str, ask: str):
    """One warning, at the caller's line, with what the column is called in the frame."""
    model, frame = fitted(name), people().rename(columns={"sex": "Sex"})
    with pytest.warns(UserWarning, match="the model uses") as told:
        found = getattr(model, ask)(frame)
    (warning,) = told
    assert "no column 'sex' (did you mean 'Sex'?)" in str(warning.message)
    assert warning.filename == __file__
    again = getattr(model, ask)(frame, missing_columns="ignore")
    assert np.array_equal(found, again)
    with pytest.raises(MissingColumn, match=r"'sex' \(did you mean 'Sex'\?\)"):
        getattr(model, ask)(frame, missing_columns="error")
    with pytest.raises(OptionError, match="missing_columns must be"):
        getattr(model, ask)(frame, missing_columns="raise")


def test_a_column_that_no_question_asks_for_is_not_missed():
    tree, frame = pm.DecisionTree("survived", max_depth=1).fit(people(), clean()), people()
    left = tree.predict(frame[["sex"]], missing_columns="error")
    assert np.array_equal(left, tree.predict(frame))


def test_a_linear_classifier_says_what_was_meant():
    frame = people().rename(columns={"age": "AGE"})
    with pytest.raises(MissingColumn, match=r"'age' \(did you mean 'AGE'\?\)"):
        fitted("LinearClassifier").predict(frame)


def test_what_is_missing_is_summed_out_by_bayes_rule():
    model, frame = fitted("NaiveBayes"), people()
    alone = pm.NaiveBayes("survived", ["class", "age"]).fit(frame, clean())
    some = frame.assign(sex=frame["sex"].where(frame["class"] != "crew"))
    expected = model.predict_proba(frame)
    crew = (frame["class"] == "crew").to_numpy()
    expected[crew] = alone.predict_proba(frame)[crew]
    assert np.allclose(model.predict_proba(some), expected, atol=1e-12)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_intervals_take_numbers(name: str):
    rng = np.random.default_rng(1)
    age = rng.integers(18, 80, 500)
    frame = pd.DataFrame({"age": age, "sex": rng.choice(["f", "m"], 500)})
    frame["income"] = np.where((age > 40) ^ (rng.random(500) < 0.1), ">50K", "<=50K")
    ages = pm.Domain.of(age=["<30", "30-45", ">=45"], sex=["f", "m"], income=["<=50K", ">50K"])
    model = getattr(pm, name)("income").fit(frame, Plan.unrandomized(ages))
    numbers = model.predict_proba({"age": [29.9, 30, 44, 45], "sex": ["f"] * 4})
    labels = model.predict_proba({"age": ["<30", "30-45", "30-45", ">=45"], "sex": ["f"] * 4})
    assert np.array_equal(numbers, labels)
    assert model.score(frame) > 0.8


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_reports_are_learned_from_about_as_well_as_the_truth(name: str):
    # Reported values are true 9 times of 10, of four columns; a model of the reports is as good.
    true, noisy = fitted(name).score(people()), fitted(name, noisy=True).score(people())
    assert noisy > true - 0.02


@pytest.mark.slow
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_reports_of_some_variables_each_are_learned_from(name: str):
    frame = people()
    reports = sampled()
    model = getattr(pm, name)("survived").fit(reports)
    assert model.estimated_by_ == "pooled"
    assert model.gamma_ == reports.gamma
    assert model.score(frame) > 0.75
    assert Estimator.from_json(model.to_json()).to_json() == model.to_json()
    if name == "LinearClassifier":
        assert "network" in " ".join(model.notes_)
        assert model.to_frame()["se_population"].isna().all()


@pytest.mark.slow
def test_three_classes():
    frame = people()
    for name in CLASSIFIERS:
        options = {"l2": 0.01} if name == "LinearClassifier" else {}
        model = getattr(pm, name)("class", **options).fit(frame, clean())
        assert set(model.predict(frame)) <= set(model.classes_)
        assert model.predict_proba(frame).shape == (2201, 4)
        assert model.score(frame) > 0.4
