"""Noise with an exact covariance, orthogonal to a basis."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pramana_core.mask.core.copula import copula_correlations, normal_scores
from pramana_core.mask.core.inputs import inputs
from pramana_core.mask.core.noise import exact_noise
from pramana_core.mixed import basis_of

RNG = np.random.default_rng(1)
BASIS = basis_of(np.column_stack([np.ones(50), RNG.normal(size=(50, 4))]))
LIKE = RNG.normal(size=(50, 3)) @ RNG.normal(size=(3, 3))


def test_noise_is_as_told():
    noise = exact_noise(np.random.default_rng(2), BASIS, LIKE)
    np.testing.assert_allclose(noise.T @ noise, LIKE.T @ LIKE, rtol=1e-12)
    np.testing.assert_allclose(BASIS.T @ noise, 0, atol=1e-12)


def test_noise_is_made_by_the_formula():
    """b Sb^(-1/2) Sr^(1/2), the columns of b and r in units of their lengths."""
    like = LIKE / np.linalg.norm(LIKE, axis=0)
    b = np.random.default_rng(2).standard_normal((50, 3))
    b -= BASIS @ (BASIS.T @ b)
    b /= np.linalg.norm(b, axis=0)

    def power(matrix, exponent):
        values, vectors = np.linalg.eigh(matrix)
        return vectors * values**exponent @ vectors.T

    expected = b @ power(b.T @ b, -0.5) @ power(like.T @ like, 0.5)
    found = exact_noise(np.random.default_rng(2), BASIS, like)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("scales", [[1, 1, 1], [1e-200, 1, 1e90], [0, 1, 1], [0, 0, 0]])
def test_scales_do_not_matter(scales):
    noise = exact_noise(np.random.default_rng(2), BASIS, LIKE * scales)
    plain = exact_noise(np.random.default_rng(2), BASIS, LIKE * (np.array(scales) > 0))
    np.testing.assert_allclose(noise, plain * scales, rtol=1e-9)


# Ranks and normal scores.


# The normal variables behind columns with ties: their correlations are found again.


RHO = np.array([[1, 0.6, -0.5], [0.6, 1, 0.3], [-0.5, 0.3, 1]])


def exactly_normal(n: int = 4000, seed: int = 1):
    """Three normal columns with exactly the correlations RHO."""
    drawn = np.random.default_rng(seed).normal(size=(n, 3))
    drawn -= drawn.mean(axis=0)
    white = np.linalg.qr(drawn)[0] * np.sqrt(n)
    return white @ np.linalg.cholesky(RHO).T


def cut(column, *shares):
    """A column as steps: how many of the quantiles of these shares it is above."""
    return np.sum(column[:, None] > np.quantile(column, shares), axis=1).astype(float)


def scored(told, x):
    return inputs(normal_scores(told), normal_scores(x))


def test_without_ties_they_are_the_correlations_of_the_scores():
    z = exactly_normal()
    given = scored(z[:, :1], z[:, 1:])
    expected = np.corrcoef(normal_scores(z).T)
    np.testing.assert_allclose(copula_correlations(given), expected, rtol=1e-9)


def test_by_ranks_they_are_those_of_pearson():
    z = exactly_normal()
    found = copula_correlations(scored(z[:, :1], np.exp(z[:, 1:])), by_ranks=True)
    expected = 2 * np.sin(np.pi / 6 * stats.spearmanr(z).statistic)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("by_ranks", [False, True])
@pytest.mark.parametrize(
    ("first", "second"), [((0.9,), (0.5,)), ((0.1, 0.5, 0.8), ()), ((0.5,), (0.3, 0.6))]
)
def test_correlations_behind_steps_are_found_again(first, second, by_ranks: bool):
    """With 4,000 records to within 4.9 standard errors of a tetrachoric correlation, about."""
    z = exactly_normal()
    x = np.column_stack([cut(z[:, 1], *first), cut(z[:, 2], *second) if second else z[:, 2]])
    given = scored(z[:, :1], x)
    found = copula_correlations(given, by_ranks=by_ranks)
    np.testing.assert_allclose(found, RHO, atol=4.9 * 2 / np.sqrt(len(z)))
    plain = np.corrcoef(np.column_stack([given.told, given.standard]).T)
    assert np.abs(plain - RHO).max() > np.abs(found - RHO).max() + 0.03
