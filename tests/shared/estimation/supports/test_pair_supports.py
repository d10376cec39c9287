"""Supports beyond pairs by models of the pairs: exact where the model holds, and their errors."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pramana.setups import SeededOwner, draw_cells
from pramana_core.channels import RESOLUTION, Choice, Sampled, Symmetric
from pramana_core.domain import Domain
from pramana_core.estimation import supports_by_tables as modelled
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.estimation.supports_by_tables import PairSupports
from pramana_core.marginals.score_interval import Tilt
from pramana_core.plan import Block, Plan

NAMES = "ABCDEFGH"
RECORDS = 1_000


class Table:
    """A table that is known, with a variance of its own for each cell."""

    def __init__(self, counts: np.ndarray):
        self.counts = counts

    def variance(self, *, population: bool) -> np.ndarray:
        return self.counts * (0.2 if population else 0.1)

    def tilt(self) -> Tilt:
        return Tilt.flat(self.counts.shape)


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


def supports(law: np.ndarray) -> PairSupports:
    known = Known(law)
    return PairSupports(known, tuple((name, 1) for name in known.domain.names))


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


def test_long_itemsets_of_a_tree_are_exact():
    width = modelled.ENTROPY_LENGTH + 2
    law = chain(width, 2)
    found = supports(law).counts(np.arange(width)[None]).counts / RECORDS
    assert found == pytest.approx([law[(1,) * width]], rel=1e-9)
    both = supports(law).counts(np.arange(4)[None]).counts / RECORDS
    assert both == pytest.approx([law[(1,) * 4].sum()], rel=1e-4)


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


def test_each_pair_of_variables_is_asked_for_once():
    made = supports(pairwise(6, 4))
    for length in (2, 3, 4, 5, 6):
        made.counts(np.array(list(itertools.combinations(range(6), length))))
    asked = made.marginals.asked
    assert len(asked) == len(set(asked)) == 6 + 15


@pytest.mark.slow
@pytest.mark.parametrize("length", [3, 5, modelled.ENTROPY_LENGTH + 1])
def test_errors_follow_from_all_items_and_pairs_by_finite_differences(length):
    """a and b of items and pairs of which one is moved, the ratios of the others kept."""
    made = supports(pairwise(length, 5) if length < 6 else chain(length, 5))
    row = np.arange(length)[None]
    support, own, ties = made._part(row, np.ones_like(row, dtype=np.bool_))
    assert support[0] == pytest.approx(made.counts(row).counts[0] / RECORDS)
    single, pair = made._single[0].copy(), made._pair[0].copy()
    step = 1e-4
    for move in [*((i, i) for i in range(length)), *itertools.combinations(range(length), 2)]:
        found = []
        for sign in (1, -1):
            made._single[0], made._pair[0] = single, pair
            if move[0] == move[1]:
                made._single[0, move[0]] *= 1 + sign * step
                made._pair[0, move[0]] *= 1 + sign * step
                made._pair[0, :, move[0]] *= 1 + sign * step
            else:
                made._pair[0, move, move[::-1]] *= 1 + sign * step
            found.append(made._part(row, np.ones_like(row, dtype=np.bool_))[0][0])
        slope = (found[0] - found[1]) / (2 * step * support[0])
        wanted = own[0, move[0]] if move[0] == move[1] else ties[0][move]
        assert slope == pytest.approx(wanted, abs=2e-3)


@pytest.mark.slow
def test_the_errors_of_longer_itemsets_are_those_that_samples_show():
    """A model that holds: 30 samples of the pairs' tables, all itemsets of three.

    The root mean square of the standardized errors is within 0.2 of 1: by simulation its standard
    deviation over such studies is about 0.05. By the errors of a tree's links alone it is 1.4.
    """
    sizes, records = (2, 3, 4), 4000
    law = np.einsum(
        "a,ab,ac->abc",
        [0.5, 0.5],
        [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]],
        [[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]],
    )
    names = ("a", "b", "c")
    over = Domain.of(**{n: [str(i) for i in range(s)] for n, s in zip(names, sizes, strict=True)})
    share = RESOLUTION // 3
    pairs = [
        Choice((a, b), share, Symmetric.from_gamma(sizes[a] * sizes[b], 19.0))
        for a, b in itertools.combinations(range(3), 2)
    ]
    plan = Plan((Block(tuple(over), Sampled(sizes, tuple(pairs))),))
    owner, rng = SeededOwner.of("triples", 3, records), np.random.default_rng(3)
    items = [(v.name, code) for v in over for code in range(v.size)]
    rows = np.array(list(itertools.product((0, 1), (2, 3, 4), (5, 6, 7, 8))))
    squares = []
    for run in range(30):
        reported = owner.report(plan, draw_cells(law, over.names, records, rng), run)
        seen = EstimatedMarginals(reported, plan, estimator="pooled").supports(items).counts(rows)
        off = seen.counts - records * law.ravel()
        squares.append(np.square(off) / seen.variance(population=True))
    assert abs(np.sqrt(np.mean(squares)) - 1) < 0.2


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
