"""Intervals of cells: the equation they solve, and how often they cover over every outcome."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import multinomial

from pramana_core.channels import Choice, Dense, Sampled, Symmetric, Withheld
from pramana_core.domain import Domain
from pramana_core.errors import OptionError
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.marginals.counts import Tensor
from pramana_core.marginals.score_interval import normal_quantile
from pramana_core.plan import Block, Plan
from tests.shared.estimation.recordwise import DOMAIN, INDEPENDENT, SWAPS, A, B, C, Table

Z = normal_quantile(0.95)
Z2 = Z**2

HALF = 1 << 31
PARTS = Sampled(
    (2, 3),
    (
        Choice((0, 1), HALF, Symmetric.from_gamma(6, 9.0)),
        Choice((1,), HALF, Symmetric.from_gamma(3, 9.0)),
    ),
)
PLANS = {
    "independent": INDEPENDENT,
    "joint": Plan(
        (Block((A, B), Symmetric.from_gamma(6, 9.0)), Block((C,), Dense.binary(0.2, 0.1)))
    ),
    "swaps": Plan((Block((A, B), SWAPS), Block((C,), Dense.binary(0.2, 0.1)))),
    "sampled": Plan((Block((A, B), PARTS), Block((C,), Dense.binary(0.2, 0.1)))),
}


def marginals(plan: Plan, reports: Tensor, estimator: str = "moment") -> EstimatedMarginals:
    counted = Table(plan.domain.names, reports)
    return EstimatedMarginals(counted, plan, estimator=estimator)  # type: ignore[arg-type]


def kron(factors: list[Tensor]) -> Tensor:
    whole = np.ones((1, 1))
    for factor in factors:
        whole = np.kron(whole, factor)
    return whole


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
@pytest.mark.parametrize("population", [True, False])
def test_the_ends_solve_the_score_equation(plan: Plan, population: bool):
    shape = list(plan.reported_sizes.values())
    reports = np.random.default_rng(4).integers(30, 90, shape)
    table = marginals(plan, reports).marginal(DOMAIN.names)
    records = reports.sum()
    squares = np.square(kron([b.channel.decoder() for b in plan.blocks])) @ reports.ravel()
    counts = table.counts.ravel()
    low, high = (end.ravel() for end in table.interval(population=population))
    possible = counts > 0
    assert (low < counts)[possible].all()
    assert (counts < high)[possible].all()
    inside = 0
    for ends in (low, high):
        variance = squares - counts + (ends - ends**2 / records if population else 0.0)
        open_end = (ends > 0) & (ends < records)
        inside += open_end.sum()
        np.testing.assert_allclose(
            np.square(counts - ends)[open_end], Z2 * variance[open_end], rtol=1e-8
        )
    assert inside > 1.5 * counts.size


# Several sources, noise, summed variables, likelihood --------------------------------------------


def test_records_that_report_nothing_widen_the_interval():
    """Likelihood counts them with the estimate; 300 of 600 tell what 300 alone would."""
    domain = Domain.of(b="123")
    (variable,) = domain
    reports = np.array([75, 95, 130])
    told = Plan((Block((variable,), Symmetric.from_probability(3, 0.3)),))
    silent = Plan((Block((variable,), Withheld(3)),))
    known = Table(("b",), reports)
    empty = Table(("b",), np.array([300]))
    alone = EstimatedMarginals(known, told, estimator="ml").marginal(["b"])
    both = EstimatedMarginals.of([(known, told), (empty, silent)], estimator="ml").marginal(["b"])
    for mine, wanted in zip(
        both.interval(population=True), alone.interval(population=True), strict=True
    ):
        np.testing.assert_allclose(mine / 600, wanted / 300, atol=0.012)


# Coverage, exact ---------------------------------------------------------------------------------


def outcomes(records: int, cells: int) -> list[tuple[int, ...]]:
    if cells == 1:
        return [(records,)]
    return [
        (first, *rest)
        for first in range(records + 1)
        for rest in outcomes(records - first, cells - 1)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("joint", [True, False])
def test_exact_coverage_of_two_binary_variables(joint: bool):
    """All 1,330 outcomes of 18 records, at three laws, against the normal interval's."""
    first, second = domain = Domain.of(a="xy", b="pq")
    if joint:
        blocks = (Block((first, second), Symmetric.from_gamma(4, 9.0)),)
    else:
        channel = Symmetric.from_probability(2, 0.15)
        blocks = (Block((first,), channel), Block((second,), channel))
    plan = Plan(blocks)
    matrix = kron([b.channel.matrix() for b in blocks])
    records = 18
    every = outcomes(records, 4)
    assert len(every) == math.comb(records + 3, 3)
    tables = [marginals(plan, np.reshape(one, (2, 2))).marginal(domain.names) for one in every]
    ends = np.array([t.interval(population=True) for t in tables]).reshape(len(every), 2, 4)
    middle = np.array([t.counts.ravel() for t in tables])
    half = Z * np.array([t.standard_error(population=True).ravel() for t in tables])
    score, normal = [], []
    for law in ([0.1, 0.2, 0.3, 0.4], [0.02, 0.08, 0.1, 0.8], [0.05, 0.45, 0.45, 0.05]):
        truth = records * np.array(law)
        chances = multinomial.pmf(every, records, np.array(law) @ matrix)
        assert chances.sum() == pytest.approx(1)
        score.append(chances @ ((ends[:, 0] <= truth) & (truth <= ends[:, 1])))
        normal.append(chances @ ((middle - half <= truth) & (truth <= middle + half)))
    assert 0.94 <= np.mean(score) <= 0.97
    assert np.min(score) > 0.91
    assert np.mean(normal) < 0.92
    assert np.min(normal) < 0.85


@pytest.mark.parametrize("level", [0.0, 1.0, 95, math.nan])
def test_an_interval_that_holds_everything_or_nothing_is_refused(level: float):
    table = marginals(INDEPENDENT, np.ones(DOMAIN.shape)).marginal(["a", "b"])
    for ask in (
        lambda: table.interval(level, population=True),
        lambda: table.ratio_interval(["a"], level),
        lambda: table.frame(level),
    ):
        with pytest.raises(OptionError):
            ask()
