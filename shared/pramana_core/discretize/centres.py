"""Several numeric columns grouped together, each group named by its centre (Ma 2.3).

A group is all points that are nearest to its centre, so that centres alone say where any point
belongs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pramana_core.discretize.binnings import number_label
from pramana_core.discretize.grid import (
    Floats,
    NumberGrid,
    require_enough,
    require_requirements,
)
from pramana_core.discretize.mgas import GRID_STEPS
from pramana_core.errors import OptionError
from pramana_core.ties import TIE, exceeds, first_largest_of_rows, first_smallest

JOINT_LIMIT = 4_000
"""Clusters are made of at most so many records, for the time grows with their square or faster."""

_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class CentredGroups:
    """k groups of points of d coordinates: a point belongs to the nearest centre, the first of two.

    `centres` are k rows of d numbers; `units` the d widths in which distances are measured;
    `counts` the k numbers of records found in the groups, which are for the owner's eyes.

    Raises:
        OptionError: units that are not positive, or centres of another length or named twice.
    """

    centres: tuple[tuple[float, ...], ...]
    units: tuple[float, ...]
    counts: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not all(math.isfinite(unit) and unit > 0 for unit in self.units):
            raise OptionError("Units must be positive numbers.", where="units")
        if any(len(centre) != len(self.units) for centre in self.centres):
            raise OptionError(
                f"Each centre needs {len(self.units)} numbers, one for each unit.", where="centres"
            )
        if len(set(self.centres)) < len(self.centres):
            raise OptionError("A centre is named twice.", where="centres")

    @property
    def size(self) -> int:
        """The number of groups, k."""
        return len(self.centres)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the groups: `(32, 41.5)`."""
        return tuple(f"({', '.join(map(number_label, centre))})" for centre in self.centres)

    def codes(self, points: Floats) -> npt.NDArray[np.int64]:
        """Return the group of each of n finite points, shape (n, d) to (n,).

        Of centres that are as near the first is taken.
        """
        scaled, centres = points / self.units, np.array(self.centres) / self.units
        found = np.empty(len(points), dtype=np.int64)
        rows = max(1, _AT_ONCE // centres.size)
        for start in range(0, len(points), rows):
            apart = scaled[start : start + rows, None] - centres
            squares = np.square(apart).sum(axis=2)
            found[start : start + rows] = first_largest_of_rows(-squares)
        return found


def mgas_centres(
    points: npt.ArrayLike,
    *,
    minimum_count: int,
    granularities: Sequence[float],
    grids: Sequence[float] | None = None,
) -> CentredGroups:
    """Group points of several columns by the modified agglomerative scheme (Ma 2.3).

    Distances are measured in granularities: of each column as many units as its differences hold
    its granularity. Every group holds `minimum_count` records or more (K), and the box around them
    has a diagonal of 1 or more, as Ma asks of a group. Starting from single records, at most
    `JOINT_LIMIT` of them at even distances in the order of their values, the two clusters with the
    nearest centroids merge, the first of equals; one that meets both demands is finished. With
    several columns a merged centroid may come nearer to a third cluster, so the order matters and
    each merge is the best of all: time grows as n^2 on ordinary data. The clusters' centres take
    all records that are nearest to them, and move once to the means of these. A centre that has too
    few, or too near to each other, is given up, the one with the fewest first.

    **What the result reveals.** Of each column what `mgas` says of one: values are first rounded to
    a public grid, by default granularity / 64, and a centre is the mean of K records or more,
    rounded to the grid too. Which records are nearest to which centre is decided by the values as
    they are, of which only the counts are told. It is not differentially private.

    Args:
        points: shape (n, d), finite.
        minimum_count: the fewest records in a group, K.
        granularities: of each column, in its own unit; positive.
        grids: the steps that the columns' values are rounded to.

    Raises:
        OptionError: points that are not finite numbers, too few, or within less than the
            granularities; a requirement outside its range.
    """
    given, units = np.asarray(points, dtype=np.float64), tuple(map(float, granularities))
    if given.ndim != 2 or not np.isfinite(given).all():
        raise OptionError(
            "Points must be rows of finite numbers.", where="points", remedy="Leave others out."
        )
    for unit in units:
        require_requirements(minimum_count, unit)
    if not all(units):
        raise OptionError(
            "Columns that are grouped together need granularities above 0: distances are measured"
            " in them.",
            where="granularity",
        )
    require_enough(len(given), minimum_count)
    steps = [NumberGrid(step) for step in grids or [unit / GRID_STEPS for unit in units]]
    rounded = _on_grid(given, steps)
    chosen = rounded[np.lexsort(rounded.T[::-1])]
    if len(chosen) > JOINT_LIMIT:
        chosen = chosen[(np.arange(JOINT_LIMIT) + 0.5).astype(int) * len(chosen) // JOINT_LIMIT]
    least = max(1, math.ceil(minimum_count * len(chosen) / len(rounded)))
    scaled = chosen / units
    if exceeds(1.0, _diagonal(chosen, units)):
        raise OptionError(
            "All points lie within less than the granularity, so they form no group.",
            where="granularity",
            remedy="Take a smaller granularity.",
        )
    means = JointClusters(scaled, least).means()
    return _settled(given, units, _on_grid(means * units, steps), steps, minimum_count)


def _settled(
    points: Floats,
    units: tuple[float, ...],
    centres: Floats,
    steps: Sequence[NumberGrid],
    least: int,
) -> CentredGroups:
    """Give centres up, and move them once, until each has records enough."""
    moved = False
    while True:
        groups = CentredGroups(tuple(dict.fromkeys(map(tuple, centres.tolist()))), units)
        centres = np.array(groups.centres)
        centres, codes = _kept(points, groups, groups.codes(points), least)
        if moved:
            break
        rounded = _on_grid(points, steps)
        sums = [np.bincount(codes, column, len(centres)) for column in rounded.T]
        centres = _on_grid(np.column_stack(sums) / np.bincount(codes)[:, None], steps)
        moved = True
    counts = np.bincount(codes, minlength=len(centres))
    return CentredGroups(tuple(map(tuple, centres.tolist())), units, tuple(counts.tolist()))


def _kept(
    points: Floats, groups: CentredGroups, codes: npt.NDArray[np.int64], least: int
) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return the centres that keep records enough, and the records' places among them."""
    centres, left = np.array(groups.centres), np.arange(groups.size)
    while len(left) > 1:
        counts = np.bincount(codes, minlength=groups.size)[left]
        narrow = np.array([exceeds(1.0, _diagonal(points[codes == g], groups.units)) for g in left])
        wanting = np.flatnonzero((counts < least) | narrow)
        if not len(wanting):
            break
        gone = left[wanting[counts[wanting].argmin()]]
        left = left[left != gone]
        lost = codes == gone
        nearest = CentredGroups(tuple(groups.centres[g] for g in left), groups.units)
        codes = codes.copy()
        codes[lost] = left[nearest.codes(points[lost])]
    return centres[left], np.searchsorted(left, codes)


def _diagonal(points: Floats, units: tuple[float, ...]) -> float:
    return float(np.linalg.norm(np.ptp(points, axis=0) / units)) if len(points) else 0.0


def _on_grid(points: Floats, steps: Sequence[NumberGrid]) -> Floats:
    """Return points rounded to the grids of their columns."""
    columns = [
        step.at(step.cells(column).astype(float))
        for step, column in zip(steps, points.T, strict=True)
    ]
    return np.column_stack(columns)


class JointClusters:
    """Clusters in the slots of their first points; each knows its nearest in a later slot.

    Args:
        points: n x d, in units of the granularities.
        minimum_count: the fewest points of a finished cluster.
    """

    def __init__(self, points: Floats, minimum_count: int) -> None:
        n = len(points)
        self._minimum_count = minimum_count
        self._sum = points.copy()
        self._count = np.ones(n, dtype=np.int64)
        self._low, self._high = points.copy(), points.copy()
        self._mean = points.copy()
        self._open = np.ones(n, dtype=bool)
        self._done: list[int] = []
        self._nearest = np.zeros(n, dtype=np.int64)
        self._distance = np.full(n, np.inf)

    def means(self) -> Floats:
        """Merge until nothing is open, and return the centroids of the clusters."""
        for slot in range(len(self._open)):
            self._settle(slot)
        for slot in np.flatnonzero(self._open).tolist():
            self._search(slot)
        while self._open.sum() > 1:
            self._merge()
        for slot in np.flatnonzero(self._open).tolist():
            self._absorb(slot)
        return self._mean[sorted(self._done)]

    def _settle(self, slot: int) -> None:
        """Take a cluster out if it meets both requirements."""
        narrow = exceeds(1.0, float(np.linalg.norm(self._high[slot] - self._low[slot])))
        if self._count[slot] >= self._minimum_count and not narrow:
            self._open[slot] = False
            self._done.append(slot)

    def _search(self, slot: int) -> None:
        """Find the nearest open cluster in a later slot."""
        later = slot + 1 + np.flatnonzero(self._open[slot + 1 :])
        self._distance[slot] = np.inf
        if later.size:
            squares = _squares(self._mean[later], self._mean[slot])
            best = first_smallest(squares)
            self._nearest[slot], self._distance[slot] = later[best], squares[best]

    def _merge(self) -> None:
        """Merge the two nearest clusters into the earlier slot."""
        left = first_smallest(self._distance)
        right = int(self._nearest[left])
        self._unite(left, right)
        self._open[right] = False
        self._distance[[left, right]] = np.inf
        self._settle(left)
        lost = self._open & np.isin(self._nearest, (left, right))
        for slot in np.flatnonzero(lost).tolist():
            self._search(slot)
        if self._open[left]:
            self._search(left)
            self._offer(left)

    def _unite(self, left: int, right: int) -> None:
        self._sum[left] += self._sum[right]
        self._count[left] += self._count[right]
        self._mean[left] = self._sum[left] / self._count[left]
        self._low[left] = np.minimum(self._low[left], self._low[right])
        self._high[left] = np.maximum(self._high[left], self._high[right])

    def _offer(self, moved: int) -> None:
        """Let earlier clusters take the moved one as their nearest."""
        earlier = np.flatnonzero(self._open[:moved])
        squares = _squares(self._mean[earlier], self._mean[moved])
        known = self._distance[earlier]
        tied = (squares <= (1 + TIE) * known) & (moved < self._nearest[earlier])
        better = (squares < (1 - TIE) * known) | tied
        taken = earlier[better]
        self._nearest[taken] = moved
        self._distance[taken] = squares[better]

    def _absorb(self, slot: int) -> None:
        """Join what is left over to the finished cluster with the nearest centroid."""
        done = np.array(sorted(self._done))
        nearest = int(done[first_smallest(_squares(self._mean[done], self._mean[slot]))])
        self._unite(*sorted((nearest, slot)))
        self._done = [min(nearest, slot) if d == nearest else d for d in self._done]


def _squares(points: Floats, centre: Floats) -> Floats:
    """Return squared distances along the last axis."""
    squares: Floats = ((points - centre) ** 2).sum(axis=-1)
    return squares
