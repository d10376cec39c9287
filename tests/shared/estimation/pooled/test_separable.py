"""Pairs estimated by one variable at a time, beside the matrices of all their cells."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from pramana_core.channels import RESOLUTION, Choice, Sampled, Symmetric
from pramana_core.domain import Variable
from pramana_core.estimation import pooled_laws as laws
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Block, Plan

SIZES = (8, 9, 6, 10)
PAIRS = tuple(itertools.combinations(range(4), 2))


def plan_of(sets, gamma):
    choices = tuple(
        Choice(
            axes,
            RESOLUTION // len(sets),
            Symmetric.from_gamma(math.prod(SIZES[a] for a in axes), gamma),
        )
        for axes in sets
    )
    own = tuple(Variable(f"v{i}", tuple(map(str, range(s)))) for i, s in enumerate(SIZES))
    return Plan((Block(own, Sampled(SIZES, choices)),))


def drawn(plan, records, seed):
    """True columns of records of three kinds, and their reports."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, records)
    channel = plan.blocks[0].channel
    true, made = [], []
    for size in SIZES:
        ends = rng.dirichlet(np.full(size, 0.8), size=3).cumsum(axis=1)
        codes = (rng.random(records)[:, None] > ends[kind]).sum(axis=1)
        true.append(np.minimum(codes, size - 1))
        made.append(np.full(records, size, dtype=np.uint8))
    chosen = rng.integers(0, len(channel.choices), records)
    for place, choice in enumerate(channel.choices):
        rows = np.flatnonzero(chosen == place)
        sizes = [SIZES[a] for a in choice.axes]
        cells = np.ravel_multi_index([true[a][rows] for a in choice.axes], sizes)
        law = choice.channel.matrix()[cells].cumsum(axis=1)
        cells = (rng.random(len(rows))[:, None] > law).sum(axis=1).clip(max=math.prod(sizes) - 1)
        for axis, codes in zip(choice.axes, np.unravel_index(cells, sizes), strict=True):
            made[axis][rows] = codes
    names = plan.domain.names
    reports = ReportedCounts(dict(zip(names, made, strict=True)), plan.reported_sizes)
    return dict(zip(names, true, strict=True)), reports


def both(monkeypatch, reports, plan, pair):
    """The pair's table by all its cells, and by one variable at a time."""
    found = []
    for cells in (10**9, 0):
        monkeypatch.setattr(laws, "SEPARATED_CELLS", cells)
        found.append(EstimatedMarginals(reports, plan, estimator="pooled").marginal(pair))
    return found


@pytest.mark.parametrize("gamma", [19.0, 200.0])
@pytest.mark.parametrize("sets", [PAIRS, ((0, 1), (2, 3))], ids=["all", "apart"])
def test_estimates_and_errors_are_those_of_all_cells(monkeypatch, gamma, sets):
    """Weights of rank one lose a little: errors are never less, and seldom a fifth more."""
    plan = plan_of(sets, gamma)
    _, reports = drawn(plan, 60_000, 4)
    for pair in (("v0", "v1"), ("v2", "v3")):
        cells, sides = both(monkeypatch, reports, plan, pair)
        error = cells.unshrunk.standard_error(population=True)
        ratio = sides.unshrunk.standard_error(population=True) / error
        assert 0.9 < ratio.min() <= ratio.max() < 1.35
        assert 0.99 < ratio.mean() < 1.1
        assert np.abs(sides.unshrunk.counts - cells.unshrunk.counts).max() < 0.4 * error.max()
        # What shrinkage leaves: alike in every cell, and on average the same.
        left = sides.standard_error(population=False) / cells.standard_error(population=False)
        assert 0.85 < left.min() <= left.max() < 1.35
        assert 0.98 < left.mean() < 1.05
        assert np.square(sides.counts - cells.counts).mean() < 0.05 * np.square(error).mean()
        assert sides.counts.sum() == pytest.approx(60_000)
        np.testing.assert_allclose(
            sides.counts.sum(axis=0), cells.counts.sum(axis=0), rtol=1e-6, atol=1e-3
        )
