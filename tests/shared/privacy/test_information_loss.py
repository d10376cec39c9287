"""Distances by hand and by integration, odds ratios by enumeration and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from pramana_core.channels import Dense, Identity, OneHot, Symmetric, Transition, Withheld
from pramana_core.domain import Domain
from pramana_core.errors import EstimationError, OptionError, SingularChannel
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.plan import Block, Plan
from pramana_core.privacy.posterior import (
    Histogram,
    density_l1,
    kl_divergence,
    log_odds_ratio,
    odds_ratio_spread,
    predicted_log_odds_se,
)
from tests.shared.estimation.recordwise import Table


@pytest.mark.parametrize(
    ("p", "q", "bits"),
    [
        ([1, 1], [1, 1], 0.0),
        ([2, 2], [5, 5], 0.0),
        ([1, 0], [1, 1], 1.0),
        ([1, 1], [1, 0], math.inf),
        ([0, 4], [0, 1], 0.0),
        ([[1, 0], [0, 1]], [[1, 1], [1, 1]], 1.0),
        ([1, 3], [3, 1], 0.5 * math.log2(3)),
        ([1, 0], [0, 7], math.inf),
    ],
)
def test_distances_by_hand(p, q, bits: float):
    assert kl_divergence(p, q) == pytest.approx(bits)


def test_distances_by_other_means():
    """scipy's relative entropy."""
    rng = np.random.default_rng(4)
    p, q = rng.dirichlet(np.ones(8)), rng.dirichlet(np.ones(8))
    assert kl_divergence(p * 50, q) == pytest.approx(stats.entropy(p, q, base=2))


@pytest.mark.parametrize(
    ("p", "q", "match"),
    [
        ([1, 2], [1, -1e-9], "negative"),
        ([-1, 2], [1, 1], "negative"),
        ([0, 0], [1, 1], "all 0"),
        ([1, math.nan], [1, 1], "not a number"),
        ([1, 1], [math.inf, 1], "infinite"),
        ([1, 1], [1, 1, 1], "same cells"),
        ([], [], "all 0"),
    ],
)
def test_what_are_no_counts_is_refused(p, q, match: str):
    with pytest.raises(OptionError, match=match):
        kl_divergence(p, q)


def test_a_negative_estimate_is_told_to_be_projected():
    with pytest.raises(OptionError) as caught:
        kl_divergence([1, 1], [-1, 3])
    assert "Project" in str(caught.value)


def triangle(x: np.ndarray) -> np.ndarray:
    """The density of a triangle over [0, 2] with its peak at 1."""
    return np.clip(1 - np.abs(x - 1), 0, None)


@pytest.mark.parametrize(
    ("edges", "probabilities", "expected"),
    [
        # Each half against the constant 1/2: two triangles of base 1/2 and height 1/2 in each.
        ([0, 1, 2], [0.5, 0.5], 0.5),
        ([0, 1, 2], [3, 3], 0.5),
        # All mass on an interval where the density has half of it: |f - 1| = 1 - x, and 1/2 more.
        ([0, 1], [1], 1.0),
        # Nothing in common.
        ([5, 6, 8], [0.3, 0.7], 2.0),
        ([-4, 0], [1], 2.0),
    ],
)
def test_the_distance_of_densities_by_hand(edges, probabilities, expected: float):
    assert density_l1(edges, probabilities, triangle) == pytest.approx(expected, abs=1e-6)


def test_the_distance_to_a_density_is_that_to_its_finest_histogram():
    rng = np.random.default_rng(5)
    edges = np.sort(rng.uniform(-3, 3, 12))
    shares = rng.dirichlet(np.ones(11))
    fine = np.linspace(-8, 8, 160_001)
    normal = Histogram(tuple(fine.tolist()), tuple(np.diff(stats.norm.cdf(fine)).tolist()))
    by_function = density_l1(edges, shares, stats.norm.pdf)
    assert by_function == pytest.approx(density_l1(edges, shares, normal), abs=1e-6)


