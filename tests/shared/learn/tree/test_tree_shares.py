"""Intervals of classes' shares: against the quadratic they solve, all reports listed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from pramana_core.channels import Symmetric
from pramana_core.domain import Domain
from pramana_core.learn.tree.node import share_intervals
from pramana_core.marginals.counts import CellMoments
from pramana_core.plan import Block, Plan


def test_without_randomization_they_are_wilsons():
    counts = np.array([[0.0, 7.0, 13.0], [19.0, 1.0, 0.0]])
    products = counts[:, :, None] * np.eye(3)
    low, high = share_intervals(counts, products, None, 1000)
    for node, size in enumerate((20, 20)):
        for code in range(3):
            wilson = binomtest(int(counts[node, code]), size).proportion_ci(method="wilson")
            assert low[node, code] == pytest.approx(wilson.low, abs=1e-6)
            assert high[node, code] == pytest.approx(wilson.high, abs=1e-6)


def test_of_nothing_is_known_nothing():
    low, high = share_intervals(np.zeros((1, 2)), np.zeros((1, 2, 2)), None, 50)
    assert low.tolist() == [[0.0, 0.0]]
    assert high.tolist() == [[1.0, 1.0]]
    low, high = share_intervals(np.array([[-3.0, 1.0]]), np.eye(2)[None], None, 50)
    assert (low.max(), high.min()) == (0.0, 1.0)


LAW = np.array([[0.02, 0.03, 0.15], [0.3, 0.2, 0.3]])
"""Of attribute and class; the node is the first row."""


def seen_through(p: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the chances of reports by true cell, and what a report adds to each cell's count."""
    domain = Domain.of(a="01", y="012")
    plan = Plan(tuple(Block((v,), Symmetric.from_probability(v.size, p)) for v in domain))
    chances = np.kron(*(block.channel.matrix() for block in plan.blocks))
    return chances, np.linalg.inv(chances)


@pytest.mark.parametrize("p", [0.05, 0.3])
@pytest.mark.parametrize("records", [400, 20_000])
def test_the_ends_are_where_the_supposed_error_says(p: float, records: int):
    chances, inverse = seen_through(p)
    factors = inverse.T.reshape(2, 3, 6)[0]
    reports = records * LAW.ravel() @ chances
    counts = factors @ reports
    products = (factors * reports) @ factors.T
    margin, within = factors.sum(axis=0), chances.reshape(2, 3, 6)[0].T
    moments = CellMoments(
        (factors**2 @ within)[None], (factors * margin @ within)[None], (margin**2 @ within)[None]
    )
    low, high = share_intervals(counts[None], products[None], moments, records)
    inside = 0
    for code in range(3):
        own = counts[code] / counts.sum()
        for end in (low[0, code], high[0, code]):
            if end in (0.0, 1.0):
                continue
            inside += 1
            node = np.delete(LAW[0], code)
            node = np.insert(node / node.sum() * (1 - end), code, end) * LAW[0].sum()
            supposed = records * np.concatenate([node, LAW[1]]) @ chances
            square = np.square(factors[code] - end * margin) @ supposed
            distance = (own - end) * counts.sum()
            assert distance**2 == pytest.approx(1.959963984540054**2 * square, rel=1e-4)
    assert inside >= 3
