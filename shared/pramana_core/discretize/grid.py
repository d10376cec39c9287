"""The public grid that values are rounded to before anything is computed from them.

All later arithmetic is on whole numbers of grid steps, so it is exact and the same on every
machine.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pramana_core.discretize.discretization import Discretization, Floats
from pramana_core.errors import OptionError

_FARTHEST = 1 << 45
_STEP_RANGE = (1e-100, 1e100)
_DIGITS = 9

Cells = npt.NDArray[np.int64]


class Cluster(NamedTuple):
    """Records on neighbouring grid points: first and last point, how many, sum of the points."""

    first: int
    last: int
    records: int
    total: int

    @property
    def middle(self) -> int:
        """The grid point nearest to the mean, the upper one where two are as near."""
        return (2 * self.total + self.records) // (2 * self.records)

    def joined(self, right: Cluster) -> Cluster:
        """Return the union with a cluster to the right."""
        return Cluster(
            self.first, right.last, self.records + right.records, self.total + right.total
        )


@dataclass(frozen=True)
class NumberGrid:
    """The points 0, ±step, ±2 step, ...; a value belongs to the nearest, a middle one upward.

    Raises:
        OptionError: the step is not a positive number of ordinary size.
    """

    step: float

    def __post_init__(self) -> None:
        low, high = _STEP_RANGE
        if not low <= self.step <= high:
            raise OptionError(
                f"The grid's step must be between {low:g} and {high:g}, not {self.step!r}.",
                where="grid",
            )

    def cells(self, values: Floats) -> Cells:
        """Return the number of each value's grid point. Raises OptionError if too far from 0."""
        with np.errstate(over="ignore"):
            scaled = np.floor(values / self.step + 0.5)
        if np.abs(scaled).max() > _FARTHEST:
            raise OptionError(
                f"The grid's step of {self.step:g} is too fine for values of this size.",
                where="grid",
                remedy="Take a coarser grid.",
            )
        # A cell ends where the published cut says, also where the division was rounded.
        scaled += values >= self.at(scaled + 0.5)
        scaled -= values < self.at(scaled - 0.5)
        return scaled.astype(np.int64)

    def singles(self, values: Floats) -> list[Cluster]:
        """Return a cluster for each grid point that has records, in ascending order."""
        points, counts = np.unique(self.cells(values), return_counts=True)
        pairs = zip(points.tolist(), counts.tolist(), strict=True)
        return [Cluster(point, point, count, point * count) for point, count in pairs]

    def at(self, position: Floats) -> Floats:
        """Return the number at positions counted in steps, without the dust of multiplication."""
        digits = max(0, _DIGITS - math.floor(math.log10(self.step)))
        return np.round(position * self.step, digits)

    def discretization(self, clusters: Sequence[Cluster], method: str) -> Discretization:
        """Cut in the middle between clusters; the grid point nearest to its mean stands for each.

        The mean itself would tell the number of records: it is a fraction of the step over them.
        """
        gaps = [(a.last + b.first) / 2 for a, b in itertools.pairwise(clusters)]
        means = [cluster.middle for cluster in clusters]
        return Discretization(
            cuts=tuple(self.at(np.array(gaps, dtype=np.float64)).tolist()),
            representatives=tuple(self.at(np.array(means, dtype=np.float64)).tolist()),
            counts=tuple(cluster.records for cluster in clusters),
            method=method,
        )