def test_the_distance_of_histograms_is_exact():
    truth = Histogram((0, 1, 2, 4), (0.25, 0.25, 0.5))
    assert truth.at(np.array([-1, 0, 0.5, 1, 3.9, 4])).tolist() == [0, 0.25, 0.25, 0.25, 0.25, 0]
    assert density_l1([0, 4], [1], truth) == pytest.approx(0)
    assert density_l1([0, 3, 4], [0.75, 0.25], truth) == pytest.approx(0)
    assert density_l1([0, 2], [1], truth) == pytest.approx(1)
    assert density_l1([1, 3], [1], truth) == pytest.approx(0.5 + 2 * 0.25)
    assert density_l1([0, 1, 4], [0.5, 0.5], truth) == pytest.approx(0.25 + 3 * (0.25 - 0.5 / 3))


@pytest.mark.parametrize(
    ("edges", "probabilities", "match"),
    [
        ([0, 1], [0.5, 0.5], "edges do not bound"),
        ([0], [], "edges do not bound"),
        ([0, 1, 1], [0.5, 0.5], "ascending"),
        ([0, math.inf], [1], "finite"),
        ([0, math.nan, 2], [0.5, 0.5], "finite"),
        ([0, 1, 2], [1.5, -0.5], "negative"),
        ([0, 1], [0], "all 0"),
    ],
)
def test_what_is_no_histogram_is_refused(edges, probabilities, match: str):
    with pytest.raises(OptionError, match=match):
        density_l1(edges, probabilities, triangle)


# Odds ratios

JOINT = np.array([[0.3, 0.2], [0.1, 0.4]])
A, B = Domain.of(a="xy", b="pq")
CHANNELS: dict[str, tuple[Transition, Transition]] = {
    "clean": (Identity(2), Identity(2)),
    "one": (Symmetric.from_probability(2, 0.2), Identity(2)),
    "both": (Symmetric.from_probability(2, 0.3), Dense.binary(0.1, 0.25)),
    "rectangular": (OneHot.from_probability(2, 0.8), Symmetric.from_probability(2, 0.1)),
}


def estimated(channels: tuple[Transition, Transition], reported: np.ndarray):
    plan = Plan((Block((A,), channels[0]), Block((B,), channels[1])))
    return EstimatedMarginals(Table("ab", reported), plan).marginal(["a", "b"])  # type: ignore[arg-type]


def probabilities(channels: tuple[Transition, Transition], joint: np.ndarray) -> np.ndarray:
    return channels[0].matrix().T @ joint @ channels[1].matrix()


def test_the_clean_log_odds_ratio():
    """n11 n22 / (n12 n21) = 6 by hand; its error by the multinomial covariance."""
    value, se = log_odds_ratio([[30, 20], [10, 40]])
    assert math.exp(value) == pytest.approx(6)
    assert se == pytest.approx(math.sqrt(1 / 30 + 1 / 20 + 1 / 10 + 1 / 40))
    assert log_odds_ratio([[5, 10], [20, 40]])[0] == pytest.approx(0)


def test_without_randomization_nothing_is_lost():
    found = odds_ratio_spread(estimated(CHANNELS["clean"], JOINT * 1000))
    value, se = log_odds_ratio(JOINT * 1000)
    assert (found.log_odds_ratio, found.se) == pytest.approx((value, se))
    assert found.independence_loss == pytest.approx(1)
    assert predicted_log_odds_se(JOINT, *CHANNELS["clean"], 1000) == pytest.approx(se)


@pytest.mark.parametrize("channels", CHANNELS.values(), ids=CHANNELS.keys())
def test_the_prediction_is_what_a_table_of_expected_counts_tells(channels):
    """Two routes: the covariance matrix of the table, and the variance of one record's influence.

    The table's counts are the expected ones, so that the estimate is the truth itself.
    """
    records = 5000
    found = odds_ratio_spread(estimated(channels, probabilities(channels, JOINT) * records))
    assert found.log_odds_ratio == pytest.approx(math.log(6))
    assert found.clean_se == pytest.approx(log_odds_ratio(JOINT * records)[1])
    predicted = predicted_log_odds_se(JOINT * 7, *channels, records)
    assert found.se == pytest.approx(predicted, rel=1e-9)
    assert found.independence_loss >= 1 - 1e-12


