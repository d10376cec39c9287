"""Strata counted together: against one table of all records, textbook EM, Hessians and coverage."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from pramana_core.channels import Dense, Identity, Withheld
from pramana_core.domain import Domain
from pramana_core.errors import DomainError, EmptyTable, EstimationError
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.plan import Block, Plan
from tests.shared.estimation.recordwise import DOMAIN, INDEPENDENT, SWAPS, A, B, C, Table

NOISY = INDEPENDENT
JOINT = Plan((Block((C,), Dense.binary(0.2, 0.1)), Block((A, B), SWAPS)))
CLEAN = Plan.unrandomized(DOMAIN)
ASKED = [["a"], ["b", "a"], ["c", "b"], ["c", "a", "b"]]


def counted(plan: Plan, seed: int, low: int = 20, high: int = 300) -> Table:
    shape = [plan.reported_sizes[name] for name in plan.domain.names]
    return Table(plan.domain.names, np.random.default_rng(seed).integers(low, high, shape))


def listed(plan: Plan, domain: Domain = DOMAIN) -> np.ndarray:
    """Pr(report | true cell of the domain), (cells, reports); what is not in the plan is free."""
    cells = list(np.ndindex(*domain.shape))
    sizes = [plan.reported_sizes[name] for name in plan.domain.names]
    dense = np.empty((len(cells), math.prod(sizes)))
    matrices = [block.channel.matrix() for block in plan.blocks]
    for row, cell in enumerate(cells):
        of_cell = np.ones(1)
        for block, matrix in zip(plan.blocks, matrices, strict=True):
            codes = [cell[domain.axis(name)] for name in block.names]
            code = np.ravel_multi_index(codes, [v.size for v in block.variables])
            of_cell = np.kron(of_cell, matrix[code])
        dense[row] = of_cell
    return dense


# By moments ---------------------------------------------------------------------------------------


def test_normal_deviates_have_the_population_covariance_exactly():
    """Counts with a withheld variable are no linear function of the reports."""
    hidden = Plan((Block((A,), Identity(2)), Block((C,), Withheld(2))))
    domain = Domain((A, C))
    sources = [
        (Table("ac", [[30, 50], [70, 20]]), Plan.unrandomized(domain)),
        (Table("ac", [[40], [90]]), hidden),
    ]
    table = EstimatedMarginals.of(sources, estimator="ml").marginal(["c", "a"])

    class Units:
        def standard_normal(self, shape):
            return np.eye(*shape)

    deviates = (table.resampled(4, Units()) - table.counts).reshape(4, -1)
    covariance = table.covariance(population=True)
    np.testing.assert_allclose(deviates.T @ deviates, covariance, atol=1e-8)
    assert table.variance(population=True).ravel() == pytest.approx(np.diag(covariance))


# By likelihood ------------------------------------------------------------------------------------


def without(plan: Plan, name: str) -> Plan:
    return Plan(tuple(block for block in plan.blocks if name not in block.names))


def withheld(plan: Plan, name: str) -> Plan:
    return Plan(
        tuple(
            Block(block.variables, Withheld(block.channel.shape[0]))
            if name in block.names
            else block
            for block in plan.blocks
        )
    )


MIXED = {
    "two-plans": (NOISY, JOINT),
    "absent": (CLEAN, without(NOISY, "b"), without(CLEAN, "c")),
    "withheld": (NOISY, withheld(CLEAN, "a"), withheld(NOISY, "c")),
}


@pytest.mark.parametrize("plans", MIXED.values(), ids=MIXED.keys())
def test_errors_are_those_of_a_numerical_hessian(plans: tuple[Plan, ...]):
    """Finite differences over all cells but one; the last follows from the rest."""
    sources = [(counted(plan, seed, 100), plan) for seed, plan in enumerate(plans)]
    combined = EstimatedMarginals.of(sources, estimator="ml")
    names = ["a", "b", "c"]
    table = combined.marginal(names)
    theta = table.counts.ravel() / table.records
    lift = np.vstack([np.eye(11), -np.ones((1, 11))])
    seen = [(reports.tensor.ravel(), listed(plan, DOMAIN).T) for reports, plan in sources]

    def log_likelihood(at: np.ndarray) -> float:
        return sum(float(counts @ np.log(dense @ at)) for counts, dense in seen)

    step = 1e-4
    hessian = np.empty((11, 11))
    for i, j in itertools.product(range(11), repeat=2):
        value = 0.0
        for s, t in itertools.product((1, -1), repeat=2):
            move = lift[:, i] * s * step + lift[:, j] * t * step
            value += s * t * log_likelihood(theta + move)
        hessian[i, j] = value / (4 * step**2)
    covariance = lift @ np.linalg.inv(-hessian) @ lift.T * combined.records**2
    got = table.covariance(population=True)
    scale = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    assert np.abs((got - covariance) / scale).max() < 0.02


@pytest.mark.parametrize("estimator", ["moment", "ml", "pooled"])
def test_a_domain_can_be_a_part_of_what_is_reported(estimator: str):
    source = (counted(CLEAN, 10), CLEAN)
    every = EstimatedMarginals.of([source], estimator=estimator)
    some = EstimatedMarginals.of([source], estimator=estimator, variables=["c", "a"])
    assert some.domain.names == ("c", "a")
    for names in (["a"], ["a", "c"], ["b", "c"]):
        np.testing.assert_array_equal(some.marginal(names).counts, every.marginal(names).counts)


# What is refused ----------------------------------------------------------------------------------


def test_what_cannot_be_combined_is_refused():
    source = (counted(CLEAN, 11), CLEAN)
    with pytest.raises(EmptyTable):
        EstimatedMarginals.of([])
    other = Plan.unrandomized(Domain.of(a="yx"))
    with pytest.raises(DomainError) as raised:
        EstimatedMarginals.of([source, (counted(other, 12), other)])
    assert raised.value.where == "a"


def test_moments_need_every_variable_in_every_stratum():
    partial = without(CLEAN, "b")
    sources = [(counted(CLEAN, 14), CLEAN), (counted(partial, 15), partial)]
    combined = EstimatedMarginals.of(sources)
    with pytest.raises(EstimationError):
        combined.marginal(["a", "b"])
    assert combined.marginal(["c", "a"]).records == combined.records


def test_what_is_never_reported_together_has_no_errors():
    sources = [(counted(plan, 16), plan) for plan in (without(CLEAN, "a"), without(CLEAN, "b"))]
    combined = EstimatedMarginals.of(sources, estimator="ml")
    with pytest.raises(EstimationError):
        combined.marginal(["a", "b"])
    assert combined.marginal(["a", "c"]).counts.min() > 0
