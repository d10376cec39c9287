"""How well a Bayesian network explains whole records as they were reported.

A family's own table leaves out what the rest of the record tells of variables that are reported
with noise. Where the table of all variables is small, the network's parameters can be maximized on
whole records, by EM over the true table.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shared.estimation.core.strata import Maximum, maximize
from shared.estimation.evidence.independence import ReportedTable, inside
from shared.marginals.counts import Tensor


@dataclass(frozen=True)
class NetworkExplanation:
    """The likelihood of reports under a network of given structure.

    Args:
        table: the reports over all nodes.
        families: each node's axis with the axes of its parents; axes of no node, which a joint
            block brought in, keep any distribution given the nodes.
    """

    table: ReportedTable
    families: tuple[tuple[int, tuple[int, ...]], ...]

    @property
    def parameters(self) -> int:
        """The number of free parameters of the network."""
        shape = self.table.shape
        return sum(
            (shape[node] - 1) * math.prod(shape[axis] for axis in parents)
            for node, parents in self.families
        )

    @property
    def log_likelihood(self) -> float:
        """The log-likelihood, in nats, at the most likely parameters."""
        return float(self._fitted.log_likelihood[0])

    @cached_property
    def _fitted(self) -> Maximum:
        begin = self.table.begin[0]
        if begin.min() <= 0:
            begin = inside(begin)
        return maximize(self.table.views, self._restrict(begin), self._restrict)

    def _restrict(self, counts: Tensor) -> Tensor:
        """Return the most likely networks of expected counts (cells..., sets)."""
        nodes = {node for node, _ in self.families}
        every = range(len(self.table.shape))
        nuisance = tuple(axis for axis in every if axis not in nodes)
        product: Tensor = np.ones_like(counts)
        for node, parents in self.families:
            gone = tuple(axis for axis in every if axis != node and axis not in parents)
            family = counts.sum(axis=gone, keepdims=True)
            margin = family.sum(axis=node, keepdims=True)
            product = product * np.divide(
                family, margin, out=np.zeros(family.shape), where=margin > 0
            )
        if nuisance:
            table = counts.sum(axis=nuisance, keepdims=True)
            cells = math.prod(self.table.shape[axis] for axis in nuisance)
            even = np.full(counts.shape, 1 / cells)
            product = product * np.divide(counts, table, out=even, where=table > 0)
        restricted: Tensor = product / product.sum(axis=tuple(every))
        return restricted
