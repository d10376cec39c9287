"""What tests of learners have in common: plans, reports drawn or expected, and their marginals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pramana_core.channels import Identity, Symmetric
from pramana_core.domain import Domain
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Block, Plan

Columns = dict[str, np.ndarray]


class Table:
    """Reported counts given as a tensor over some columns; they may be fractional."""

    def __init__(self, names: Sequence[str], tensor: np.ndarray):
        self.names, self.tensor = tuple(names), np.asarray(tensor)
        self.records = round(float(self.tensor.sum()))

    def table(self, names):
        gone = tuple(i for i, n in enumerate(self.names) if n not in names)
        left = [n for n in self.names if n in names]
        return self.tensor.sum(axis=gone).transpose([left.index(n) for n in names])


def plan_of(domain: Domain, p: float | Mapping[str, float]) -> Plan:
    """Return the plan that moves each variable with probability p, or those named with theirs."""
    blocks = []
    for v in domain:
        own = p.get(v.name, 0.0) if isinstance(p, Mapping) else p
        channel = Symmetric.from_probability(v.size, own) if own else Identity(v.size)
        blocks.append(Block((v,), channel))
    return Plan(tuple(blocks))


def reports(columns: Columns, plan: Plan, rng: np.random.Generator) -> Columns:
    """Randomize records by the rows of the matrices of a plan of single variables."""
    made = {}
    for block in plan.blocks:
        bounds = np.cumsum(block.channel.matrix(), axis=1)[columns[block.name]][:, :-1]
        drawn = rng.random((len(bounds), 1)) >= bounds
        made[block.name] = drawn.sum(axis=1).astype(np.uint8)
    return made


def marginals(columns: Columns, plan: Plan, estimator: str = "moment") -> EstimatedMarginals:
    """Return what is estimated from reports."""
    counts = ReportedCounts(columns, plan.reported_sizes)
    return EstimatedMarginals(counts, plan, estimator=estimator)  # type: ignore[arg-type]


def exact(columns: Columns, domain: Domain) -> EstimatedMarginals:
    """Return the counts of true records."""
    return marginals(columns, Plan.unrandomized(domain))


def expected(true: np.ndarray, plan: Plan) -> Table:
    """Return the reports N P' that are expected of true counts, an axis per variable."""
    shape = true.shape
    tensor = true.reshape([block.channel.shape[0] for block in plan.blocks])
    for axis, block in enumerate(plan.blocks):
        tensor = np.moveaxis(np.tensordot(tensor, block.channel.matrix(), (axis, 0)), -1, axis)
    return Table(plan.domain.names, tensor.reshape(shape))
