"""Weights of several sources of one population: inverse variances (Cochran 1954).

With shares s_i of N_i records each, the table of N records is sum_i a_i N_i s_i, where a_i = w_i N
/ N_i and w_i ~ N_i / v_i. The variance v_i of one record's estimate depends only on the channels,
so sources with the same channels have a_i = 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from pramana_core.domain import Domain
from pramana_core.estimation.axes import axes_of
from pramana_core.marginals.counts import Tensor
from pramana_core.marginals.support_counts import weighted_sum
from pramana_core.plan import Plan

_MORE = 1.959963984540054**2
"""The records added to a variable's counts, evenly spread, so that no share is zero."""

_LEAST = 1e-12
"""The least variance of one record's estimate of a table."""


@dataclass(frozen=True, eq=False)
class SourceWeights:
    """The factors a_i of sources, from their plans and numbers of records.

    `single` returns the counts of one variable estimated from one source, by the source's index.
    """

    plans: tuple[Plan, ...]
    records: Tensor
    domain: Domain
    single: Callable[[int, str], Tensor]
    _shares: dict[str, Tensor] = field(default_factory=dict, init=False)

    def of_table(self, names: Sequence[str]) -> Tensor:
        """Return the factors of a table over some variables, shape (sources,)."""
        second = np.array([_second_moment(plan, names, self._share) for plan in self.plans])
        square = np.prod([np.square(self._share(name)).sum() for name in names])
        variances = np.maximum(second - square, _LEAST)
        precise = variances.min() / variances
        return np.asarray(self.records.sum() * precise / weighted_sum(self.records, precise))

    def _share(self, name: str) -> Tensor:
        """Return a variable's positive distribution from all sources that report it."""
        if name not in self._shares:
            size = self.domain[name].size
            counts = np.full(size, _MORE / size)
            holders = [i for i, plan in enumerate(self.plans) if name in plan.domain]
            flat = [_second_moment(self.plans[i], [name], self._flat) for i in holders]
            precise = 1 / np.maximum(np.array(flat) - 1 / size, _LEAST)
            factors = precise * self.records.sum() / (precise @ self.records[holders])
            counted = sum(a * self.single(i, name) for a, i in zip(factors, holders, strict=True))
            counts += np.maximum(counted, 0.0)
            self._shares[name] = counts / counts.sum()
        return self._shares[name]

    def _flat(self, name: str) -> Tensor:
        return np.full(self.domain[name].size, 1 / self.domain[name].size)


def _second_moment(plan: Plan, names: Sequence[str], share: Callable[[str], Tensor]) -> float:
    """Return the summed mean squares of the cells' estimators, for independent variables."""
    second = 1.0
    for axis in axes_of(plan, names):
        law: Tensor = np.ones(1)
        for variable in axis.variables:
            law = np.multiply.outer(law, share(variable.name)).ravel()
        second *= float(axis.square(axis.channel.apply(law, 0), 0).sum())
    return second
