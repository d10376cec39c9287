"""Grouping numbers into a few intervals, for models of categories and of numbers (Ma 2.3)."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pramana_core.domain import Variable
from pramana_core.errors import OptionError

Floats = npt.NDArray[np.float64]
Cells = npt.NDArray[np.int64]

_DIGITS = 9
_FARTHEST = 1 << 45
_STEP_RANGE = (1e-100, 1e100)


@dataclass(frozen=True)
class Discretization:
    """k groups of numbers, which are intervals closed on the left; the outer two are unbounded.

    `cuts` are the k - 1 boundaries between groups, ascending. `representatives` has one number
    inside each group. Raises OptionError: these values do not fit together.
    """

    cuts: tuple[float, ...]
    representatives: tuple[float, ...]

    def __post_init__(self) -> None:
        if any(b <= a for a, b in itertools.pairwise(self.cuts)):
            raise OptionError("Cuts must be in strictly ascending order.", where="cuts")
        groups = [bisect_right(self.cuts, number) for number in self.representatives]
        if groups != list(range(self.size)):
            raise OptionError(
                "There must be one representative inside each interval.", where="representatives"
            )

    @property
    def size(self) -> int:
        """The number of groups, k."""
        return len(self.cuts) + 1

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the groups, in order."""
        return interval_labels(self.cuts) if self.cuts else ("all",)

    def codes(self, values: Floats) -> npt.NDArray[np.unsignedinteger]:
        """Return the code, 0 to k - 1, of each value (Ma 2.3 b)."""
        groups = np.searchsorted(np.array(self.cuts), values, side="right")
        return groups.astype(np.min_scalar_type(self.size - 1))

    def variable(self, name: str) -> Variable:
        """Return a variable whose categories are the groups. Raises DomainError: only one group."""
        return Variable(name, self.labels, self.representatives)


def interval_labels(cuts: tuple[float, ...]) -> tuple[str, ...]:
    """Return the labels of the intervals between cut points, each closed on the left.

    >>> interval_labels((30, 45))
    ('<30', '30-45', '>=45')
    """
    texts = [str(int(cut)) if cut == int(cut) else repr(cut) for cut in cuts]
    between = [f"{low}-{high}" for low, high in itertools.pairwise(texts)]
    return (f"<{texts[0]}", *between, f">={texts[-1]}")


def by_halves(cuts: tuple[float, ...], values: Floats) -> tuple[float, ...]:
    """Return integer cuts, each moved down by a half if an interval contains only one integer.

    The groups do not change. The cuts change because people would not read a label such as 1-2, for
    whole numbers below 2, as 1 alone.
    """
    whole = not (values % 1).any() and not any(cut % 1 for cut in cuts)
    single = any(right - left == 1 for left, right in itertools.pairwise(cuts))
    return tuple(cut - 0.5 for cut in cuts) if whole and single else cuts


def grid_cells(values: Floats, step: float) -> Cells:
    """Return the index of each value's nearest point of the grid 0, ±step, ±2 step, ...

    Midpoints are rounded up.
    """
    scaled = np.floor(values / step + 0.5)
    # A cell ends exactly at the published cut, even if the division was rounded.
    scaled += values >= at_grid(scaled + 0.5, step)
    scaled -= values < at_grid(scaled - 0.5, step)
    return scaled.astype(np.int64)


def at_grid(position: Floats, step: float) -> Floats:
    """Return the numbers at positions given in steps, without the rounding error of a product."""
    return np.round(position * step, max(0, _DIGITS - math.floor(math.log10(step))))


def equal_frequency(
    values: Floats, groups: int, *, minimum_count: int, step: float
) -> tuple[float, ...]:
    """Return the cuts of n values into groups of nearly equal size, or () if that is impossible.

    The values are rounded to a grid, and groups end between its points. Each group must have
    `minimum_count` records.
    """
    if not _STEP_RANGE[0] <= step <= _STEP_RANGE[1] or np.abs(values).max() > _FARTHEST * step:
        return ()  # The grid is too fine for exact arithmetic.
    points, counts = np.unique(grid_cells(values, step), return_counts=True)
    if len(points) < groups:
        return ()
    reached = np.cumsum(counts)
    ends = [0]
    for group in range(1, groups):
        # At least one grid point for this group and for each group that follows.
        low, high = ends[-1] + 1, len(points) - (groups - group)
        missed = np.abs(reached[low - 1 : high] * groups - reached[-1] * group)
        ends.append(low + int(missed.argmin()))
    first = np.array(ends)
    if np.add.reduceat(counts, first).min() < minimum_count:
        return ()
    return tuple(at_grid((points[first[1:] - 1] + points[first[1:]]) / 2, step).tolist())
