"""The test of fit against derivatives by differences, its level and its power."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from pramana_core.channels import RESOLUTION, Choice, Sampled, Symmetric
from pramana_core.estimation import profile as lack_of_fit
from pramana_core.estimation.axes import Stratum
from pramana_core.estimation.loglinear import design, fit
from pramana_core.estimation.profile import Profile, ScoreTest, score_test, why_untested
from tests.shared.estimation.core.strata_cases import drawn

SHAPE = (3, 4, 4)
BITS = (2, 2, 2)


def columns(shape: tuple[int, ...], p: float) -> tuple[Symmetric, ...]:
    return tuple(Symmetric.from_gamma(k, (1 - p) * (k - 1) / p) for k in shape)


def fitted_test(stratum: Stratum, shape: tuple[int, ...], order: int) -> ScoreTest | None:
    found = fit([stratum], shape, order=order)
    return score_test(found.weak, Profile(found.weak, found.values).best, shape, order)


def pairwise(shape: tuple[int, ...], strength: float, order: int) -> np.ndarray:
    """A law with effects of up to `order` variables, from the design's own columns."""
    made = design(shape, order)
    height = made.matrix @ np.random.default_rng(9).normal(size=made.matrix.shape[1]) * strength
    return (np.exp(height) / np.exp(height).sum()).reshape(shape)


def parity(strength: float) -> np.ndarray:
    """Three bits that interact all together and in no pair."""
    sign = np.array([(-1.0) ** (i + j + k) for i, j, k in np.ndindex(*BITS)])
    theta = np.exp(strength * sign)
    return (theta / theta.sum()).reshape(BITS)


def test_the_statistic_is_that_of_derivatives_by_differences():
    stratum = drawn(pairwise(BITS, 0.4, 3), columns(BITS, 0.1), 500, 1)
    found = fit([stratum], BITS, order=2)
    best = Profile(found.weak, found.values).best
    listed, seen = stratum.listed(), stratum.column[:, 0]
    larger = design(BITS, 3).matrix
    height = np.log(best.theta[0])

    def law(values: np.ndarray) -> np.ndarray:
        raised = np.exp(height + larger @ values)
        return listed @ (raised / raised.sum())

    moves = np.eye(7) * 1e-6
    slopes = np.array([np.log(law(m)) - np.log(law(-m)) for m in moves]).T / 2e-6
    held = 500 * (slopes.T * law(np.zeros(7))) @ slopes
    score = slopes.T @ (seen - 500 * law(np.zeros(7)))
    # One effect is tested, so that the statistic is its score squared over its variance.
    explained = held[6, :6] @ np.linalg.inv(held[:6, :6])
    variance = held[6, 6] - explained @ held[:6, 6]
    wanted = (score[6] - explained @ score[:6]) ** 2 / variance
    got = score_test(found.weak, best, BITS, 2)
    assert got is not None
    assert got.order == 3
    assert got.statistic == pytest.approx(wanted, rel=1e-4)
    assert got.degrees_of_freedom == pytest.approx(1.0)
    assert got.p_value == pytest.approx(stats.chi2.sf(wanted, 1), rel=1e-3)


def test_the_tail_is_that_of_a_weighted_sum_of_chi_squares():
    """Five standard errors of the rarest 4,000 draws are 8 %; the approximation has the rest."""
    weights = np.array([0.5, 0.2, 0.1, 0.1, 0.05, 0.05])
    sums = np.random.default_rng(2).chisquare(1, (400_000, 6)) @ weights
    for quantile in (0.5, 0.95, 0.99):
        at = float(np.quantile(sums, quantile))
        tail = lack_of_fit._tail(at, weights)
        assert tail == pytest.approx(1 - quantile, rel=0.1)


@pytest.mark.calibration
@pytest.mark.parametrize(
    ("shape", "p", "order", "records"),
    [
        (SHAPE, 0.2, 2, 200),
        (BITS, 0.3, 1, 100),
        pytest.param(BITS, 0.3, 2, 200, marks=pytest.mark.campaign),
        pytest.param(SHAPE, 0.2, 2, 1000, marks=pytest.mark.campaign),
    ],
)
def test_a_model_that_holds_is_rejected_at_most_at_the_level(shape, p, order, records):
    """80 repetitions at level 5 %: not more than chance explains, false alarm 1e-6."""
    theta = pairwise(shape, 0.3, order)
    found = [
        fitted_test(drawn(theta, columns(shape, p), records, 50 + seed), shape, order)
        for seed in range(80)
    ]
    rejected = sum(test is not None and test.p_value <= 0.05 for test in found)
    assert rejected <= stats.binom.isf(1e-6, 80, 0.05), rejected


@pytest.mark.calibration
@pytest.mark.parametrize(
    ("p", "records"), [(0.1, 200), pytest.param(0.2, 1000, marks=pytest.mark.campaign)]
)
def test_an_interaction_above_the_order_is_found(p: float, records: int):
    """At level 1 %: more than nine times of ten (at p = .1 of 200 records, .2 of 1,000).

    A log odds of three variables of 8 times 1; 50 repetitions, at least 45. The control has none.
    """
    found = {
        strength: sum(
            test is not None and test.p_value <= 0.01
            for test in (
                fitted_test(drawn(parity(strength), columns(BITS, p), records, seed), BITS, 2)
                for seed in range(50)
            )
        )
        for strength in (1.0, 0.0)
    }
    assert found[1.0] > 45, found
    assert found[0.0] < 8, found


def test_what_the_reports_do_not_tell_is_not_tested():
    pairs = Sampled(
        BITS,
        tuple(
            Choice(axes, RESOLUTION // 3, Symmetric.from_gamma(4, 9.0))
            for axes in ((0, 1), (0, 2), (1, 2))
        ),
    )
    stratum = drawn(parity(1.0), (pairs,), 5000, 1)
    assert fitted_test(stratum, BITS, 2) is None
    assert fitted_test(stratum, BITS, 1) is not None
    assert "all interactions" in why_untested(BITS, 3, 8)
    assert "too many parameters" in why_untested((4,) * 8, 3, 4**8)
    assert why_untested(BITS, 2, 8) == ""


def test_a_fit_is_tested_whatever_rounding_leaves():
    """Exact reports of a model that holds: nothing deviates."""
    theta = pairwise(SHAPE, 0.3, 2)
    channels = columns(SHAPE, 0.2)
    empty = Stratum(np.zeros(SHAPE), channels)
    exact = 1e7 * empty.expected(theta[..., None])[:, 0].reshape(SHAPE)
    test = fitted_test(Stratum(exact, channels), SHAPE, 2)
    assert test is not None
    assert test.statistic < 1e-2
    assert test.p_value > 0.999
    assert math.isfinite(test.degrees_of_freedom)
