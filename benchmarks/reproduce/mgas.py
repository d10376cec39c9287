"""Ma's modified agglomerative scheme for one variable (Ma 2.3).

Clusters are intervals, and only neighbours merge. Merging two clusters never shrinks another gap,
so two clusters that are nearest to each other remain so until they merge. Therefore one pass from
left to right gives the same result as repeatedly merging the nearest pair.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from pramana_core.discretize import Discretization, Floats, at_grid, grid_cells

_GRID_STEPS = 64
"""The number of grid steps within one granularity."""


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


Finished = Callable[[Cluster], bool]


def mgas(
    values: Floats, *, minimum_count: int, granularity: float, grid: float | None = None
) -> Discretization:
    """Group n numbers by the modified agglomerative scheme (Ma 2.3).

    Clusters start as single grid points. At each step, the two clusters with the nearest centroids
    merge; of equally near pairs, the leftmost. A cluster is finished when it has `minimum_count`
    records (K) and spans `granularity` (g, in the unit of the values). In the end, each unfinished
    cluster joins the nearer of its finished neighbours. Groups are cut halfway between clusters,
    and represented by the grid point nearest to their mean. The default grid step is g / 64. At
    least K values must span g.
    """
    step = granularity / _GRID_STEPS if grid is None else grid
    points, counts = np.unique(grid_cells(values, step), return_counts=True)
    pairs = zip(points.tolist(), counts.tolist(), strict=True)
    singles = [Cluster(point, point, count, point * count) for point, count in pairs]
    span = math.ceil(round(granularity / step, 9))

    def finished(cluster: Cluster) -> bool:
        return cluster.records >= minimum_count and cluster.last - cluster.first >= span

    groups = absorb(agglomerate(singles, finished), finished)
    gaps = np.array([(a.last + b.first) / 2 for a, b in itertools.pairwise(groups)])
    means = np.array([cluster.middle for cluster in groups], dtype=np.float64)
    return Discretization(*(tuple(at_grid(found, step).tolist()) for found in (gaps, means)))


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
