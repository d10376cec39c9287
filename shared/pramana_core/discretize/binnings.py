"""Cutting a numeric variable into groups of equal width or equal size, or at given cuts."""

from __future__ import annotations

import functools
import itertools
import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from pramana_core.discretize.grid import (
    Cluster,
    Floats,
    NumberGrid,
    finite,
    require_count,
    require_enough,
    require_groups,
)
from pramana_core.domain import Variable
from pramana_core.errors import OptionError


@dataclass(frozen=True)
class Discretization:
    """k groups of numbers, which are intervals closed on the left; the outer two are unbounded.

    `cuts` are the k - 1 boundaries between groups, ascending. `representatives` has one number
    inside each group. `counts`, the records per group, are for the owner only. `method` is the name
    of the method that chose the cuts. Raises OptionError: these values do not fit together.
    """

    cuts: tuple[float, ...]
    representatives: tuple[float, ...]
    counts: tuple[int, ...]
    method: str

    def __post_init__(self) -> None:
        require_ascending(self.cuts)
        require_inside(self.representatives, self.cuts)
        if len(self.counts) != self.size or min(self.counts) < 0:
            raise OptionError(
                f"{self.size} groups need {self.size} nonnegative counts.", where="counts"
            )

    @property
    def size(self) -> int:
        """The number of groups, k."""
        return len(self.cuts) + 1

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the groups, in order."""
        return interval_labels(self.cuts) if self.cuts else ("all",)

    def codes(self, values: npt.ArrayLike) -> npt.NDArray[np.unsignedinteger]:
        """Return the code, 0 to k - 1, of each finite value (Ma 2.3 b). Raises OptionError."""
        groups = np.searchsorted(np.array(self.cuts), finite(values), side="right")
        return groups.astype(np.min_scalar_type(self.size - 1))

    def variable(self, name: str) -> Variable:
        """Return a variable whose categories are the groups. Raises DomainError: only one group."""
        return Variable(name, self.labels, self.representatives)


def interval_labels(cuts: tuple[float, ...]) -> tuple[str, ...]:
    """Return the labels of the intervals between cut points, each closed on the left.

    >>> interval_labels((30, 45))
    ('<30', '30-45', '>=45')
    """
    texts = [number_label(cut) for cut in cuts]
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


def require_ascending(cuts: tuple[float, ...]) -> None:
    """Raise OptionError unless the cuts are finite and strictly ascending."""
    if not all(map(math.isfinite, cuts)) or any(b <= a for a, b in itertools.pairwise(cuts)):
        raise OptionError("Cuts must be finite numbers in strictly ascending order.", where="cuts")


def require_inside(representatives: tuple[float, ...], cuts: tuple[float, ...]) -> None:
    """Raise OptionError unless there is one finite representative in each interval between cuts."""
    if len(representatives) != len(cuts) + 1:
        raise OptionError(
            f"{len(cuts) + 1} groups need {len(cuts) + 1} representatives, not"
            f" {len(representatives)}.",
            where="representatives",
        )
    for group, number in enumerate(representatives):
        if not math.isfinite(number) or bisect_right(cuts, number) != group:
            raise OptionError(
                f"Representative {group + 1} is not inside its interval.",
                where="representatives",
                remedy="List one number from each interval, in the order of the intervals.",
            )


def number_label(value: float) -> str:
    """Return a number in the form that labels of groups use."""
    return str(int(value)) if value == int(value) else repr(value)


def of_clusters(grid: NumberGrid, clusters: Sequence[Cluster], method: str) -> Discretization:
    """Cut halfway between clusters, which are represented by the grid point nearest to their mean.

    The exact mean is a fraction of the grid step and would reveal the number of records.
    """
    gaps = [(a.last + b.first) / 2 for a, b in itertools.pairwise(clusters)]
    means = [cluster.middle for cluster in clusters]
    return Discretization(
        cuts=tuple(grid.at(np.array(gaps, dtype=np.float64)).tolist()),
        representatives=tuple(grid.at(np.array(means, dtype=np.float64)).tolist()),
        counts=tuple(cluster.records for cluster in clusters),
        method=method,
    )


def equal_width(values: npt.ArrayLike, groups: int, low: float, high: float) -> Discretization:
    """Cut the range from `low` to `high` into groups of equal width; representatives are midpoints.

    The values, (n,), are only counted, so cuts and representatives reveal nothing about them.
    Raises OptionError: values are not finite, groups are fewer than two, or the range is empty.
    """
    require_groups(groups)
    if not (np.isfinite([low, high]).all() and low < high):
        raise OptionError(
            f"The range from {low!r} to {high!r} is empty or not finite.",
            where="low",
            remedy="Give the public range of the variable, the lower end first.",
        )
    edges = np.linspace(low, high, groups + 1)
    middles = np.linspace(low, high, 2 * groups + 1)[1::2]
    method = f"equal width from {low:g} to {high:g}"
    return _counted(values, edges[1:-1].tolist(), middles.tolist(), method)


def given_cuts(
    values: npt.ArrayLike, cuts: Sequence[float], representatives: Sequence[float]
) -> Discretization:
    """Cut at given points; the n values only determine the count of each group.

    Raises OptionError: a value is not a finite number, the cuts do not ascend, or the
    representatives do not fit.
    """
    require_groups(len(cuts) + 1)
    return _counted(values, cuts, representatives, "given cuts")


def equal_frequency(
    values: npt.ArrayLike, groups: int, *, minimum_count: int, grid: float
) -> Discretization:
    """Cut into groups of nearly n / `groups` records, each of at least `minimum_count` records.

    The values, (n,), are rounded to the grid, and groups end at grid points. Cuts and
    representatives reveal as much about the values as those of `mgas`. Raises OptionError: a value
    is not finite, or there are too few values for these groups.
    """
    require_groups(groups)
    require_count(minimum_count)
    numbers = finite(values)
    step = NumberGrid(grid)
    require_enough(numbers.size, minimum_count, groups)
    singles = step.singles(numbers)
    if len(singles) < groups:
        raise OptionError(
            f"The values use only {len(singles)} grid points, too few for {groups} groups.",
            where="groups",
            remedy="Choose fewer groups or a finer grid.",
        )
    clusters = _shares(singles, groups)
    smallest = min(cluster.records for cluster in clusters)
    if smallest < minimum_count:
        raise OptionError(
            f"The smallest of {groups} groups has {smallest} records, fewer than {minimum_count}.",
            where="groups",
            remedy="Choose fewer groups.",
        )
    return of_clusters(step, clusters, f"equal frequency, grid {step.step:g}")


def _shares(singles: list[Cluster], groups: int) -> list[Cluster]:
    """Join grid points into groups, with cumulative counts as near as possible to equal shares."""
    reached = np.cumsum([single.records for single in singles])
    ends = [0]
    for group in range(1, groups):
        # At least one grid point for this group and for each group that follows.
        low, high = ends[-1] + 1, len(singles) - (groups - group)
        missed = np.abs(reached[low - 1 : high] * groups - reached[-1] * group)
        ends.append(low + int(missed.argmin()))
    bounds = itertools.pairwise([*ends, len(singles)])
    return [functools.reduce(Cluster.joined, singles[a:b]) for a, b in bounds]


def _counted(
    values: npt.ArrayLike, cuts: Sequence[float], representatives: Sequence[float], method: str
) -> Discretization:
    none = (0,) * len(representatives)
    empty = Discretization(
        tuple(map(float, cuts)), tuple(map(float, representatives)), none, method
    )
    counts = np.bincount(empty.codes(values), minlength=empty.size)
    return replace(empty, counts=tuple(counts.tolist()))
