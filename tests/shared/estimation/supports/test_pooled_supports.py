"""Supports from pooled tables: beyond pairs exact where the model holds, and their errors."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pramana_core.domain import Domain
from pramana_core.errors import LimitExceeded
from pramana_core.estimation.supports_pooled import LONGEST, PooledSupports

NAMES = "ABCDEFGHIJK"
RECORDS = 1_000


class Table:
    """A table that is known, with the error of a sample of the records."""

    def __init__(self, counts: np.ndarray):
        self.counts, self.unshrunk = counts, self

    def covariance_of(self, weights: np.ndarray, *, population: bool) -> np.ndarray:
        flat, counts = weights.reshape(len(weights), -1), self.counts.ravel()
        sampled = (flat * counts) @ flat.T - np.outer(flat @ counts, flat @ counts) / RECORDS
        return sampled * (1 if population else 0.5)

    def covariance_with_cells(self, weights: np.ndarray, *, population: bool) -> np.ndarray:
        cells = np.eye(self.counts.size).reshape(-1, *self.counts.shape)
        both = self.covariance_of(np.concatenate([weights, cells]), population=population)
        return both[: len(weights), len(weights) :].reshape(weights.shape)

    def variance(self, *, population: bool) -> np.ndarray:
        cells = np.eye(self.counts.size).reshape(-1, *self.counts.shape)
        both = self.covariance_of(cells, population=population)
        return np.diagonal(both).reshape(self.counts.shape)


class Known:
    """Marginals that are sums of one whole table."""

    def __init__(self, law: np.ndarray):
        self.domain = Domain.of(**dict.fromkeys(NAMES[: law.ndim], "ab"))
        self.records, self.law, self.asked = RECORDS, law, []

    def marginal(self, names):
        self.asked.append(tuple(names))
        axes = [self.domain.axis(name) for name in names]
        gone = tuple(a for a in range(self.law.ndim) if a not in axes)
        left = [a for a in range(self.law.ndim) if a in axes]
        table = self.law.sum(axis=gone).transpose([left.index(a) for a in axes])
        return Table(table * self.records)

    def can_estimate(self, names):
        return len(names) <= 2


def pairwise(width: int, seed: int) -> np.ndarray:
    """The law of variables of two categories of which only pairs interact."""
    rng = np.random.default_rng(seed)
    cells = np.indices([2] * width)
    logs = sum(rng.normal() * 0.5 * cells[a] for a in range(width))
    for a, b in itertools.combinations(range(width), 2):
        logs = logs + rng.normal() * 0.7 * cells[a] * cells[b]
    law = np.exp(logs)
    return law / law.sum()


def chain(width: int, seed: int) -> np.ndarray:
    """The law of a Markov chain of variables of two categories."""
    rng = np.random.default_rng(seed)
    law = np.array([0.3, 0.7])
    for _ in range(width - 1):
        stay = rng.uniform(0.75, 0.95, 2)
        step = np.array([[stay[0], 1 - stay[0]], [1 - stay[1], stay[1]]])
        law = law[..., None] * step
    return law


def supports(law: np.ndarray) -> PooledSupports:
    known = Known(law)
    return PooledSupports(known, tuple((name, 1) for name in known.domain.names))


def test_itemsets_of_pairwise_models_are_exact_and_of_others_not():
    rows = np.array(list(itertools.combinations(range(4), 4)))
    law = pairwise(4, 1)
    found = supports(law).counts(rows).counts / RECORDS
    assert found == pytest.approx([law[1, 1, 1, 1]], rel=1e-4)
    moved = law.copy()
    sign = (-1.0) ** np.indices([2] * 4).sum(axis=0)
    moved += 0.5 * law.min() * sign
    # The pairs are the same, and the interaction of all four is not seen.
    assert supports(moved).counts(rows).counts / RECORDS == pytest.approx(found, rel=1e-6)
    assert abs(moved[1, 1, 1, 1] - law[1, 1, 1, 1]) > 1e-4


def test_long_itemsets_are_exact_up_to_a_length():
    law = chain(LONGEST, 2)
    found = supports(law).counts(np.arange(LONGEST)[None]).counts / RECORDS
    assert found == pytest.approx([law[(1,) * LONGEST]], rel=1e-3)
    with pytest.raises(LimitExceeded) as raised:
        supports(chain(LONGEST + 1, 2)).counts(np.arange(LONGEST + 1)[None])
    assert raised.value.where == "items"


def test_single_items_and_pairs_are_the_cells_of_their_tables():
    law = pairwise(3, 3)
    made = supports(law)
    for row in ([0], [2], [0, 2], [1, 2]):
        found = made.counts(np.array([row]))
        table = made.marginals.marginal([NAMES[place] for place in row])
        cell = (1,) * len(row)
        assert found.counts[0] == pytest.approx(table.counts[cell])
        for population in (False, True):
            wanted = table.variance(population=population)[cell]
            assert found.variance(population=population)[0] == pytest.approx(wanted)


def moved(made: PooledSupports, item: int, partner: int | None, by: float) -> float:
    """The support of all items where the share of one, or of a pair, is another."""
    if partner is None:
        made._single[0, item] += by
    else:
        made._pair[0, [item, partner], [partner, item]] += by
    row = np.arange(len(made.items))[None]
    return float(made._shares(row).part(np.ones_like(row, dtype=np.bool_))[0][0])


@pytest.mark.parametrize("length", [3, 5])
def test_errors_follow_from_all_items_and_pairs_by_finite_differences(length: int):
    """The error is that of the linear function that moving each share by itself shows.

    The covariance of all shares is that of a sample, written out from the whole law.
    """
    law, step = pairwise(length, 5), 1e-6
    variance = supports(law).counts(np.arange(length)[None]).variance(population=True)[0]
    shares = [*((i, None) for i in range(length)), *itertools.combinations(range(length), 2)]
    slopes, whole = [], []
    for share in shares:
        ends = []
        for sign in (1, -1):
            made = supports(law)
            made.counts(np.arange(length)[None])
            ends.append(moved(made, *share, sign * step))
        slopes.append((ends[0] - ends[1]) / (2 * step))
        cells = np.indices([2] * length)
        whole.append((cells[share[0]] * (1 if share[1] is None else cells[share[1]])).ravel())
    has = np.array(whole)
    sampled = (has * law.ravel()) @ has.T - np.outer(has @ law.ravel(), has @ law.ravel())
    follow = np.linalg.solve(sampled[:length, :length], sampled[:length, length:])
    # Given the items the pairs' errors are independent.
    rest = np.diag(np.diag(sampled[length:, length:] - follow.T @ sampled[:length, length:]))
    of_pairs = np.zeros((length, len(shares) - length))
    for column, (i, j) in enumerate(shares[length:]):
        both = sampled[np.ix_([i, j], [i, j])]
        of_pairs[[i, j], column] = np.linalg.solve(both, sampled[[i, j], length + column])
        own = sampled[[i, j], length + column] @ of_pairs[[i, j], column]
        rest[column, column] = sampled[length + column, length + column] - own
    gradient = np.array(slopes[:length]) + of_pairs @ np.array(slopes[length:])
    wanted = gradient @ sampled[:length, :length] @ gradient
    wanted += np.square(slopes[length:]) @ np.diag(rest)
    assert variance == pytest.approx(RECORDS * wanted, rel=1e-3)


def test_rules_have_the_errors_of_their_parts():
    made = supports(chain(5, 6))
    rows = np.array([[0, 1, 2], [1, 2, 4]])
    flags = np.array([[True, False, True], [True, True, False]])
    rules = made.rules(rows, flags)
    whole = made.counts(rows)
    assert rules.counts[:, 0] == pytest.approx(whole.counts)
    assert rules.counts[0, 1] == pytest.approx(made.counts(np.array([[0, 2]])).counts[0])
    assert rules.counts[1, 2] == pytest.approx(made.counts(np.array([[4]])).counts[0])
    for population in (False, True):
        covariance = rules.covariance(population=population)
        assert covariance[:, 0, 0] == pytest.approx(whole.variance(population=population))
        assert covariance == pytest.approx(covariance.transpose(0, 2, 1))
        assert np.linalg.eigvalsh(covariance).min() >= -1e-9 * covariance.max()
