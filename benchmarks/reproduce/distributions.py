"""Ma's two distributions: table 2.1 of two variables, and a density of two triangles (2.5, 3.3)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from benchmarks.reproduce.mgas import mgas
from pramana_core.channels import Symmetric
from pramana_core.discretize import Discretization
from pramana_core.domain import Variable
from pramana_core.marginals.counts import Codes, Tensor
from pramana_core.plan import Block, Plan

# The printed entries sum to 19/20. The missing twentieth would make the last column 1/5, but the
# wrong cell is unknown. So all entries are divided by 19/20, which keeps their ratios.
NAMES = ("X1", "X2")

_PRINTED = """
    1/40  3/10  0     1/60  0
    3/40  0     1/30  1/20  1/20
    0     1/10  1/30  0     0
    1/20  0     0     1/60  1/10
    1/20  0     1/30  1/60  0
"""

PRINTED = tuple(tuple(map(Fraction, line.split())) for line in _PRINTED.split("\n") if line.strip())
"""The entries as printed, with X1 in rows."""


def pmf() -> Tensor:
    """Return the rescaled table: a 5 x 5 array that sums to 1."""
    total = sum(map(sum, PRINTED), Fraction(0))
    return np.array([[float(entry / total) for entry in row] for row in PRINTED])


def multicategory(p: float) -> Plan:
    """Return the plan that replaces each variable's category with probability `p` (Ma 2.1)."""
    labels = tuple(str(k + 1) for k in range(len(PRINTED)))
    channel = Symmetric.from_probability(len(labels), p)
    return Plan(tuple(Block((Variable(name, labels),), channel) for name in NAMES))


# The paper mentions the density without giving it; with this width MGAS forms 39 groups of 100,000
# samples, as the paper reports.
SUPPORT = 24.0
MINIMUM_COUNT = 1_500
GRANULARITY = 0.25


def density(x: Tensor) -> Tensor:
    """Return the density at points: two triangles, each over half of [0, 24] with half the mass."""
    quarter = SUPPORT / 4
    height = 1 / (2 * quarter)
    from_peak = np.minimum(np.abs(x - quarter), np.abs(x - 3 * quarter))
    value: Tensor = height * np.maximum(0.0, 1 - from_peak / quarter)
    return value


def triangle_sample(records: int, rng: np.random.Generator) -> Tensor:
    """Draw values from the density."""
    quarter = SUPPORT / 4
    values = rng.triangular(0.0, quarter, 2 * quarter, records)
    return values + 2 * quarter * rng.integers(0, 2, records)


def discretize(values: Tensor) -> Discretization:
    """Group values by the paper's algorithm MGAS, with its minimum count and granularity."""
    return mgas(values, minimum_count=MINIMUM_COUNT, granularity=GRANULARITY)


def triangle_plan(groups: Discretization, keep: float) -> Plan:
    """Return the plan that keeps a group with probability `keep` and else reports another group."""
    channel = Symmetric.from_probability(groups.size, 1 - keep)
    return Plan((Block((Variable("X", groups.labels),), channel),))


def codes(groups: Discretization, values: Tensor) -> dict[str, Codes]:
    """Return the groups' indices as the column of the plan's variable."""
    return {"X": groups.codes(values)}


def edges(groups: Discretization) -> Tensor:
    """Return the k + 1 ends of the intervals, from one end of the support to the other."""
    return np.array([0.0, *groups.cuts, SUPPORT])


def heights(groups: Discretization, counts: Tensor) -> Tensor:
    """Return the estimated density on each interval (Ma 3.2.1): its share over its width."""
    value: Tensor = counts / counts.sum() / np.diff(edges(groups))
    return value


_MIDPOINTS = 2048


def l1_distance(groups: Discretization, counts: Tensor) -> float:
    """Return the integral of |f - f^| by the midpoint rule (Ma 3.2.1)."""
    ends = edges(groups)
    step = np.diff(ends)[:, None] / _MIDPOINTS
    values = density(ends[:-1, None] + step * (np.arange(_MIDPOINTS) + 0.5))
    off = np.abs(values - heights(groups, counts)[:, None])
    return float((off * step).sum())