@pytest.mark.parametrize("channels", CHANNELS.values(), ids=CHANNELS.keys())
def test_the_prediction_by_numeric_derivatives(channels):
    """The delta method without its gradient: derivatives of the whole estimate by the report."""
    reports = probabilities(channels, JOINT).ravel()
    shape = (channels[0].shape[1], channels[1].shape[1])

    def log_odds(shares: np.ndarray) -> float:
        cells = channels[1].decoder() @ (channels[0].decoder() @ shares.reshape(shape)).T
        return math.log(cells[0, 0] * cells[1, 1] / (cells[0, 1] * cells[1, 0]))

    step = 1e-6
    slopes = np.array(
        [
            (log_odds(reports + step * unit) - log_odds(reports - step * unit)) / (2 * step)
            for unit in np.eye(reports.size)
        ]
    )
    variance = reports @ slopes**2 - (reports @ slopes) ** 2
    assert predicted_log_odds_se(JOINT, *channels, 1) == pytest.approx(
        math.sqrt(variance), rel=1e-6
    )


def spread_of_draws(joint: np.ndarray, channels, records: int, runs: int) -> float:
    """The standard deviation of log odds ratios estimated from simulated reports."""
    rng = np.random.default_rng(6)
    reports = probabilities(channels, joint)
    drawn = rng.multinomial(records, reports.ravel(), size=runs).reshape(runs, *reports.shape)
    cells = np.einsum("ij,rjk,lk->ril", channels[0].decoder(), drawn, channels[1].decoder())
    values = np.log(cells[:, 0, 0] * cells[:, 1, 1] / (cells[:, 0, 1] * cells[:, 1, 0]))
    return float(values.std(ddof=1))


def agrees(observed: float, predicted: float, runs: int) -> bool:
    """Whether a standard deviation of so many normal draws fits, at false alarm 1e-6.

    Over 10^6 records the log odds ratio is normal but for terms of relative size 1e-3, for which
    the limits are widened by 1 %.
    """
    low, high = np.sqrt(stats.chi2.ppf([5e-7, 1 - 5e-7], runs - 1) / (runs - 1))
    return bool(0.99 * low <= observed / predicted <= 1.01 * high)


@pytest.mark.parametrize("channels", CHANNELS.values(), ids=CHANNELS.keys())
def test_simulated_odds_ratios_spread_as_predicted(channels):
    """Two independent binary variables, as in Ma 3.2.2, with 20,000 runs; a control is refused."""
    joint = np.outer([0.4, 0.6], [0.3, 0.7])
    records, runs = 10**6, 20_000
    observed = spread_of_draws(joint, channels, records, runs)
    predicted = predicted_log_odds_se(joint, *channels, records)
    assert agrees(observed, predicted, runs)
    # The negative control: an error off by 6 %.
    assert not agrees(observed, predicted * 1.06, runs)
    assert not agrees(observed, predicted / 1.06, runs)


def test_ma_3_2_2_independence_is_lost():
    """p = 0.4 on both of two fair bits: the error is 25 times that of clean counts.

    1 / (1 - 2p)^2 = 25: each sign of the estimate is the product of two, each 5 times as large.
    """
    channel = Symmetric.from_probability(2, 0.4)
    fair = np.full((2, 2), 0.25)
    noisy = predicted_log_odds_se(fair, channel, channel, 10_000)
    clean = predicted_log_odds_se(fair, Identity(2), Identity(2), 10_000)
    assert noisy / clean == pytest.approx(25, rel=1e-6)


@pytest.mark.parametrize("cell", [0.0, -3.0])
def test_a_table_without_an_odds_ratio_is_refused(cell: float):
    table = np.array([[cell, 5.0], [5.0, 5.0]])
    with pytest.raises(EstimationError, match="not positive"):
        log_odds_ratio(table)
    with pytest.raises(EstimationError, match="not positive"):
        odds_ratio_spread(estimated(CHANNELS["clean"], table))
    with pytest.raises(EstimationError, match="not positive"):
        predicted_log_odds_se(table, Identity(2), Identity(2), 10)


def test_what_is_no_pair_of_bits_is_refused():
    with pytest.raises(OptionError, match="2 x 2"):
        log_odds_ratio(np.ones((2, 3)))
    with pytest.raises(OptionError, match="binary"):
        predicted_log_odds_se(JOINT, Identity(3), Identity(2), 10)
    with pytest.raises(OptionError, match="at least 1"):
        predicted_log_odds_se(JOINT, Identity(2), Identity(2), 0)
    with pytest.raises(SingularChannel):
        predicted_log_odds_se(JOINT, Withheld(2), Identity(2), 10)
