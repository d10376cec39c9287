"""What is random of the methods: the noise's covariance, and that it tells nothing of X.

A statistic whose distribution is known is computed for many seeds; its probability integral must be
uniform. A false alarm has probability 1e-6.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy import stats

from pramana_core.mask import METHODS
from pramana_core.mixed import basis_of, residual, with_constant
from tests.conftest import AssertDistribution
from tests.lengths import repetitions
from tests.shared.mask.examples import linear

cadp, egadp, gadp, ipso, sadp = (
    METHODS[name] for name in ("cadp", "egadp", "gadp", "ipso", "sadp")
)

SEEDS = repetitions(400, 1000)
"""Draws behind each distribution."""

BINS = 20


def uniform(assert_distribution: AssertDistribution, probabilities) -> None:
    seen, _ = np.histogram(probabilities, bins=BINS, range=(0, 1))
    assert_distribution(seen, np.full(BINS, len(probabilities) / BINS))


TOLD, X = linear(40, 2, 2)
DIRECTION = np.array([1.0, -0.5])


@cache
def squares(method, **options):
    """The sum of squares of the noise in some direction, for many seeds."""
    noises = (
        METHODS[method](TOLD, X, np.random.default_rng(k), **options).noise for k in range(SEEDS)
    )
    return np.array([np.sum((noise @ DIRECTION) ** 2) for noise in noises])


def covariance_chances(found, expected):
    """The chance of smaller sums of squares, if `expected` is the covariance of the noise.

    n independent normal records are supposed."""
    return stats.chi2.cdf(found / (DIRECTION @ expected @ DIRECTION), len(X))


@pytest.mark.slow
def test_noise_of_gadp_has_the_residuals_covariance(assert_distribution: AssertDistribution):
    rest = residual(X, basis_of(with_constant(TOLD)))
    expected = rest.T @ rest / (len(X) - 1)
    uniform(assert_distribution, covariance_chances(squares("gadp"), expected))
    # Negative controls: a variance of a fifth more, and noise whose covariance is exact.
    for found, supposed in ((squares("gadp"), expected * 1.2), (squares("egadp"), expected)):
        with pytest.raises(AssertionError, match="chi-square"):
            uniform(assert_distribution, covariance_chances(found, supposed))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "other", "covariance"),
    [
        ("sadp", "cadp", np.diag(np.var(X, axis=0))),
        ("cadp", "sadp", np.cov(X.T, bias=True)),
    ],
    ids=["sadp", "cadp"],
)
def test_additive_noise_has_a_share_of_the_variances_or_of_the_covariance(
    method, other, covariance, assert_distribution: AssertDistribution
):
    """The noise of SADP is independent by columns; that of the other one is the control."""
    uniform(assert_distribution, covariance_chances(squares(method, noise=0.3), 0.3 * covariance))
    with pytest.raises(AssertionError, match="chi-square"):
        uniform(
            assert_distribution, covariance_chances(squares(other, noise=0.3), 0.3 * covariance)
        )


def partial_chances(method, n: int = 30, **options):
    """The chance, for many tables and seeds, of a smaller partial correlation of Y and X given S.

    That of independent normal columns follows Student's t with n - p - 2 degrees of freedom."""
    found = []
    for seed in range(SEEDS):
        told, x = linear(n, 2, 1, seed)
        masked = method(told, x, np.random.default_rng([seed, 1]), **options).matrix
        basis = basis_of(with_constant(told))
        one, other = residual(x, basis)[:, 0], residual(masked, basis)[:, 0]
        found.append(one @ other / np.linalg.norm(one) / np.linalg.norm(other))
    freedom = n - 2 - 2
    rho = np.array(found)
    return stats.t.cdf(rho * np.sqrt(freedom / (1 - rho**2)), freedom)


@pytest.mark.slow
@pytest.mark.parametrize("method", [gadp, ipso])
def test_given_s_y_is_as_independent_of_x_as_another_sample(
    method, assert_distribution: AssertDistribution
):
    """So IPSO leaves chance correlations, whose squares are 1 / (n - 1 - p) on average."""
    uniform(assert_distribution, partial_chances(method, max_leverage=0.9))
