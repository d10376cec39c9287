"""Conditional expectations: left-out fits are what a fit without the record says."""

from __future__ import annotations

import numpy as np
import pytest

from pramana_core.mask.measures.core.compared import expectation

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
    assert found.leverages.sum() == pytest.approx(3)


@pytest.mark.parametrize("kind", ["linear", "kernel"])
def test_features_without_variation_leave_the_mean(kind):
    for features in (np.ones((60, 2)), np.empty((60, 0))):
        found = expectation(kind, features, TARGETS, RNG)
        assert found.fitted == pytest.approx(np.tile(TARGETS.mean(axis=0), (60, 1)))


def test_a_record_that_decides_its_own_fit_is_told_the_mean():
    features = np.zeros((10, 1))
    features[3] = 1
    targets = np.arange(10.0)[:, None]
    found = expectation("linear", features, targets, RNG)
    assert found.leverages[3] == pytest.approx(1)
    assert found.left_out[3] == pytest.approx(targets.mean())


def test_a_kernel_follows_a_curve_and_a_line_does_not():
    x = np.linspace(-1, 1, 200)[:, None]
    curve = x**2
    kernel = expectation("kernel", x, curve, np.random.default_rng(2))
    assert np.abs(kernel.left_out - curve).max() < 0.05
    assert np.abs(expectation("linear", x, curve, RNG).left_out - curve).max() > 0.3


def test_a_kernel_of_some_records_speaks_of_all():
    x = np.linspace(-1, 1, 300)[:, None]
    found = expectation("kernel", x, x**2, np.random.default_rng(3), most=100)
    assert np.count_nonzero(found.leverages) == 100
    assert np.abs(found.left_out - x**2).max() < 0.05
