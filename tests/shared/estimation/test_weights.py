"""Sources with different noise count by their information: no worse than the best of them alone."""

from __future__ import annotations

import numpy as np
import pytest

from pramana_core.channels import Dense, Identity, Symmetric
from pramana_core.domain import Domain
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.plan import Block, Plan
from tests.shared.estimation.recordwise import Table

DOMAIN = Domain.of(a="xyz", b="01", c="pq")
LAW = np.array(
    [[[0.3, 0.02], [0.05, 0.08]], [[0.1, 0.1], [0.02, 0.13]], [[0.04, 0.06], [0.09, 0.01]]]
)
ASKED = [["a"], ["b", "a"], ["c", "b"], ["a", "b", "c"]]


def flips(p: float, domain: Domain = DOMAIN) -> Plan:
    return Plan(tuple(Block((v,), Symmetric.from_probability(v.size, p)) for v in domain))


SKEWED = Plan(
    (
        Block((DOMAIN["c"],), Dense.binary(0.3, 0.1)),
        Block((DOMAIN["b"], DOMAIN["a"]), Symmetric.from_gamma(6, 4.0)),
    )
)
PAIRS = {
    "p .1 and .4": (flips(0.1), flips(0.4)),
    "exact and p .45": (Plan.unrandomized(DOMAIN), flips(0.45)),
    "columns and a joint block": (flips(0.2), SKEWED),
}


def expected(plan: Plan, records: float, law: np.ndarray = LAW) -> Table:
    """The reports that a plan makes on average of records of a law."""
    names = list(plan.domain.names)
    cells = law.transpose([DOMAIN.axis(name) for name in names])
    for block in reversed(plan.blocks):
        size = [v.size for v in block.variables]
        at = names.index(block.names[0])
        shape = cells.shape
        flat = cells.reshape(*shape[:at], -1, *shape[at + len(size) :])
        cells = np.moveaxis(
            np.tensordot(block.channel.matrix().T, np.moveaxis(flat, at, 0), 1), 0, at
        ).reshape(shape)
    return Table(tuple(names), records * cells)


def drawn(plan: Plan, records: int, rng: np.random.Generator) -> tuple[Table, np.ndarray]:
    """Reports of records drawn from the law, and the records themselves."""
    true = rng.multinomial(records, LAW.ravel()).reshape(LAW.shape)
    reports = np.zeros_like(expected(plan, 1.0).tensor)
    for cell in np.ndindex(*LAW.shape):
        unit = np.zeros(LAW.shape)
        unit[cell] = 1.0
        chances = expected(plan, 1.0, unit).tensor
        reports += rng.multinomial(true[cell], chances.ravel() / chances.sum()).reshape(
            chances.shape
        )
    return Table(plan.domain.names, reports), true


def exact_errors(plans, sizes, factors, names: list[str], cells=slice(None)) -> float:
    """The variance of the weighted counts against the population, summed over cells, by the law."""
    gone = tuple(i for i, name in enumerate(DOMAIN.names) if name not in names)
    total = 0.0
    for plan, size, factor in zip(plans, sizes, factors, strict=True):
        alone = EstimatedMarginals(expected(plan, size), plan).marginal(names)
        total += factor**2 * alone.variance(population=True).ravel()[cells].sum()
    assert LAW.sum(axis=gone).size == np.prod([DOMAIN[n].size for n in names])
    return float(total)


@pytest.mark.parametrize("plans", PAIRS.values(), ids=PAIRS.keys())
@pytest.mark.parametrize("names", ASKED, ids="".join)
@pytest.mark.parametrize("sizes", [(400, 400), (100, 3000)])
def test_weighted_shares_err_no_more_than_the_better_source_alone(plans, names, sizes):
    """By exact variances. The plain sum is the negative control: it is worse in some of them."""
    sources = [(expected(plan, n), plan) for plan, n in zip(plans, sizes, strict=True)]
    table = EstimatedMarginals.of(sources).marginal(names)
    np.testing.assert_allclose(
        table.counts.ravel(),
        sum(sizes)
        * LAW.transpose(
            [*map(DOMAIN.axis, names), *(i for i in range(3) if DOMAIN.names[i] not in names)]
        )
        .reshape(*(DOMAIN[n].size for n in names), -1)
        .sum(axis=-1)
        .ravel(),
        rtol=1e-9,
    )
    whole = sum(sizes)
    alone = [
        exact_errors(plans, sizes, np.where(np.arange(2) == i, whole / np.array(sizes), 0.0), names)
        for i in (0, 1)
    ]
    weighted = exact_errors(plans, sizes, table.factors, names)
    # Weights suppose independent variables; that costs less than a twentieth here.
    assert weighted <= 1.05 * min(alone)
    assert weighted == pytest.approx(float(table.variance(population=True).sum()), rel=1e-9)
    best = 1 / (1 / alone[0] + 1 / alone[1])
    assert weighted <= 1.1 * best


