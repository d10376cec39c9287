"""Ma's modified agglomerative scheme for one variable (Ma 2.3).

In one dimension clusters are intervals and only neighbours merge. When two merge, their centroid
moves away from both their neighbours, so the distance across any other gap never shrinks: two
clusters that are each other's nearest stay so until they merge, whatever happens elsewhere. Hence
merging such pairs in any order ends as merging the globally nearest pair each time does, and one
walk from left to right suffices.

Several numeric columns grouped together, each group told by its centre (Ma 2.3). The groups of
`mgas_joint` are sets of the points they were made from. Here a group is all points that are nearest
to its centre, so that centres alone say where any point belongs.

Also here:

* Ma's modified agglomerative scheme for several variables together (Ma 2.3).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from pramana_core.discretize.binnings import (
    Cluster,
    Discretization,
    Floats,
    NumberGrid,
    finite,
    number_label,
    require_enough,
    require_requirements,
)
from pramana_core.errors import LimitExceeded, OptionError
from pramana_core.ties import TIE, exceeds, first_largest_of_rows, first_smallest

GRID_STEPS = 64
"""The default grid has this many steps in the granularity."""

Finished = Callable[[Cluster], bool]


def mgas(
    values: npt.ArrayLike,
    *,
    minimum_count: int,
    granularity: float,
    grid: float | None = None,
) -> Discretization:
    """Group numbers by the modified agglomerative scheme (Ma 2.3).

    Starting from the single grid points, the two clusters with the nearest centroids merge, the
    leftmost such pair where distances are equal. A cluster of `minimum_count` records or more (K)
    whose largest and smallest grid points lie `granularity` or more apart (g, in the unit of the
    values) is finished: it neither grows nor lets others merge across it. Ma does not say what
    becomes of records left over between finished clusters; here they join the finished neighbour
    with the nearer centroid, the left one where both are as near.

    `values` has shape (n,). `grid` is the step of the grid, by default granularity / 64. The time
    is that of sorting the values and of at most two steps for each grid point in use.

    **What the result reveals.** The values are rounded to the grid, which does not depend on them,
    and nothing else of them is used. Every group holds K records or more and is wider than g; a
    representative is the grid point nearest to the mean of its group's records, which in full would
    tell their number; a cut lies in the middle between the last grid point of a group and the first
    of the next, so it is a whole number of half steps. Hence no number that is published is a value
    of the table or tells one more precisely than the grid, none of the means rests on fewer than K
    records, and none tells how many they are. A cut does
    depend on the two records beside it, to the grid, and together cuts and means are a function
    of the data that one record can change: whoever knows all other records, or sees the figures
    of the same column before and after a record came, may learn on which grid point it lies. This
    is **not** differential privacy; cuts that were chosen without the data (`equal_width`,
    `given_cuts`) reveal nothing.

    Raises:
        OptionError: values that are not finite numbers, too few of them or within less than
            `granularity`; K below 1, g below 0; or no grid where the granularity is 0.
    """
    numbers = finite(values)
    step = NumberGrid(_step(minimum_count, granularity, grid))
    span = math.ceil(round(granularity / step.step, 9))
    singles = step.singles(numbers)
    _require_possible(singles, numbers.size, minimum_count, span)

    def finished(cluster: Cluster) -> bool:
        return cluster.records >= minimum_count and cluster.last - cluster.first >= span

    groups = absorb(agglomerate(singles, finished), finished)
    method = f"mgas: at least {minimum_count} records and {granularity:g} wide"
    return step.discretization(groups, f"{method}, grid {step.step:g}")


def agglomerate(clusters: Iterable[Cluster], finished: Finished) -> list[Cluster]:
    """Merge neighbours until each cluster is finished or has finished neighbours only.

    The gaps between the open clusters shrink from left to right. So when the gap to the next
    cluster does not, the last of them is smaller than the gaps on both its sides, and its
    clusters are each other's nearest. Each turn takes a cluster in, merges two or settles.
    """
    settled: list[Cluster] = []
    waiting: list[Cluster] = []
    for cluster in chain(clusters, (None,)):
        incoming: list[Cluster | None] = [cluster]
        while incoming:
            new = incoming.pop()
            # Nothing merges with a finished cluster, nor across it, nor across the end.
            open_cluster = None if new is None or finished(new) else new
            if len(waiting) > 1 and not (
                open_cluster and _shrinks(waiting[-2], waiting[-1], open_cluster)
            ):
                right, left = waiting.pop(), waiting.pop()
                incoming += [new, left.joined(right)]
            elif open_cluster:
                waiting.append(open_cluster)
            else:
                settled += waiting if new is None else [*waiting, new]
                waiting.clear()
    return settled


def absorb(clusters: Sequence[Cluster], finished: Finished) -> list[Cluster]:
    """Join every unfinished cluster to the finished neighbour with the nearer centroid."""
    groups: list[Cluster] = []
    held: Cluster | None = None
    for index, cluster in enumerate(clusters):
        if finished(cluster):
            groups.append(cluster if held is None else held.joined(cluster))
            held = None
        elif index == 0 or _shrinks(*clusters[index - 1 : index + 2]):
            held = cluster
        else:
            groups[-1] = groups[-1].joined(cluster)
    return groups


def _shrinks(left: Cluster, middle: Cluster, right: Cluster | None = None) -> bool:
    """Whether the middle's centroid is nearer to the right one's than to the left one's: exact.

    With nothing to the right it is not.
    """
    if right is None:
        return False
    before = middle.total * left.records - left.total * middle.records
    after = right.total * middle.records - middle.total * right.records
    # The distances are these divided by the two clusters' records; the middle's cancel.
    return after * left.records < before * right.records


def _step(minimum_count: int, granularity: float, grid: float | None) -> float:
    require_requirements(minimum_count, granularity)
    if grid is None and granularity == 0:
        raise OptionError(
            "With a granularity of 0 there is no default grid.",
            where="grid",
            remedy="Say to which step values are rounded.",
        )
    return granularity / GRID_STEPS if grid is None else grid


def _require_possible(singles: Sequence[Cluster], records: int, least: int, span: int) -> None:
    require_enough(records, least)
    if singles[-1].last - singles[0].first < span:
        raise OptionError(
            "All values lie within less than the granularity, so they form no group.",
            where="granularity",
            remedy="Take a smaller granularity.",
        )


# Ma's modified agglomerative scheme for several variables together (Ma 2.3).

JOINT_LIMIT = 4_000
"""More points than this are refused, for the time grows with their square or faster."""

_CHUNK = 1 << 12
_FARTHEST = 1e150

Codes = npt.NDArray[np.unsignedinteger]


@dataclass(frozen=True, eq=False)
class JointDiscretization:
    """k groups of points.

    `groups` of shape (n,) are the groups of the points they were made from, numbered by first
    appearance; `means` of shape (k, d) and `counts` of shape (k,) are the groups' centroids and
    numbers of points.
    """

    groups: Codes
    means: Floats
    counts: npt.NDArray[np.int64]

    def assign(self, points: npt.ArrayLike) -> Codes:
        """Return the group with the nearest mean for each of m points, shape (m, d) to (m,).

        A point the groups were made from may be nearer to the mean of another group than of its
        own; so the counts of what is assigned may differ from `counts`, and be below K. Raises
        OptionError.
        """
        given = _points(points)
        if given.shape[1] != self.means.shape[1]:
            raise OptionError(
                f"The points have {given.shape[1]} coordinates, the groups {self.means.shape[1]}.",
                where="points",
            )
        # A chunk's differences to all means are held at once.
        size = max(1, _CHUNK // len(self.means))
        chunks = [given[start : start + size] for start in range(0, len(given), size)]
        nearest = [
            first_largest_of_rows(-_squares(chunk[:, None], self.means[None])) for chunk in chunks
        ]
        return np.concatenate(nearest).astype(self.groups.dtype)


def mgas_joint(
    points: npt.ArrayLike, *, minimum_count: int, granularity: float
) -> JointDiscretization:
    """Group points by the modified agglomerative scheme (Ma 2.3).

    `points` has shape (n, d), n up to `JOINT_LIMIT`. Starting from single points, the two clusters
    with the nearest centroids (Euclidean) merge; one of `minimum_count` points or more whose
    bounding box has a diagonal of `granularity` or more is finished and leaves. A cluster that is
    left over alone joins the finished one with the nearest centroid. With d > 1 a merged centroid
    may come nearer to a third cluster, so the order matters and each merge is the best of all:
    time grows as n^2 on ordinary data and at worst as n^3, memory as n. Distances that are equal
    up to rounding are taken in the points' order.

    The scale of the variables is the caller's choice and decides what is near: bring them to
    comparable units first, by public constants if the groups are to be published. A group's mean
    is that of its points as they are given, K or more of them, not rounded; it is a function of
    the data and **not** differentially private.

    Raises:
        OptionError: points that are not finite numbers, too few or within less than `granularity`;
            K below 1 or g below 0.
        LimitExceeded: more than `JOINT_LIMIT` points.
    """
    require_requirements(minimum_count, granularity)
    given = _points(points)
    if len(given) > JOINT_LIMIT:
        raise LimitExceeded(
            f"{len(given)} points are more than the {JOINT_LIMIT} that are grouped jointly.",
            where="points",
            remedy="Group a sample and assign the others, or each variable alone.",
        )
    require_enough(len(given), minimum_count)
    if exceeds(granularity, float(np.linalg.norm(np.ptp(given, axis=0)))):
        raise OptionError(
            "All points lie within less than the granularity, so they form no group.",
            where="granularity",
            remedy="Take a smaller granularity.",
        )
    return _Agglomeration(given, minimum_count, granularity).run()


class _Agglomeration:
    """Clusters in the slots of their first points; each knows its nearest in a later slot."""

    def __init__(self, points: Floats, minimum_count: int, granularity: float) -> None:
        n = len(points)
        self._minimum_count, self._granularity = minimum_count, granularity
        self._group = np.arange(n)
        self._sum = points.copy()
        self._count = np.ones(n, dtype=np.int64)
        self._low, self._high = points.copy(), points.copy()
        self._mean = points.copy()
        self._open = np.ones(n, dtype=bool)
        self._done: list[int] = []
        self._nearest = np.zeros(n, dtype=np.int64)
        self._distance = np.full(n, np.inf)

    def run(self) -> JointDiscretization:
        """Merge until nothing is open."""
        for slot in range(len(self._open)):
            self._settle(slot)
        for slot in np.flatnonzero(self._open).tolist():
            self._search(slot)
        while self._open.sum() > 1:
            self._merge()
        for slot in np.flatnonzero(self._open).tolist():
            self._absorb(slot)
        return self._result()

    def _settle(self, slot: int) -> None:
        """Take a cluster out if it meets both requirements."""
        narrow = exceeds(
            self._granularity, float(np.linalg.norm(self._high[slot] - self._low[slot]))
        )
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
        self._group[self._group == right] = left

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

    def _result(self) -> JointDiscretization:
        slots = np.array(sorted(self._done))
        codes = np.searchsorted(slots, self._group)
        dtype = np.min_scalar_type(len(slots) - 1)
        return JointDiscretization(codes.astype(dtype), self._mean[slots], self._count[slots])


def _squares(points: Floats, centre: Floats) -> Floats:
    """Return squared distances along the last axis."""
    squares: Floats = ((points - centre) ** 2).sum(axis=-1)
    return squares


def _points(points: npt.ArrayLike) -> Floats:
    given = np.asarray(points, dtype=np.float64)
    if given.ndim != 2 or 0 in given.shape:
        raise OptionError(
            f"Points must be rows of one or more coordinates, not an array of shape {given.shape}.",
            where="points",
        )
    wrong = int(len(given) - np.isfinite(given).all(axis=1).sum())
    if wrong:
        raise OptionError(
            f"{wrong} of {len(given)} points have a coordinate that is not a finite number.",
            where="points",
            remedy="Leave them out.",
        )
    if np.abs(given).max() > _FARTHEST:
        raise OptionError(
            f"A coordinate is larger than {_FARTHEST:g}; its square would not be a finite number.",
            where="points",
            remedy="Scale the coordinates.",
        )
    return given


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
    has a diagonal of 1 or more, as Ma asks of a group. Clusters are made by `mgas_joint`, of at
    most `JOINT_LIMIT` records at even distances in the order of their values; their centres take
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
    found = mgas_joint(chosen / units, minimum_count=least, granularity=1.0)
    return _settled(given, units, _on_grid(found.means * units, steps), steps, minimum_count)


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
