"""The public grid to which values are rounded first, so that later arithmetic is exact."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pramana_core.errors import OptionError

Floats = npt.NDArray[np.float64]
_FARTHEST = 1 << 45
_STEP_RANGE = (1e-100, 1e100)
_DIGITS = 9

Cells = npt.NDArray[np.int64]


class Cluster(NamedTuple):
    """Records on neighbouring grid points: first and last point, count, and sum of points."""

    first: int
    last: int
    records: int
    total: int

    @property
    def middle(self) -> int:
        """The grid point nearest to the mean; if two are equally near, the upper one."""
        return (2 * self.total + self.records) // (2 * self.records)

    def joined(self, right: Cluster) -> Cluster:
        """Return the union of this cluster and the cluster to its right."""
        return Cluster(
            self.first, right.last, self.records + right.records, self.total + right.total
        )


@dataclass(frozen=True)
class NumberGrid:
    """The points 0, ±step, ±2 step, ...; midpoints are rounded up. Raises OptionError."""

    step: float

    def __post_init__(self) -> None:
        low, high = _STEP_RANGE
        if not low <= self.step <= high:
            raise OptionError(
                f"The grid's step must be between {low:g} and {high:g}, not {self.step!r}.",
                where="grid",
            )

    def cells(self, values: Floats) -> Cells:
        """Return the index of each value's grid point. Raises OptionError: too far from 0."""
        with np.errstate(over="ignore"):
            scaled = np.floor(values / self.step + 0.5)
        if np.abs(scaled).max() > _FARTHEST:
            raise OptionError(
                f"The grid's step of {self.step:g} is too fine for values of this size.",
                where="grid",
                remedy="Choose a coarser grid.",
            )
        # A cell ends exactly at the published cut, even if the division was rounded.
        scaled += values >= self.at(scaled + 0.5)
        scaled -= values < self.at(scaled - 0.5)
        return scaled.astype(np.int64)

    def singles(self, values: Floats) -> list[Cluster]:
        """Return a cluster for each grid point that has records, in ascending order."""
        points, counts = np.unique(self.cells(values), return_counts=True)
        pairs = zip(points.tolist(), counts.tolist(), strict=True)
        return [Cluster(point, point, count, point * count) for point, count in pairs]

    def at(self, position: Floats) -> Floats:
        """Return the numbers at positions given in steps, without a product's rounding error."""
        digits = max(0, _DIGITS - math.floor(math.log10(self.step)))
        return np.round(position * self.step, digits)


def finite(values: npt.ArrayLike) -> Floats:
    """Return values as a vector of floats. Raises OptionError: no values, or not all are finite."""
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1 or numbers.size == 0:
        raise OptionError(
            f"The values must be a nonempty vector, not an array of shape {numbers.shape}.",
            where="values",
        )
    wrong = int(numbers.size - np.isfinite(numbers).sum())
    if wrong:
        raise OptionError(
            f"{wrong} of {numbers.size} values are not finite numbers.",
            where="values",
            remedy="Omit records without a number, or give them a separate category.",
        )
    return numbers


def require_count(minimum_count: int) -> None:
    """Raise OptionError unless the minimum number of records, K, is at least 1."""
    if minimum_count < 1:
        raise OptionError(
            f"minimum_count must be at least 1, not {minimum_count}.",
            where="minimum_count",
        )


def require_groups(groups: int) -> None:
    """Raise OptionError if there are fewer than two groups."""
    if groups < 2:
        raise OptionError(f"groups must be at least 2, not {groups}.", where="groups")


def require_enough(records: int, minimum_count: int, groups: int = 1) -> None:
    """Raise OptionError if there are too few records for groups of `minimum_count` records."""
    if records < minimum_count * groups:
        raise OptionError(
            f"{records:,} records are too few for {groups} group{'s' if groups > 1 else ''} of"
            f" {minimum_count:,}.",
            where="minimum_count",
            remedy="Require fewer records in a group, or fewer groups.",
        )
