"""Errors of estimated tables, enumerated over every report and against dense algebra."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from pramana_core.channels import Dense, Grouped, Symmetric
from pramana_core.domain import Domain
from pramana_core.errors import EstimationError, LimitExceeded, OptionError, UnknownVariable
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.estimation.table_estimates import EstimatedTable
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Block, Plan
from tests.shared.estimation.recordwise import INDEPENDENT, SWAPS, A, B, C, Table

PLANS = {
    "independent": INDEPENDENT,
    "joint-lumpable": Plan(
        (Block((A, B), Symmetric.from_gamma(6, 9.0)), Block((C,), Dense.binary(0.2, 0.1)))
    ),
    "joint-not-lumpable": Plan((Block((A, B), SWAPS), Block((C,), Dense.binary(0.2, 0.1)))),
    "joint-apart": Plan(
        (
            Block((C,), Symmetric.from_probability(2, 0.2)),
            Block((B, A), Symmetric.from_gamma(6, 5.0)),
        )
    ),
}


def dense_parts(plan: Plan, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """The whole matrix over the plan's domain, and the aggregation onto the cells of `names`."""
    matrix = np.ones((1, 1))
    for block in plan.blocks:
        matrix = np.kron(matrix, block.channel.matrix())
    cells = list(np.ndindex(*plan.domain.shape))
    asked = plan.domain.project(names)
    onto = np.zeros((asked.size, len(cells)))
    for column, cell in enumerate(cells):
        index = tuple(cell[plan.domain.axis(n)] for n in names)
        onto[np.ravel_multi_index(index, asked.shape), column] = 1
    return matrix, onto


def table_of(plan: Plan, tensor: np.ndarray, names: list[str], estimator: str) -> EstimatedTable:
    reported = Table(plan.domain.names, tensor)
    return EstimatedMarginals(reported, plan, estimator=estimator).marginal(names)  # type: ignore[arg-type]


ASKED = [["a"], ["b", "a"], ["c", "b"], ["b"], ["c", "a", "b"], ["a", "c"]]


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
@pytest.mark.parametrize("names", ASKED, ids="".join)
def test_tables_and_errors_equal_dense_algebra(plan: Plan, names: list[str]):
    tensor = np.random.default_rng(5).integers(20, 400, plan.domain.shape).astype(float)
    matrix, onto = dense_parts(plan, names)
    estimated = table_of(plan, tensor, names, "moment")
    decoder = onto @ np.linalg.inv(matrix).T
    second = (decoder * tensor.ravel()) @ decoder.T
    counts = decoder @ tensor.ravel()
    np.testing.assert_allclose(estimated.counts.ravel(), counts, rtol=1e-9, atol=1e-8)
    population = second - np.outer(counts, counts) / tensor.sum()
    given_records = second - np.diag(counts)
    np.testing.assert_allclose(
        estimated.covariance(population=True), population, rtol=1e-8, atol=1e-7
    )
    np.testing.assert_allclose(
        estimated.covariance(population=False), given_records, rtol=1e-8, atol=1e-7
    )
    np.testing.assert_allclose(
        estimated.variance(population=False).ravel(),
        np.maximum(np.diag(given_records), 0),
        rtol=1e-8,
        atol=1e-7,
    )
    np.testing.assert_allclose(
        estimated.standard_error(population=True).ravel() ** 2, np.diag(population), rtol=1e-8
    )


TINY = Plan((Block((A,), Dense.binary(0.1, 0.25)), Block((C,), Symmetric.from_probability(2, 0.2))))


def enumerate_reports(matrix: np.ndarray, truths: list[int]):
    for reports in itertools.product(range(len(matrix)), repeat=len(truths)):
        probability = math.prod(matrix[t, r] for t, r in zip(truths, reports, strict=True))
        yield np.bincount(reports, minlength=len(matrix)).reshape(2, 2).astype(float), probability


