"""Supports of itemsets and rules: record by record, and over every possible report."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from pramana_core.channels import Dense, Mixture, Symmetric
from pramana_core.domain import Domain
from pramana_core.errors import DomainError, LimitExceeded, UnknownVariable
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.plan import Block, Plan
from tests.shared.estimation.recordwise import PLANS, Records, itemsets_of, sides_of

ITEMS = (("c", 1), ("b", 2), ("a", 0), ("b", 0), ("c", 0), ("a", 1), ("b", 1))
"""In no order of variables, codes or blocks."""

TABLES = 2000


# Record by record ---------------------------------------------------------------------------------


def estimators(sources: Sequence[Records], items, itemset) -> np.ndarray:
    """Each record's estimator of whether it has all items of a set."""
    names, cell = [items[i][0] for i in itemset], tuple(items[i][1] for i in itemset)
    return np.concatenate([records.estimators(names)[(slice(None), *cell)] for records in sources])


def rule_estimators(sources: Sequence[Records], items, itemset, sides) -> list[np.ndarray]:
    """For each antecedent, each record's estimators of the three parts of the rule, (3, records).

    An item that a part has not may be any other category of its variable. That matters where a
    block reports more codes than there are categories: its variables together have another
    estimator than one alone.
    """
    names, cell = [items[i][0] for i in itemset], np.array([items[i][1] for i in itemset])
    cells = np.concatenate([records.estimators(names) for records in sources])
    found = []
    for side in sides:
        parts = []
        for kept in (side | True, side, ~side):
            chosen = tuple(c if keep else slice(None) for c, keep in zip(cell, kept, strict=True))
            part = cells[(slice(None), *chosen)]
            parts.append(part.reshape(len(part), -1).sum(axis=1))
        found.append(np.stack(parts))
    return found


def close(got, wanted) -> None:
    np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-7)


def assert_counts(supports, sources, items, lengths=(1, 2, 3)) -> None:
    for length in lengths:
        itemsets = itemsets_of(items, length)
        counted = supports.counts(itemsets)
        weights = np.stack([estimators(sources, items, row) for row in itemsets])
        counts, second = weights.sum(axis=1), np.square(weights).sum(axis=1)
        records = weights.shape[1]
        assert counted.records == records
        close(counted.counts, counts)
        close(counted.variance(population=False), np.maximum(second - counts, 0))
        close(counted.variance(population=True), np.maximum(second - counts**2 / records, 0))


def assert_rules(supports, sources, items, lengths=(2, 3)) -> None:
    for length in lengths:
        itemsets = itemsets_of(items, length)
        sides = sides_of(length)
        every = [supports.rules(itemsets, np.tile(side, (len(itemsets), 1))) for side in sides]
        for row, itemset in enumerate(itemsets):
            parts = rule_estimators(sources, items, itemset, sides)
            for rules, weights in zip(every, parts, strict=True):
                counts, moments = weights.sum(axis=1), weights @ weights.T
                # A record that has two of the three has the whole, or is counted in one twice.
                shared = np.full((3, 3), counts[0])
                shared[1, 1], shared[2, 2] = counts[1:]
                assert rules.records == weights.shape[1]
                close(rules.counts[row], counts)
                close(rules.covariance(population=False)[row], moments - shared)
                expected = moments - np.outer(counts, counts) / weights.shape[1]
                close(rules.covariance(population=True)[row], expected)


@pytest.mark.slow
@pytest.mark.parametrize("records", [65, TABLES])
@pytest.mark.parametrize("name", PLANS)
def test_supports_are_sums_over_single_records(name: str, records: int):
    made = Records.random(PLANS[name], records, seed=records)
    supports = made.marginals().supports(ITEMS)
    assert supports.items == ITEMS
    assert_counts(supports, [made], ITEMS)
    assert_rules(supports, [made], ITEMS, (2, 3) if records < TABLES else (2,))


