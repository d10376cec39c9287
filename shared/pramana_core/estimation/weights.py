"""How much each of several sources counts: by the inverse of its variance.

Sources are different people of one population, each with noise of its own. With shares s_i
estimated from N_i records each, the table of all N records is

    N sum_i w_i s_i = sum_i a_i N_i s_i ,   w_i ~ N_i / v_i ,   a_i = w_i N / N_i ,

v_i being the variance of what one record of the source tells, summed over the cells of the table
(its trace): the weights of least error (Cochran 1954). v_i is computed from the channels, for
independent variables with the distributions that all sources tell together. So it does not follow
what a single source happened to report, and sources with the same channels count the same: each
a_i is 1, and the table is the plain sum.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pramana_core.domain import Domain
from pramana_core.estimation.axes import Axis, axes_of
from pramana_core.marginals.counts import Tensor
from pramana_core.marginals.score_interval import MORE
from pramana_core.marginals.support_counts import Indices, Item
from pramana_core.plan import Plan

_LEAST = 1e-12
"""No record tells a table with less variance than this."""

Shares = Mapping[str, Tensor]


@dataclass(frozen=True, eq=False)
class SourceWeights:
    """The factors a_i of some sources, one for each; see the module.

    Args:
        plans: how each source was randomized.
        records: how many records each has.
        domain: all their variables.
        single: returns the counts of one variable as one source tells them, by the source's index.
    """

    plans: tuple[Plan, ...]
    records: Tensor
    domain: Domain
    single: Callable[[int, str], Tensor]

    def of_table(self, names: Sequence[str]) -> Tensor:
        """Return the factors of a table over some variables, shape (sources,)."""
        return self._factors(self._variances(names, self._shares))

    def of_itemsets(self, items: Sequence[Item], itemsets: Indices) -> Tensor:
        """Return the factors of itemsets, each by the variance of its own cell.

        Args:
            items: variables and codes.
            itemsets: indices of items, shape (n, k).

        Returns:
            Shape (sources, n).
        """
        axis = np.array([self.domain.axis(name) for name, _ in items])[itemsets]
        codes = np.array([code for _, code in items])[itemsets]
        found = np.ones((len(self.plans), len(itemsets)))
        kinds, kind = np.unique(axis, axis=0, return_inverse=True)
        for number, axes in enumerate(kinds):
            rows = np.flatnonzero(kind.ravel() == number)
            names = [self.domain.names[one] for one in axes]
            cells = dict(zip(names, codes[rows].T, strict=True))
            found[:, rows] = self._factors(self._variances(names, self._shares, cells))
        return found

    def _factors(self, variances: Tensor) -> Tensor:
        """Return the factors for variances of shape (sources, ...)."""
        precise = variances.min(axis=0) / variances
        whole: Tensor = np.tensordot(self.records, precise, 1)
        return np.asarray(self.records.sum() * precise / whole)

    def _variances(
        self, names: Sequence[str], shares: Shares, cells: Mapping[str, Indices] | None = None
    ) -> Tensor:
        """Return the variance of a record's estimate, of all cells in sum or of some of them."""
        found = []
        for plan in self.plans:
            second: Tensor | float = 1.0
            for axis in axes_of(plan, names):
                own = _second_moments(axis, shares)
                if cells is not None:
                    own = own[tuple(cells[v.name] for v in axis.kept)]
                second = second * (own.sum() if cells is None else own)
            found.append(second)
        if cells is None:
            mean = math.prod(float(np.square(shares[name]).sum()) for name in names)
        else:
            mean = np.square(np.prod([shares[name][cells[name]] for name in names], axis=0))
        return np.maximum(np.array(found) - mean, _LEAST)

    @functools.cached_property
    def _shares(self) -> Shares:
        """The distribution of each variable by all sources that report it, every share positive."""
        flat = {v.name: np.full(v.size, 1 / v.size) for v in self.domain}
        found = dict(flat)
        for variable in self.domain:
            name = variable.name
            holders = [i for i, plan in enumerate(self.plans) if name in plan.domain]
            own = SourceWeights(
                tuple(self.plans[i] for i in holders), self.records[holders], self.domain, _none
            )
            factors = own._factors(own._variances([name], flat))
            counts = sum(a * self.single(i, name) for a, i in zip(factors, holders, strict=True))
            kept = np.maximum(counts, 0.0) + MORE / variable.size
            found[name] = kept / kept.sum()
        return found


def _none(_source: int, _name: str) -> Tensor:
    return np.zeros(0)


def _second_moments(axis: Axis, shares: Shares) -> Tensor:
    """Return the mean square of the estimator of each kept cell, if variables are independent."""
    law: Tensor = np.ones(1)
    for variable in axis.variables:
        law = np.multiply.outer(law, shares[variable.name]).ravel()
    found = axis.power(axis.channel.apply(law, 0), 0, 2)
    return found.reshape([v.size for v in axis.kept])
