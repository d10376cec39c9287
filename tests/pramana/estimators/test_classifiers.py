"""Predictions and scores on whatever tables people hold."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from pramana_core.errors import MissingColumn, OptionError
from tests.pramana.estimators.aboard import CLASSIFIERS, fitted, people

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
