"""Draws records of a known law and randomizes them, for repetitions by the thousand.

The product's keyed draws are tested elsewhere; here numpy's generator draws from the same declared
matrices, which is many times quicker for a few hundred records.
"""

from __future__ import annotations

import numpy as np

from benchmarks.coverage.setting import Numbers
from pramana_core.channels import Transition
from pramana_core.marginals.counts import Codes, ReportedCounts
from pramana_core.plan import Plan


def records_of(
    plan: Plan, law: Numbers, records: int, rng: np.random.Generator
) -> dict[str, Codes]:
    """Draw true records from a joint law over the plan's variables, in its domain's order."""
    domain = plan.domain
    cells = rng.choice(law.size, records, p=law.ravel() / law.sum())
    codes = np.unravel_index(cells, domain.shape)
    return {v.name: c.astype(np.uint16) for v, c in zip(domain, codes, strict=True)}


def reports_of(plan: Plan, true: dict[str, Codes], rng: np.random.Generator) -> ReportedCounts:
    """Randomize records block by block, each by its declared matrix."""
    reported: dict[str, Codes] = {}
    for block in plan.blocks:
        sizes = tuple(v.size for v in block.variables)
        cells = np.ravel_multi_index(
            [true[v.name].astype(np.int64) for v in block.variables], sizes
        )
        told = _randomized(block.channel, cells, rng)
        parts = np.unravel_index(told, block.reported_shape)
        reported |= {n: c.astype(np.uint16) for n, c in zip(block.names, parts, strict=True)}
    return ReportedCounts(reported, plan.reported_sizes)


def _randomized(channel: Transition, cells: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw a report for each record from the row of its true cell."""
    chances = channel.apply(np.eye(channel.shape[0]), 1)
    limits = np.cumsum(chances, axis=1)
    limits[:, -1] = 1.0
    found = np.empty(len(cells), dtype=np.int64)
    drawn = rng.random(len(cells))
    for cell in np.unique(cells):
        of_cell = cells == cell
        found[of_cell] = np.searchsorted(limits[cell], drawn[of_cell], side="right")
    return found
