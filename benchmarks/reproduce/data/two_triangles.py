"""The two-triangle distribution of Ma 2.5 and 3.3, and what is done to its samples.

The paper names the density and does not give it. Here two isosceles triangles of equal weight
stand side by side, on [0, 12] and [12, 24]. Their width is chosen: MGAS makes few groups of a
narrow support, for every group must be 0.25 wide, and with these 39 of 100,000 samples, as the
paper reports (on [0, 10] it makes about 22).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from pramana_core.channels import Symmetric
from pramana_core.discretize import Discretization, mgas
from pramana_core.domain import Variable
from pramana_core.marginals.counts import Codes, Tensor
from pramana_core.plan import Block, Plan
from pramana_core.privacy.information_loss import density_l1

SUPPORT = 24.0
MINIMUM_COUNT = 1_500
GRANULARITY = 0.25

CHOICE = (
    "The two-triangle density is not given: two equal triangles side by side on [0, 12] and"
    " [12, 24], a width with which MGAS makes about the 39 groups of the paper."
)


def density(x: Tensor, support: float = SUPPORT) -> Tensor:
    """Return the density at points: two triangles, each half of [0, support] and half the mass."""
    quarter = support / 4
    height = 1 / (2 * quarter)
    from_peak = np.minimum(np.abs(x - quarter), np.abs(x - 3 * quarter))
    value: Tensor = height * np.maximum(0.0, 1 - from_peak / quarter)
    return value


def sample(records: int, rng: np.random.Generator, support: float = SUPPORT) -> Tensor:
    """Draw values from the density."""
    quarter = support / 4
    values = rng.triangular(0.0, quarter, 2 * quarter, records)
    return values + 2 * quarter * rng.integers(0, 2, records)


def discretize(values: Tensor) -> Discretization:
    """Group values by MGAS with the paper's minimum count and granularity."""
    return mgas(values, minimum_count=MINIMUM_COUNT, granularity=GRANULARITY)


def plan(groups: Discretization, keep: float) -> Plan:
    """Return the plan that keeps a group's number with probability `keep`, else any other."""
    channel = Symmetric.from_probability(groups.size, 1 - keep)
    return Plan((Block((Variable("X", groups.labels),), channel),))


def codes(groups: Discretization, values: Tensor) -> dict[str, Codes]:
    """Return the groups' numbers as the column of the plan's variable."""
    return {"X": groups.codes(values)}


def edges(groups: Discretization) -> Tensor:
    """Return the k + 1 ends of the intervals, the outer ones being those of the support."""
    return np.array([0.0, *groups.cuts, SUPPORT])


def heights(groups: Discretization, counts: Tensor) -> Tensor:
    """Return the estimated density on each interval (Ma 3.2.1): its share over its width."""
    value: Tensor = counts / counts.sum() / np.diff(edges(groups))
    return value


def l1_distance(groups: Discretization, counts: Tensor) -> float:
    """Return the integral of |f - f^|, f^ constant on each interval (Ma 3.2.1); 0 to 2."""
    return density_l1(edges(groups), counts, density)


def widths(groups: Discretization) -> list[float]:
    """Return the widths of the inner groups; those at the ends have no second boundary."""
    return [high - low for low, high in pairwise(groups.cuts)]
