"""Reported counts that are given as a tensor, and what searches say of some records."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pramana_core.channels import Symmetric
from pramana_core.domain import Domain
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.common.options import Search
from pramana_core.learn.networks.structure_learning import learn_structure
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Block, Plan


class Table:
    """Reported counts given as a tensor over some columns."""

    def __init__(self, names: Sequence[str], tensor: np.ndarray):
        self.names, self.tensor = tuple(names), np.asarray(tensor)
        self.records = round(float(self.tensor.sum()))

    def table(self, names):
        gone = tuple(i for i, n in enumerate(self.names) if n not in names)
        left = [n for n in self.names if n in names]
        return self.tensor.sum(axis=gone).transpose([left.index(n) for n in names])


def said_of_searches() -> str:
    """All that is learned of five variables along an order, and of four of them without one."""
    names = ("one", "two", "three", "four", "five")
    rng = np.random.default_rng(1)
    columns = {name: rng.integers(0, 3, 1000, dtype=np.uint8) for name in names}
    for child, parent in [("two", "one"), ("four", "two"), ("four", "three"), ("five", "four")]:
        same = rng.random(1000) < 0.6
        columns[child] = np.where(same, columns[parent], columns[child])
    said = []
    for known, search in ((5, Search(names)), (4, Search())):
        domain = Domain.of(**dict.fromkeys(names[:known], "123"))
        plan = Plan(tuple(Block((v,), Symmetric.from_probability(3, 0.2)) for v in domain))
        counts = ReportedCounts({n: columns[n] for n in domain.names}, plan.reported_sizes)
        learned = learn_structure(EstimatedMarginals(counts, plan), search=search, draws=5)
        said.append(f"{learned.structure} {learned.links}")
    return "\n".join(said)
