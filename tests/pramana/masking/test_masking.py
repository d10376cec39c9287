"""pm.mask: what leaves, in which order, and that nothing true goes with it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import pramana as pm
from pramana_core.errors import OptionError

X = ["expenditure", "debt"]


@pytest.fixture(scope="module")
def store() -> pd.DataFrame:
    return pm.example("store")


@pytest.fixture(scope="module")
def masked(store: pd.DataFrame) -> pm.MaskedFrame:
    return pm.mask(store, X, "egadp", 1)


def test_moments_are_those_of_the_true_records(store, masked):
    pd.testing.assert_frame_equal(masked.frame.cov(), store.cov(), rtol=1e-9)
    pd.testing.assert_series_equal(masked.frame.mean(), store.mean(), rtol=1e-9)


def test_rows_come_in_random_order_without_the_index(store, masked):
    """A table sorted by a confidential column would tell it by its order."""
    ordered = store.sort_values("debt")
    found = pm.mask(ordered, X, "egadp", 1).frame
    assert found.index.equals(pd.RangeIndex(len(store)))
    assert abs(np.corrcoef(np.arange(len(found)), found["debt"])[0, 1]) < 0.2
    assert sorted(found["age"]) == sorted(store["age"])
    kept = pm.mask(ordered, X, "egadp", 1, keep_order=True).frame
    assert kept.index.equals(ordered.index)
    assert kept["age"].equals(ordered["age"])


def test_a_seed_repeats_and_none_does_not(store):
    first, again = (pm.mask(store, X, "shuffle", 7).frame for _ in range(2))
    assert first.equals(again)
    one, other = (pm.mask(store, X, "shuffle").frame for _ in range(2))
    assert not one.equals(other)


def test_columns_neither_told_nor_masked_stay(store):
    found = pm.mask(store, ["debt"], "egadp", 1, tell=["age"])
    assert list(found.frame) == ["age", "debt"]
    assert found.tell == ("age",)
    assert any("expenditure" in words for words in found.warnings)


@pytest.mark.slow
def test_auto_takes_what_is_recommended(store):
    found = pm.mask(store, X, rng=1)
    assert found.method == found.recommendation.method == "nmegadp"
    assert found.recommendation.kind == "non-monotonic"


@pytest.mark.slow
def test_measures_are_a_frame_and_the_same_every_time(store):
    found = pm.mask(store.head(200), X, "egadp", 1)
    table = found.measures()
    assert list(table) == ["group", "measure", "about", "value", "standard_error", "sentence"]
    assert set(table["group"]) == {"utility", "security"}
    kept = pm.mask(store.head(200), X, "egadp", 1, keep_order=True)
    pd.testing.assert_frame_equal(kept.measures(), table)


@pytest.mark.slow
def test_each_records_part_in_its_own_value_is_told_to_its_owner(store):
    found = pm.mask(store.head(300), X, "nmegadp", 1)
    table = found.exposure()
    assert list(table) == ["column", "own_weight", "noise", "told", "named"]
    assert sorted(table.index) == sorted(store.index[:300])
    assert table["told"].is_monotonic_decreasing
    assert table["noise"].min() > 0.5
    assert not table["named"].any()
    measures = found.measures().set_index("measure")
    assert measures.loc["told-largest", "value"] == pytest.approx(table["told"].iloc[0])
    assert "leverage-largest-kernel" not in measures.index


def test_lone_records_are_named_and_the_gravest_warning_is_first(store):
    lone = store.head(200).assign(wealth=np.r_[np.zeros(199), 30.0] + np.arange(200) % 5)
    found = pm.mask(lone, X, "egadp", 1, max_leverage=1.0, tell=["age", "wealth"])
    assert found.warnings[0].startswith("1 record stands nearly alone in S")
    assert found.exposure()["named"].sum() == 1
    assert found.exposure().index[0] == lone.index[199]
    assert "grave" in repr(found)
    assert "not released" in found.warnings[-1]


def test_values_below_zero_are_warned_of(store):
    gains = np.random.default_rng(1).exponential(size=len(store))
    people = store.assign(gain=np.where(gains > 2, gains, 0.0))
    plain = pm.mask(people, ["gain"], "egadp", 1)
    (said,) = (words for words in plain.warnings if "are below 0" in words)
    assert said.startswith(f"{(plain.frame['gain'] < 0).sum():,} masked values of 'gain'")


@pytest.mark.parametrize("method", ["sadp", "cadp"])
def test_methods_that_predict_nothing_have_no_exposure(store, method):
    with pytest.raises(OptionError):
        pm.mask(store.head(100), X, method, 1).exposure()
