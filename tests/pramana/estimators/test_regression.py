"""`pm.Regression`: what it learns from, what it gives, and how it is kept."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

import pramana as pm
from pramana_core.errors import OptionError, TableError


def people(records=200, seed=1, noise=4.0):
    """People with what they spend: a hump over age."""
    rng = np.random.default_rng(seed)
    age = rng.uniform(20, 60, records)
    sex = np.where(rng.random(records) < 0.5, "f", "m")
    hump = 300 - 0.2 * (age - 40) ** 2 + 9 * (sex == "m")
    spends = hump + noise * rng.normal(size=records)
    return pd.DataFrame({"age": age, "sex": sex, "spends": spends})


def masked():
    """What `pm.mask` returns, as far as a regression looks at it."""
    return SimpleNamespace(frame=people(), method="gadp")


def test_coefficients_are_those_of_scikit_learn():
    table = people()
    model = pm.Regression("spends").fit(table)
    matrix = np.column_stack([table["age"], table["sex"] == "m"])
    wanted = LinearRegression().fit(matrix, table["spends"])
    np.testing.assert_allclose(model.coef_, wanted.coef_, rtol=1e-9)
    assert model.intercept_ == pytest.approx(wanted.intercept_)
    assert model.score(table) == pytest.approx(wanted.score(matrix, table["spends"]))
    assert model.score(table[["age", "sex"]], table["spends"]) == model.score(table)
    np.testing.assert_allclose(model.predict(table), wanted.predict(matrix), rtol=1e-9)
    assert list(model.feature_names_in_) == ["age", "sex"]
    assert model.n_features_in_ == 2
    frame = model.to_frame()
    assert frame["term"].tolist() == ["(intercept)", "age", "sex=m"]
    np.testing.assert_array_equal(frame["se"][1:], model.coef_error_)
    assert model.score_.r2 < model.diagnostics_["r2"][0]


def test_masked_frames_and_tables_are_distinguished():
    of_masked = pm.Regression("spends").fit(masked())
    assert of_masked.masking_ == ("gadp",)
    assert len(of_masked.diagnostics_) == 1
    plain = pm.Regression("spends").fit(people())
    assert plain.masking_ == ()
    assert "200 records without masking" in repr(plain)
    assert "masked by gadp, which no gamma bounds" in repr(of_masked)
    assert any("moments" in note for note in of_masked.notes_)
    assert not any("moments" in note for note in plain.notes_)
    np.testing.assert_array_equal(of_masked.predict(masked()), plain.predict(people()))


def test_columns_that_are_not_asked_for_are_not_read():
    table = people().assign(day=pd.Timestamp("2020-01-01"), empty=np.nan)
    model = pm.Regression("spends", ["age"]).fit(table)
    assert model.predict(table).shape == (200,)
    with pytest.raises(TableError):
        pm.Regression("spends").fit(table)


def test_a_saved_model_is_loaded_and_shown_the_same(tmp_path):
    model = pm.Regression("spends", degree=2).fit(masked())
    model.save(tmp_path / "model.json")
    again = pm.load(tmp_path / "model.json")
    assert type(again) is pm.Regression
    assert repr(again) == repr(model)
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.predict(people()), model.predict(people()))
    pd.testing.assert_frame_equal(again.to_frame(), model.to_frame())
    shown = again._repr_html_()
    assert shown == model._repr_html_()
    assert "<svg" in shown
    assert again.plot().get_figure() is not None


def test_it_has_scikit_learns_habits():
    model = pm.Regression("spends", degree=3)
    other = clone(model)
    assert other.get_params() == model.get_params()
    assert repr(model) == "Regression(target='spends', degree=3)"
    assert model.set_params(degree=2).degree == 2
    with pytest.raises(OptionError):
        model.set_params(power=2)
    assert model.__sklearn_tags__().estimator_type == "regressor"
