"""The normal variables behind columns with ties: their correlations are found again."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pramana_core.mask.core.inputs import inputs, normal_scores
from pramana_core.mask.core.noise import (
    _correlation,
    _hermite,
    _possible,
    conditional,
    copula_correlations,
)

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


def test_coefficients_of_a_step_are_those_of_integration():
    column = np.where(np.arange(1000) < 900, 0.0, 1.0)
    column = (column - column.mean()) / column.std()
    grid = np.linspace(-10, 10, 400_001)
    steps = np.where(grid < stats.norm.ppf(0.9), column.min(), column.max())
    weights = steps * stats.norm.pdf(grid) * (grid[1] - grid[0])
    hermite = [grid, (grid**2 - 1) / np.sqrt(2), (grid**3 - 3 * grid) / np.sqrt(6)]
    np.testing.assert_allclose(_hermite(column)[:3], [h @ weights for h in hermite], atol=1e-4)


def test_the_variance_of_a_step_is_that_of_its_series():
    column = np.repeat([-1.0, 1.0], 500)
    assert 0.9 < np.sum(_hermite(column) ** 2) < 1
    # A quadrant's probability is known: 1/4 + asin(rho) / 2 pi.
    for rho in (0.2, 0.5, -0.8):
        terms = _hermite(column) ** 2
        assert _correlation(2 / np.pi * np.arcsin(rho), terms) == pytest.approx(rho, abs=1e-6)


def test_no_correlation_is_beyond_what_may_be():
    terms = _hermite(np.repeat([-1.0, 1.0], 500)) ** 2
    assert _correlation(2.0, terms) == -_correlation(-2.0, terms) == pytest.approx(1, abs=1e-3)


def test_correlations_that_do_not_fit_together_are_made_to():
    wrong = np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]])
    found = _possible(wrong)
    assert np.linalg.eigvalsh(found)[0] > -1e-12
    np.testing.assert_allclose(np.diag(found), 1)
    np.testing.assert_allclose(_possible(RHO), RHO, rtol=1e-12)


def test_what_s_tells_and_what_is_left_make_up_the_variance():
    z = exactly_normal()
    given = scored(z[:, :1], z[:, 1:])
    prediction, root = conditional(given, RHO)
    told = given.told[:, 0]
    np.testing.assert_allclose(prediction, np.outer(told, RHO[0, 1:]), rtol=1e-9)
    np.testing.assert_allclose(root @ root + np.outer(RHO[0, 1:], RHO[0, 1:]), RHO[1:, 1:])
    both = np.ones((3, 3))
    assert np.abs(conditional(given, both)[1]).max() < 1e-6
