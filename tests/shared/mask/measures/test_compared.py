"""S, X and Y of the same records: arrays, frames, categories, and what does not go together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pramana_core.errors import EmptyTable, MaskingError, TableError
from pramana_core.mask.measures.expectations import expectation
from pramana_core.mask.measures.measuring import compared
from pramana_core.mask.measures.utility import models_of

N = 20
NUMBERS = np.random.default_rng(1).standard_normal((N, 2))


def test_columns_of_frames_go_by_name_and_those_of_arrays_by_order():
    x = pd.DataFrame(NUMBERS, columns=["a", "b"])
    for y in ((x + 1)[["b", "a"]], NUMBERS + 1):
        given, masked = compared(None, x, y)
        assert given.x.names == ("a", "b")
        assert given.matrix == pytest.approx(NUMBERS)
        assert masked == pytest.approx(NUMBERS + 1)
        assert given.told.shape == (N, 0)


def test_what_says_nothing_new_is_left_out():
    s = pd.DataFrame({"a": NUMBERS[:, 0], "b": 2 * NUMBERS[:, 0], "c": 1.0})
    x = np.column_stack([NUMBERS, np.ones(N)])
    given, _ = compared(s, x, x)
    assert {others for _, others, _ in models_of(given)} == {("a", "X1"), ("a", "X2"), ("a",)}
    assert given.x.names == ("X1", "X2")


CATEGORIES = pd.DataFrame({"a": ["u", "v"] * 10, "b": 1.0})


@pytest.mark.parametrize(
    ("s", "x", "y", "error", "where"),
    [
        (NUMBERS[:5], NUMBERS, NUMBERS, TableError, "S"),
        (None, NUMBERS, NUMBERS[:5], TableError, "Y"),
        (None, NUMBERS, NUMBERS[:, :1], TableError, "Y"),
        (None, NUMBERS, CATEGORIES, TableError, "Y"),
        (None, CATEGORIES, NUMBERS, TableError, "Y"),
        (None, NUMBERS[:9], NUMBERS[:9], MaskingError, "X"),
        (None, np.ones((N, 2)), NUMBERS, MaskingError, "X"),
        (None, NUMBERS[:0], NUMBERS[:0], EmptyTable, "X"),
    ],
)
def test_what_cannot_be_compared_is_refused(s, x, y, error, where):
    with pytest.raises(error) as raised:
        compared(s, x, y)
    assert raised.value.where == where


# Conditional expectations: left-out fits are what a fit without the record says.


RNG = np.random.default_rng(1)
FEATURES = RNG.standard_normal((60, 2)) * [1, 100] + [0, 5]
TARGETS = FEATURES @ [[1.0, 0.5], [0.02, 0.0]] + RNG.standard_normal((60, 2))


def test_linear_left_out_is_by_a_fit_of_the_others():
    found = expectation("linear", FEATURES, TARGETS, RNG)
    for row in (0, 17):
        others = np.arange(60) != row
        fit = expectation("linear", FEATURES[others], TARGETS[others], RNG)
        assert found.left_out[row] == pytest.approx(fit.predict(FEATURES[[row]])[0], abs=1e-9)
    assert found.predict(FEATURES) == pytest.approx(found.fitted, abs=1e-9)


@pytest.mark.parametrize("kind", ["linear", "kernel"])
def test_features_without_variation_leave_the_mean(kind):
    for features in (np.ones((60, 2)), np.empty((60, 0))):
        found = expectation(kind, features, TARGETS, RNG)
        assert found.fitted == pytest.approx(np.tile(TARGETS.mean(axis=0), (60, 1)))


def test_a_kernel_follows_a_curve_and_a_line_does_not():
    x = np.linspace(-1, 1, 200)[:, None]
    curve = x**2
    kernel = expectation("kernel", x, curve, np.random.default_rng(2))
    assert np.abs(kernel.left_out - curve).max() < 0.05
    assert np.abs(expectation("linear", x, curve, RNG).left_out - curve).max() > 0.3
