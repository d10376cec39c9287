"""Noise of known variance in each reported count is in every error that learners use."""

import itertools

import numpy as np
import pytest

from pramana_core.channels import Dense, Symmetric
from pramana_core.domain import Domain
from pramana_core.errors import EstimationError, UnknownVariable
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.marginals.passes import NoisyCounts, NoisyTable, TabulatedCounts
from pramana_core.plan import Block, Plan

DOMAIN = Domain.of(a=["1", "2"], b=["1", "2", "3"])
PLAN = Plan(
    (
        Block((DOMAIN["a"],), Dense.binary(0.1, 0.25)),
        Block((DOMAIN["b"],), Symmetric.from_gamma(3, 5.0)),
    )
)
COUNTS = np.array([[40, 31, 52], [23, 60, 34]])
NAMES = ("a", "b")


def marginals(noise, variance=0.0, counts=COUNTS):
    table = NoisyTable(counts + noise, variance)
    return EstimatedMarginals(NoisyCounts({NAMES: table}, int(COUNTS.sum())), PLAN)


def inverse():
    """The whole channel undone: estimates are this matrix times the reports."""
    forward = np.kron(*(block.channel.matrix() for block in PLAN.blocks))
    return np.linalg.inv(forward.T)


def test_the_variance_is_that_of_all_noise_there_can_be():
    """Enumerated: each of six counts gets -1, 0 or 1; the estimates vary as the error says."""
    values, weights = np.array([-2, 0, 1]), np.array([1 / 6, 1 / 2, 1 / 3])
    assert values @ weights == pytest.approx(0)
    variance = float(np.square(values) @ weights)
    estimates, shares = [], []
    for draw in itertools.product(range(3), repeat=6):
        noise = values[list(draw)].reshape(2, 3)
        estimates.append(marginals(noise).marginal(NAMES).counts.ravel())
        shares.append(weights[list(draw)].prod())
    estimates, shares = np.array(estimates), np.array(shares)
    mean = shares @ estimates
    covariance = (estimates - mean).T @ (shares[:, None] * (estimates - mean))
    plain = marginals(0).marginal(NAMES)
    assert np.allclose(mean, plain.counts.ravel(), atol=1e-10)
    noisy = marginals(0, variance).marginal(NAMES)
    for population in (False, True):
        added = noisy.covariance(population=population) - plain.covariance(population=population)
        assert np.allclose(added, covariance, atol=1e-10)
        alone = noisy.variance(population=population) - plain.variance(population=population)
        assert np.allclose(alone.ravel(), np.diag(covariance), atol=1e-10)
        weights_of = np.arange(12.0).reshape(2, 2, 3)
        functions = noisy.covariance_of(weights_of, population=population)
        functions = functions - plain.covariance_of(weights_of, population=population)
        flat = weights_of.reshape(2, -1)
        assert np.allclose(functions, flat @ covariance @ flat.T, atol=1e-8)


def test_the_moments_of_ratios_have_it_too():
    """W^2, W V and V^2 over the cells, with W from the inverse listed whole."""
    noisy, plain = marginals(0, 7.0).marginal(NAMES), marginals(0).marginal(NAMES)
    cell = inverse()
    margin = np.repeat(cell.reshape(2, 3, 6).sum(axis=1), 3, axis=0)
    added = [
        n - p for n, p in zip(noisy.second_moments("b"), plain.second_moments("b"), strict=True)
    ]
    assert np.allclose(added[0].ravel(), 7 * (cell**2).sum(axis=1))
    assert np.allclose(added[1].ravel(), 7 * (cell * margin).sum(axis=1))
    assert np.allclose(added[2].ravel(), 7 * (margin**2).sum(axis=1)[[0, 3]])


def test_margins_add_up_the_noise_of_their_cells():
    tables = {
        NAMES: NoisyTable(COUNTS, 2.0),
        ("b",): NoisyTable(COUNTS.sum(axis=0) + 1, 5.0),
    }
    reports = NoisyCounts(tables, 240)
    assert reports.noise(("b", "a")) == 2.0
    assert np.array_equal(reports.table(("b", "a")), COUNTS.T)
    # Three cells of variance 2 are more than none: there is no other table of a.
    assert reports.noise(("a",)) == 6.0
    # Two cells of variance 2 are less than one of 5.
    assert reports.noise(("b",)) == 4.0
    assert np.array_equal(reports.table(("b",)), COUNTS.sum(axis=0))
    with pytest.raises(UnknownVariable):
        reports.noise(("c",))


def test_strata_add_their_noise():
    other = TabulatedCounts({NAMES: COUNTS}, 240)
    noisy = NoisyCounts({NAMES: NoisyTable(COUNTS, 3.0)}, 240)
    both = EstimatedMarginals.of([(noisy, PLAN), (other, PLAN)]).marginal(NAMES)
    plain = EstimatedMarginals.of([(other, PLAN), (other, PLAN)]).marginal(NAMES)
    added = both.variance(population=True) - plain.variance(population=True)
    assert np.allclose(added.ravel(), 3 * (inverse() ** 2).sum(axis=1))


def test_resampled_tables_vary_by_it():
    table = marginals(0, 400.0).marginal(NAMES)
    drawn = table.resampled(40_000, np.random.default_rng(1)).reshape(40_000, -1)
    wanted = np.diag(table.covariance(population=True))
    # A sample variance of normal deviates has the relative error sqrt(2 / 40,000) = 0.7 %.
    assert np.allclose(drawn.var(axis=0), wanted, rtol=6 * 0.0071)
    assert not np.allclose(
        drawn.var(axis=0), wanted - 400 * (inverse() ** 2).sum(axis=1), rtol=0.05
    )


@pytest.mark.parametrize(
    "ask",
    [
        lambda m: m.independence(["a"], ["b"], []),
        lambda m: m.expected(["a", "b"]),
        lambda m: m.explanation({"a": [], "b": ["a"]}),
    ],
)
def test_what_needs_the_reports_themselves_is_refused(ask):
    with pytest.raises(EstimationError, match="noise of their own"):
        ask(marginals(0, 1.0))
    columns = {"a": np.zeros(9, dtype=np.uint8), "b": np.zeros(9, dtype=np.uint8)}
    ask(EstimatedMarginals(ReportedCounts(columns, PLAN.reported_sizes), PLAN))


@pytest.mark.parametrize("estimator", ["ml", "pooled"])
def test_other_estimators_are_refused(estimator):
    reports = NoisyCounts({NAMES: NoisyTable(COUNTS, 1.0)}, 240)
    with pytest.raises(EstimationError, match="noise of their own"):
        EstimatedMarginals(reports, PLAN, estimator=estimator).marginal(NAMES)


def test_supports_have_it():
    """Items are counted from tables, whose errors know the noise."""
    noisy = marginals(0, 9.0).supports([("a", 0), ("b", 1)]).counts(np.array([[0, 1]]))
    plain = marginals(0).supports([("a", 0), ("b", 1)]).counts(np.array([[0, 1]]))
    added = (inverse()[1] ** 2).sum() * 9.0
    assert noisy.variance(population=True)[0] - plain.variance(population=True)[0] == pytest.approx(
        added
    )