def test_sources_with_the_same_channels_add_up_exactly():
    rng = np.random.default_rng(3)
    sources = [(drawn(flips(0.3), n, rng)[0], flips(0.3)) for n in (50, 700)]
    weighted, added = (EstimatedMarginals.of(sources, estimator=e) for e in ("moment", "sum"))
    for names in ASKED:
        assert (weighted.marginal(names).counts == added.marginal(names).counts).all()
        for population in (False, True):
            variances = [
                m.marginal(names).variance(population=population) for m in (weighted, added)
            ]
            assert (variances[0] == variances[1]).all()


@pytest.mark.parametrize("plans", PAIRS.values(), ids=PAIRS.keys())
def test_errors_are_those_of_the_weighted_functions_of_each_report(plans):
    """Given the records the difference from their own counts: noise, and what chance put where."""
    rng = np.random.default_rng(4)
    sizes = (90, 400)
    sources = [(drawn(plan, n, rng)[0], plan) for plan, n in zip(plans, sizes, strict=True)]
    table = EstimatedMarginals.of(sources).marginal(["b", "a"])
    records, counts, products = sum(sizes), table.counts.ravel(), np.zeros((6, 6))
    for factor, source in zip(table.factors, sources, strict=True):
        alone = EstimatedMarginals(*source).marginal(["b", "a"])
        own = alone.covariance(population=False) + np.diag(alone.counts.ravel())
        products += factor**2 * own
    mean_square = float(np.dot(sizes, np.square(table.factors)) / records)
    both = np.outer(counts, counts) / records
    population = products - mean_square * both
    np.testing.assert_allclose(table.covariance(population=True), population, atol=1e-7)
    given = population - np.diag(counts) + both
    np.testing.assert_allclose(table.covariance(population=False), given, atol=1e-7)
    weights = np.random.default_rng(1).normal(size=(3, 2, 3))
    flat = weights.reshape(3, -1)
    by_cell = table.covariance_with_cells(weights, population=True).reshape(3, -1)
    np.testing.assert_allclose(by_cell, flat @ population, atol=1e-6)
    ww, wv, vv = table.second_moments(["a"])
    margin = np.kron(np.eye(2), np.ones((3, 3)))
    wanted = population + both
    np.testing.assert_allclose(ww.ravel(), np.diag(wanted), atol=1e-7)
    np.testing.assert_allclose(wv.ravel(), np.diag(wanted @ margin), atol=1e-7)
    np.testing.assert_allclose(vv.ravel(), np.diag(margin @ wanted @ margin)[::3], atol=1e-7)


def test_the_prior_of_posteriors_is_that_of_all_sources():
    rng, plans = np.random.default_rng(7), (flips(0.05), flips(0.48))
    sources = [(drawn(plan, 2000, rng)[0], plan) for plan in plans]
    truth = 4000 * LAW.sum(axis=2)
    off = {
        e: np.abs(EstimatedMarginals.of(sources, estimator=e).expected(["a", "b"]) - truth).sum()
        for e in ("moment", "sum")
    }
    assert off["moment"] < off["sum"] / 3
    expected_counts = EstimatedMarginals.of(sources).expected(["a", "b"])
    assert expected_counts.sum() == pytest.approx(4000)
    assert expected_counts.min() >= 0


def test_a_category_that_no_record_of_the_exact_source_has_leaves_weights_finite():
    domain = Domain.of(b="01")
    plans = [
        Plan((Block(domain.variables, c),)) for c in (Identity(2), Symmetric.from_gamma(2, 4.0))
    ]
    tables = [Table(("b",), np.array(counts)) for counts in ([7.0, 0.0], [3.0, 9.0])]
    found = EstimatedMarginals.of(list(zip(tables, plans, strict=True))).marginal(["b"])
    assert found.counts.sum() == pytest.approx(19)
    assert 1 < found.factors[0] < 19 / 7
    assert (found.variance(population=True) > 0).all()