def test_the_comparison_sees_another_plan_and_another_error():
    """The control: the nearest wrong answers are told apart."""
    made = Records.random(PLANS["joint-symmetric"], 65, seed=2)
    other = Records(PLANS["independent"], made.columns)
    supports = made.marginals().supports(ITEMS)
    with pytest.raises(AssertionError):
        assert_counts(supports, [other], ITEMS)
    with pytest.raises(AssertionError):
        assert_rules(supports, [other], ITEMS)
    one = supports.rules(np.array([[0, 1]]), np.array([[True, False]]))
    two = supports.rules(np.array([[0, 1]]), np.array([[False, True]]))
    assert not np.allclose(one.counts, two.counts)
    np.testing.assert_array_equal(one.counts[:, [0, 2, 1]], two.counts)
    assert not np.allclose(one.covariance(population=True), one.covariance(population=False))


SIX = Domain.of(a="xy", b="123", c="pq", d="uvw", e="01", f="01")


def test_rules_over_several_joint_blocks():
    """Antecedents that divide two blocks, one, or none."""
    a, b, c, d, e, f = SIX
    plan = Plan(
        (
            Block((d, a), Symmetric.from_gamma(6, 9.0)),
            Block((f,), Dense.binary(0.1, 0.3)),
            Block((c, e, b), Mixture.from_gamma(12, 19.0)),
        )
    )
    made = Records.random(plan, 30, seed=20)
    items = (("e", 1), ("a", 0), ("f", 1), ("b", 2), ("d", 0), ("c", 1), ("a", 1))
    supports = made.marginals().supports(items)
    assert_counts(supports, [made], items, (4, 6))
    assert_rules(supports, [made], items, (4,))


def test_itemsets_of_more_cells_than_allowed_are_refused(monkeypatch: pytest.MonkeyPatch):
    supports = Records.random(PLANS["independent"], 40, seed=8).marginals().supports(ITEMS)
    triples = itemsets_of(ITEMS, 3)
    monkeypatch.setattr("pramana_core.estimation.supports.SUPPORT_CELLS", 12)
    supports.counts(triples)
    monkeypatch.setattr("pramana_core.estimation.supports.SUPPORT_CELLS", 11)
    with pytest.raises(LimitExceeded):
        supports.counts(triples)


# Strata -------------------------------------------------------------------------------------------

ALIKE = {
    "one plan": ("joint-symmetric", "joint-symmetric"),
    "other plans": ("independent", "joint-symmetric", "mixture"),
    "both ways": ("independent", "not-lumpable", "wide", "one-hot"),
}


@pytest.mark.slow
@pytest.mark.parametrize("names", ALIKE.values(), ids=ALIKE.keys())
def test_supports_of_strata_add_up(names):
    sources = [Records.random(PLANS[n], 30 + 7 * i, seed=i) for i, n in enumerate(names)]
    marginals = EstimatedMarginals.of([(s.counts(), s.plan) for s in sources], estimator="sum")
    supports = marginals.supports(ITEMS)
    assert supports.items == ITEMS
    assert_counts(supports, sources, ITEMS)
    assert_rules(supports, sources, ITEMS)


# What cannot be asked -----------------------------------------------------------------------------


WRONG = {
    "unknown variable": ((("a", 0), ("z", 0)), UnknownVariable),
    "code too large": ((("b", 3),), DomainError),
    "negative code": ((("b", -1),), DomainError),
    "twice": ((("b", 1), ("a", 0), ("b", 1)), DomainError),
}


@pytest.mark.parametrize(("items", "error"), WRONG.values(), ids=WRONG.keys())
@pytest.mark.parametrize("estimator", ["moment", "ml"])
def test_items_that_are_none_are_refused(items, error, estimator: str):
    made = Records.random(PLANS["independent"], 20, seed=13)
    for marginals in (
        made.marginals(estimator=estimator),
        EstimatedMarginals.of([(made.counts(), made.plan)] * 2, estimator=estimator),
    ):
        with pytest.raises(error):
            marginals.supports(items)
