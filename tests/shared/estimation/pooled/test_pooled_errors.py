"""Standard errors of pooled tables agree with their intervals; few records have large errors."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from benchmarks.coverage.setting import (
    domain_of,
    interacting,
    records_of,
    reports_of,
    sampled_pairs,
)
from pramana_core.channels import Symmetric
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.marginals.score_interval import FEW, normal_quantile
from pramana_core.plan import Block, Plan

DOMAIN = domain_of(3, 2, 4)
Z = normal_quantile(0.95)
RNG = np.random.default_rng(0)
CASES = [(5.0, 400, 1), (19.0, 1000, 2), (100.0, 60, 3)]


def pooled(gamma: float, records: int, seed: int) -> EstimatedMarginals:
    rng, plan = np.random.default_rng(seed), sampled_pairs(DOMAIN, gamma)
    true = records_of(plan, interacting(DOMAIN, 0.5), records, rng)
    return EstimatedMarginals(reports_of(plan, true, rng), plan, estimator="pooled")


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("names", list(itertools.combinations("abc", 2)), ids="".join)
def test_an_interval_given_the_records_is_the_raw_count_and_its_standard_errors(case, names):
    table = pooled(*case).marginal(list(names))
    raw = table.unshrunk
    error = raw.standard_error(population=False)
    np.testing.assert_allclose(table.standard_error(population=False), error, rtol=1e-9)
    low, high = raw.interval(population=False)
    inside = (low > 0) & (high < table.records)
    assert inside.any()
    np.testing.assert_allclose((high - raw.counts)[inside], Z * error[inside], rtol=1e-6)
    np.testing.assert_allclose((raw.counts - low)[inside], Z * error[inside], rtol=1e-6)
    # Those of the shrunk table are the same, but that they hold its counts.
    ends = table.interval(population=False)
    np.testing.assert_allclose(ends[0], np.minimum(low, table.counts), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ends[1], np.maximum(high, table.counts), rtol=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_the_errors_against_the_population_add_the_sampling_of_the_records(case):
    table = pooled(*case).marginal(["a", "c"])
    sampling = table.counts - np.square(table.counts) / table.records
    given, whole = (table.variance(population=p) for p in (False, True))
    np.testing.assert_allclose(whole, given + sampling, rtol=1e-9)
    np.testing.assert_allclose(
        np.diag(table.unshrunk.covariance(population=True)), whole.ravel(), rtol=1e-6
    )
    # What shrinkage moved is in the covariance of functions of the shrunk counts alone.
    moved = np.diag(table.covariance(population=True)) - whole.ravel()
    np.testing.assert_allclose(moved, np.square(table.moved).ravel(), rtol=1e-6, atol=1e-6)


PLANS = {
    "unrandomized": Plan.unrandomized(DOMAIN),
    "columns": Plan(tuple(Block((v,), Symmetric.from_probability(v.size, 0.2)) for v in DOMAIN)),
}


@pytest.mark.parametrize("records", range(1, FEW))
@pytest.mark.parametrize("estimator", ["moment", "sum", "ml", "pooled"])
@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
def test_few_records_that_are_all_alike_have_an_error_against_the_population(
    plan: Plan, estimator, records: int
):
    reports = reports_of(
        Plan.unrandomized(DOMAIN), {name: np.ones(records, np.uint16) for name in "abc"}, RNG
    )
    marginals = EstimatedMarginals(reports, plan, estimator=estimator)
    table = marginals.marginal(["a", "b"])
    population = table.standard_error(population=True)
    assert (population >= table.standard_error(population=False) - 1e-12).all()
    # All alike: each share may be a quarter off at least.
    assert (population > 0.25 * records).all()
    supports = marginals.supports((("a", 1), ("b", 1), ("b", 0)))
    errors = supports.counts(np.array([[0, 1], [0, 2]])).variance(population=True)
    assert (np.sqrt(errors) > 0.25 * records).all()
