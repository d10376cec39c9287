"""All methods on one humped table, and what their rows say."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from pramana_core.errors import MaskingError, OptionError, TableError
from pramana_core.mask import METHODS
from pramana_core.mask.comparison import compare
from pramana_core.mask.comparison.summary import COLUMNS


def table(seed=1, n=300):
    rng = np.random.default_rng(seed)
    s = rng.uniform(-2, 2, n)
    x1 = 2 * (2 - s**2) + rng.standard_normal(n)
    told = pd.DataFrame({"age": s, "sex": rng.choice(["f", "m"], n)})
    return told, pd.DataFrame({"income": x1, "debt": -x1 + rng.standard_normal(n)})


@pytest.fixture(scope="module")
def all_methods():
    steps = []
    found = compare(*table(), np.random.default_rng(2), on_step=lambda *step: steps.append(step))
    return found, steps


@pytest.mark.slow
def test_every_method_has_a_row_and_a_frame_of_numbers(all_methods):
    found, steps = all_methods
    assert [row.method.name for row in found.rows] == list(METHODS)
    assert all(row.failure is None for row in found.rows)
    assert steps == [(k + 1, len(METHODS)) for k in range(len(METHODS))]
    frame = found.frame(errors=True)
    assert list(frame.index) == list(METHODS)
    # Over age the columns are humps: there is no line whose slope could be kept.
    assert frame["line slope"].isna().all()
    for column in COLUMNS[1:]:
        assert np.isfinite(frame[column.name]).all(), column.name
    assert frame.loc["sadp", "noise"] > 0
    assert math.isnan(frame.loc["egadp", "noise"])
    assert frame["linked error"].notna().all()


@pytest.mark.slow
def test_methods_differ_as_they_should(all_methods):
    frame = all_methods[0].frame()
    keep, lose = ["nmegadp", "nmegadp-shuffle", "synthetic-trees"], ["egadp", "cgadp", "shuffle"]
    assert (frame.loc[keep, "curve R2"] > 0.9).all()
    assert (frame.loc[lose, "curve R2"] < 0.3).all()
    assert (frame.loc[keep, "error given S"] < 1.2).all()
    assert (frame.loc[lose, "error given S"] > 2).all()
    # A snooper who knows the curve gains by noise what was asked: 5 percent, and by no method that
    # is independent given S more than chance: 3 standard deviations of some .01.
    assert frame.loc[["sadp", "cadp"], "kernel gain"].between(0.02, 0.08).all()
    assert (frame.loc[frame["independent given S"], "kernel gain"].abs() < 0.03).all()
    assert frame.loc["shuffle", "distribution moved"] == 0


@pytest.mark.slow
def test_repetitions_have_standard_errors():
    found = compare(*table(), np.random.default_rng(3), ["egadp", "gadp"], repeats=2)
    moved = found["gadp"].values["correlation moved"]
    each = [run.of("pearson-largest").value for run in found["gadp"].measures]
    assert moved.value == pytest.approx(np.mean(each))
    assert moved.error == pytest.approx(np.std(each, ddof=1) / np.sqrt(2))
    assert found["egadp"].values["correlation moved"].error == pytest.approx(0, abs=1e-12)
    assert found.repeats == 2


@pytest.mark.slow
def test_a_method_that_cannot_says_so_in_its_row():
    told, x = table(n=200)
    told["sex"] = np.where(np.arange(200) == 7, "alone", told["sex"])
    found = compare(told, x, np.random.default_rng(4), ["sadp", "egadp"])
    assert found["sadp"].failure is None
    assert "nearly alone in S" in found["egadp"].failure
    frame = found.frame()
    assert math.isnan(frame.loc["egadp", "curve R2"])
    assert "nearly alone" in frame.loc["egadp", "failure"]
    with pytest.raises(OptionError, match="was not compared"):
        found["ipso"]


@pytest.mark.slow
def test_without_s_only_what_exists_is_shown():
    x = np.random.default_rng(5).standard_normal((120, 1))
    row = compare(None, x, np.random.default_rng(6), ["egadp"])["egadp"]
    assert math.isnan(row.values["curve R2"].value)
    assert np.isfinite(row.values["distribution moved"].value)


@pytest.mark.slow
def test_the_gain_adapts_where_s_tells_nearly_all():
    rng = np.random.default_rng(7)
    s = rng.standard_normal(200)
    found = compare(s, s + 0.1 * rng.standard_normal(200), rng, ["sadp"])
    assert found.gain < 0.05
    assert found["sadp"].options["noise"] > 0
    assert f"{found.gain:.3g}" in found.notes[0]


@pytest.mark.parametrize("name", METHODS)
def test_exact_moments_are_where_a_method_says_so(name):
    """What lets two releases be differenced: means and covariances of X itself are told."""
    told, x = table(8, 150)
    method = METHODS[name]
    y = method(told, x, np.random.default_rng(9)).matrix
    true = x.to_numpy()
    means = np.allclose(y.mean(axis=0), true.mean(axis=0), rtol=1e-9)
    exact = means and np.allclose(np.cov(y.T), np.cov(true.T), rtol=1e-9)
    assert exact == method.exact_moments
    same = np.array_equal(np.sort(y, axis=0), np.sort(true, axis=0))
    among = all(np.isin(y[:, k], true[:, k]).all() for k in range(2))
    assert among == method.released_values
    assert same == (among and name != "synthetic-trees")


def test_wrong_calls_are_told():
    told, x = table(n=60)
    rng = np.random.default_rng(10)
    with pytest.raises(OptionError, match="repeats"):
        compare(told, x, rng, ["egadp"], repeats=0)
    with pytest.raises(OptionError, match="no masking method 'magic'"):
        compare(told, x, rng, ["magic"])
    with pytest.raises(OptionError, match="cannot be reached"):
        compare(told, x, rng, ["sadp"], gain=1.5)
    with pytest.raises(MaskingError, match="same value"):
        compare(told, x.assign(debt=1.0), rng)
    with pytest.raises(TableError, match="records"):
        compare(told[:50], x, rng)