def test_the_error_given_the_records_is_unbiased_over_all_reports():
    """Sum over all 4^4 reports of four records: mean, covariance and its estimate, to 1e-12."""
    matrix = np.kron(*(b.channel.matrix() for b in TINY.blocks))
    truths = [0, 0, 1, 3]
    true = np.bincount(truths, minlength=4)
    mean, outer, claimed = np.zeros(4), np.zeros((4, 4)), np.zeros((4, 4))
    for tensor, probability in enumerate_reports(matrix, truths):
        table = table_of(TINY, tensor, ["a", "c"], "moment")
        flat = table.counts.ravel()
        mean += probability * flat
        outer += probability * np.outer(flat, flat)
        claimed += probability * table.covariance(population=False)
    np.testing.assert_allclose(mean, true, atol=1e-12)
    np.testing.assert_allclose(claimed, outer - np.outer(mean, mean), atol=1e-12)
    inverse = np.linalg.inv(matrix)
    np.testing.assert_allclose(
        claimed, inverse.T @ np.diag(matrix.T @ true) @ inverse - np.diag(true), atol=1e-12
    )


@pytest.mark.calibration
def test_the_error_against_the_population_over_all_records_and_reports():
    """The population's records vary too; the plug-in variance is short by the factor 1 - 1/N."""
    theta = np.array([0.4, 0.1, 0.3, 0.2])
    matrix = np.kron(*(b.channel.matrix() for b in TINY.blocks))
    records = 4
    mean, outer, claimed = np.zeros(4), np.zeros((4, 4)), np.zeros((4, 4))
    estimates: dict[bytes, tuple[Any, Any]] = {}  # of the few tensors that there are, made once
    for truths in itertools.product(range(4), repeat=records):
        weight = math.prod(theta[list(truths)])
        for tensor, probability in enumerate_reports(matrix, list(truths)):
            if tensor.tobytes() not in estimates:
                table = table_of(TINY, tensor, ["a", "c"], "moment")
                found = table.counts.ravel(), table.covariance(population=True)
                estimates[tensor.tobytes()] = found
            flat, covariance = estimates[tensor.tobytes()]
            mean += weight * probability * flat
            outer += weight * probability * np.outer(flat, flat)
            claimed += weight * probability * covariance
    covariance = outer - np.outer(mean, mean)
    np.testing.assert_allclose(mean, records * theta, atol=1e-12)
    np.testing.assert_allclose(claimed, covariance * (1 - 1 / records), atol=1e-12)


WIDE = Dense.from_probabilities([[0.5, 0.3, 0.1, 0.1], [0.1, 0.2, 0.3, 0.4]])


@pytest.mark.slow
def test_what_cannot_be_asked_is_refused():
    columns = {n: np.array([0, 1, 1], dtype=np.uint8) for n in "abc"}
    plan = PLANS["independent"]
    marginals = EstimatedMarginals(ReportedCounts(columns, plan.reported_sizes), plan)
    assert marginals.records == 3
    assert marginals.domain == plan.domain
    with pytest.raises(UnknownVariable):
        marginals.marginal(["z"])
    with pytest.raises(OptionError):
        marginals.marginal(["a", "a"])
    with pytest.raises(OptionError):
        marginals.marginal([])
    with pytest.raises(OptionError):
        EstimatedMarginals(ReportedCounts(columns, plan.reported_sizes), plan, estimator="best")  # type: ignore[arg-type]
    big = Domain.of(**{f"v{i}": [str(k) for k in range(100)] for i in range(5)})
    wide = Plan.unrandomized(big)
    columns = {v.name: np.zeros(2, dtype=np.uint8) for v in big}
    huge = EstimatedMarginals(ReportedCounts(columns, wide.reported_sizes), wide)
    with pytest.raises(LimitExceeded):
        huge.marginal(big.names)
    with pytest.raises(LimitExceeded):
        huge.marginal(["v0", "v1"]).covariance(population=True)
    # A grouped joint block is not lumpable; its errors would list an inverse of 10^8 entries.
    pairs = tuple((2 * i, 2 * i + 1) for i in range(5_000))
    large = Domain.of(p=[str(i) for i in range(100)], q=[str(i) for i in range(100)])
    swaps = Grouped(pairs, (Dense.binary(0.1, 0.2),) * len(pairs))
    joint = Plan((Block(large.variables, swaps),))
    codes = {v.name: np.zeros(2, dtype=np.uint16) for v in large}
    table = EstimatedMarginals(ReportedCounts(codes, joint.reported_sizes), joint).marginal(
        ["p", "q"]
    )
    with pytest.raises(LimitExceeded):
        table.second_moments(["q"])
    blind = Plan((Block((A,), Dense.from_probabilities([[0.5, 0.25, 0.25]] * 2)),))
    with pytest.raises(EstimationError):
        table_of(blind, np.array([5.0, 3.0, 2.0]), ["a"], "ml")
