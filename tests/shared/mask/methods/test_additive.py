"""Additive noise: what it keeps in expectation."""

from __future__ import annotations

import numpy as np

from pramana_core.mask import cadp, sadp
from tests.shared.mask.examples import linear
from tests.shared.mask.moments import covariance_difference


class Counted:
    """Randomness whose moments are exact: a method's expectation shows in one call."""

    def __init__(self, basis):
        self.basis = basis

    def standard_normal(self, size):
        from pramana_core.mixed.design import residual

        drawn = residual(np.random.default_rng(3).normal(size=size), self.basis)
        q, _ = np.linalg.qr(drawn)
        return q * np.sqrt(len(drawn))

    def random(self, size=None):
        raise AssertionError

    def permutation(self, x):
        raise AssertionError


def counted(told, x):
    return Counted(np.linalg.qr(np.column_stack([np.ones(len(x)), told, x]))[0])


def test_simple_noise_adds_a_share_to_variances_alone():
    told, x = linear()
    masked = sadp(told, x, counted(told, x), noise=0.4)
    expected = np.cov(x.T) + 0.4 * np.diag(np.var(x, axis=0, ddof=1))
    np.testing.assert_allclose(np.cov(masked.values.T), expected, rtol=1e-9)
    np.testing.assert_allclose(masked.values - masked.noise, x, rtol=1e-9)
    assert masked.expectation is None
    assert masked.details["noise"] == 0.4


def test_correlated_noise_adds_a_share_of_the_covariance():
    told, x = linear()
    masked = cadp(told, x, counted(told, x), noise=0.4)
    np.testing.assert_allclose(np.cov(masked.values.T), 1.4 * np.cov(x.T), rtol=1e-9)


def test_rescaled_noise_keeps_means_and_covariances():
    """Kim (1986)."""
    told, x = linear()
    masked = cadp(told, x, counted(told, x), noise=0.4, rescale=True)
    assert covariance_difference(np.empty((len(x), 0)), x, masked.values) < 1e-9
    np.testing.assert_allclose(masked.values.mean(axis=0), x.mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(masked.values - masked.noise, x, rtol=1e-9)
    # Covariances with S are weakened by the root of 1.4.
    between = [np.cov(np.column_stack([told, v]).T)[:3, 3:] for v in (x, masked.values)]
    np.testing.assert_allclose(between[1], between[0] / np.sqrt(1.4), rtol=1e-9)


def test_multiples_stay_multiples_under_correlated_noise():
    told, x = linear(q=1)
    masked = cadp(told, np.column_stack([x, 2 * x]), np.random.default_rng(3)).values
    np.testing.assert_allclose(masked[:, 1], 2 * masked[:, 0], rtol=1e-9)


def test_s_has_no_influence_on_values():
    told, x = linear()
    for method in (sadp, cadp):
        with_s = method(told, x, np.random.default_rng(3)).values
        without = method(None, x, np.random.default_rng(3)).values
        np.testing.assert_array_equal(with_s, without)


def test_what_prediction_needs_is_not_asked_of_noise():
    """Few records, lone ones and columns that S tells are no matter where nothing is predicted."""
    told, x = linear(4)
    told[0] = 1e12
    for method in (sadp, cadp):
        assert method(told, x, np.random.default_rng(3)).warnings == ()
        assert method(x, x, np.random.default_rng(3)).warnings == ()
