"""Ma's modified agglomerative scheme for one variable (Ma 2.3).

Clusters are intervals and only neighbours merge. A merge shrinks no other gap, so clusters that are
each other's nearest stay so, and one walk from left to right does what merging nearest pairs does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import chain

import numpy.typing as npt

from pramana_core.discretize.binnings import Discretization, of_clusters
from pramana_core.discretize.grid import Cluster, NumberGrid, finite, require_count, require_enough
from pramana_core.errors import OptionError

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
    """Group n numbers by the modified agglomerative scheme (Ma 2.3).

    From single grid points on, the two clusters with the nearest centroids merge, the leftmost of
    equal ones. A cluster of `minimum_count` records (K) that spans `granularity` (g, in the values'
    unit) is finished. Clusters between finished ones then join the nearer.

    Cuts and representatives are no more precise than the grid, whose step is by default g / 64, and
    none shows a number of records. But a cut depends on the two records next to it: whoever knows
    all others may learn their grid points. This is **not** differential privacy; `equal_width` and
    `given_cuts` reveal nothing.

    Raises OptionError: values that are not finite, too few or within less than g; K below 1, g
    below 0; or no grid where g is 0.
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
    return of_clusters(step, groups, f"{method}, grid {step.step:g}")


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
    waiting: Cluster | None = None
    for index, cluster in enumerate(clusters):
        if finished(cluster):
            groups.append(cluster if waiting is None else waiting.joined(cluster))
            waiting = None
        elif index == 0 or _shrinks(*clusters[index - 1 : index + 2]):
            waiting = cluster
        else:
            groups[-1] = groups[-1].joined(cluster)
    return groups


def _shrinks(left: Cluster, middle: Cluster, right: Cluster | None = None) -> bool:
    """Whether the middle's centroid is nearer to the right one's, if any, than the left one's."""
    if right is None:
        return False
    before = middle.total * left.records - left.total * middle.records
    after = right.total * middle.records - middle.total * right.records
    # The distances are these divided by the two clusters' records; the middle's cancel.
    return after * left.records < before * right.records


def _step(minimum_count: int, granularity: float, grid: float | None) -> float:
    require_count(minimum_count)
    if not math.isfinite(granularity) or granularity < 0:
        raise OptionError(
            f"granularity must be 0 or more, not {granularity!r}.", where="granularity"
        )
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
