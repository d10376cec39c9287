"""How well a Bayesian network explains whole records as they were reported.

A family's own table leaves out what the rest of the record tells of variables that are reported
with noise. Where the table of all variables is small, the network's parameters can be maximized on
whole records, by EM over the true table.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from pramana_core.estimation.core.likelihood import Maximum, maximize
from pramana_core.estimation.core.models import FactoredModel
from pramana_core.estimation.evidence.independence import TOLERANCE, ReportedTable, inside


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
        model = FactoredModel(
            self.table.shape, tuple(((node,), parents) for node, parents in self.families)
        )
        begin = self.table.begin[0]
        if begin.min() <= 0:
            begin = inside(begin)
        begin = model.fit(begin[..., None])[..., 0]
        return maximize(
            self.table.strata, model, begin=begin, tolerance=TOLERANCE, tick=self.table.tick
        )
