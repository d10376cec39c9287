"""Ma's modified agglomerative scheme for one variable (Ma 2.3).

Clusters are intervals, and only neighbours merge. Merging two clusters never shrinks another gap,
so two clusters that are nearest to each other remain so until they merge. Therefore one pass from
left to right gives the same result as repeatedly merging the nearest pair.
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
"""The number of steps of the default grid within one granularity."""

Finished = Callable[[Cluster], bool]


def mgas(
    values: npt.ArrayLike,
    *,
    minimum_count: int,
    granularity: float,
    grid: float | None = None,
) -> Discretization:
    """Group n numbers by the modified agglomerative scheme (Ma 2.3).

    Clusters start as single grid points. At each step, the two clusters with the nearest centroids
    merge; of equally near pairs, the leftmost. A cluster is finished when it has `minimum_count`
    records (K) and spans `granularity` (g, in the unit of the values). In the end, each unfinished
    cluster joins the nearer of its finished neighbours.

    Cuts and representatives are no more precise than the grid, whose default step is g / 64, and do
    not reveal counts of records. But a cut depends on the two records next to it, so someone who
    knows all other records may learn the grid points of these two. The method is **not**
    differential privacy; `equal_width` and `given_cuts` reveal nothing.

    Raises OptionError: values are not finite, too few, or span less than g; K is below 1 or g below
    0; or g is 0 and no grid is given.
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
    """Merge neighbours until each cluster is finished or has only finished neighbours.

    The gaps between the waiting clusters get smaller from left to right. If the gap to the next
    cluster is not smaller than the last of these gaps, that last gap is smaller than both gaps next
    to it, so the two clusters around it merge.
    """
    settled: list[Cluster] = []
    waiting: list[Cluster] = []
    for cluster in chain(clusters, (None,)):
        incoming: list[Cluster | None] = [cluster]
        while incoming:
            new = incoming.pop()
            # Clusters do not merge with a finished cluster, across it, or across the end.
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
    if right is None:
        return False
    before = middle.total * left.records - left.total * middle.records
    after = right.total * middle.records - middle.total * right.records
    # Each distance is one of these divided by both clusters' records; the middle's cancel.
    return after * left.records < before * right.records


def _step(minimum_count: int, granularity: float, grid: float | None) -> float:
    require_count(minimum_count)
    if not math.isfinite(granularity) or granularity < 0:
        raise OptionError(
            f"granularity must be 0 or more, not {granularity!r}.", where="granularity"
        )
    if grid is None and granularity == 0:
        raise OptionError(
            "A granularity of 0 has no default grid.",
            where="grid",
            remedy="Give the step to which values are rounded.",
        )
    return granularity / GRID_STEPS if grid is None else grid


def _require_possible(singles: Sequence[Cluster], records: int, least: int, span: int) -> None:
    require_enough(records, least)
    if singles[-1].last - singles[0].first < span:
        raise OptionError(
            "All values lie within less than the granularity, so they cannot form a group.",
            where="granularity",
            remedy="Choose a smaller granularity.",
        )
