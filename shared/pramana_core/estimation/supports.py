"""Supports of itemsets as cells of marginal tables, one table for each set of variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from pramana_core.domain import Domain
from pramana_core.errors import DomainError, LimitExceeded
from pramana_core.marginals.counts import KEPT_CELLS, Tensor
from pramana_core.marginals.support_counts import (
    Flags,
    Floats,
    Indices,
    Item,
    RuleCounts,
    SupportCounts,
)

if TYPE_CHECKING:
    from pramana_core.estimation.table_estimates import FactoredTable
    from pramana_core.marginals.counts import Marginals
    from pramana_core.marginals.tables import MarginalTable


SUPPORT_CELLS = 1 << 22
"""The maximum number of cells of a table whose cells are supports."""


@dataclass(frozen=True, eq=False)
class TabulatedSupports:
    """Supports that are cells of marginal tables; all itemsets over the same variables share one.

    `unshrunk` uses pooled tables before shrinkage. `cells` returns the larger number of true and
    reported cells of a table. `count_ahead` counts several tables in one pass.
    """

    marginals: Marginals
    items: tuple[Item, ...]
    unshrunk: bool = False
    cells: Callable[[Sequence[str]], int] | None = None
    count_ahead: Callable[[Sequence[Sequence[str]]], None] = lambda _tables: None

    def counts(self, itemsets: Indices) -> SupportCounts:
        found = np.zeros((3, len(itemsets)))
        for rows, names, cells in self._by_variables(itemsets):
            table = self._table(names)
            found[0, rows] = table.counts[cells]
            for error, population in ((1, False), (2, True)):
                found[error, rows] = table.variance(population=population)[cells]
        counts, noise, sampled = found
        return SupportCounts(self.marginals.records, counts, noise, sampled)

    def rules(self, itemsets: Indices, antecedents: Flags) -> RuleCounts:
        counts, errors = np.zeros((len(itemsets), 3)), np.zeros((2, len(itemsets), 3, 3))
        for rows, names, cells in self._by_variables(itemsets):
            table = self._table(names)
            for place, row in enumerate(rows):
                cell = tuple(int(axis[place]) for axis in cells)
                weights = _parts(table.counts.shape, cell, antecedents[row])
                counts[row] = (weights * table.counts).reshape(3, -1).sum(axis=1)
                for error in (0, 1):
                    errors[error, row] = table.covariance_of(weights, population=error == 1)
        noise, sampled = errors
        return RuleCounts(self.marginals.records, counts, noise, sampled)

    def _table(self, names: Sequence[str]) -> MarginalTable:
        table = self.marginals.marginal(names)
        return cast("FactoredTable", table).unshrunk if self.unshrunk else table

    def _by_variables(
        self, itemsets: Indices
    ) -> Iterator[tuple[Indices, list[str], tuple[Indices, ...]]]:
        domain = self.marginals.domain
        variables = np.array([domain.axis(name) for name, _ in self.items])[itemsets]
        codes = np.array([code for _, code in self.items])[itemsets]
        kinds, kind = np.unique(variables, axis=0, return_inverse=True)
        tables = [[domain.names[axis] for axis in axes] for axes in kinds]
        cells = self.cells or (lambda names: domain.project(names).size)
        sizes = [cells(names) for names in tables]
        if max(sizes, default=0) > SUPPORT_CELLS:
            raise LimitExceeded(
                f"Itemsets of {variables.shape[1]} variables need a table of {max(sizes)} cells;"
                f" the limit is {SUPPORT_CELLS}.",
                where="items",
                remedy="Request shorter itemsets, or variables with fewer categories.",
            )
        counted = 0
        for number, names in enumerate(tables):
            if number == counted:
                most = np.searchsorted(np.cumsum(sizes[number:]), KEPT_CELLS, side="right")
                counted = number + max(int(most), 1)
                self.count_ahead(tables[number:counted])
            rows = np.flatnonzero(kind.ravel() == number)
            yield rows, names, tuple(codes[rows].T)


def sides(antecedents: Flags) -> tuple[Flags, Flags, Flags]:
    """Return which items are in the whole, the antecedent and the consequent of each rule."""
    return np.ones_like(antecedents), antecedents, ~antecedents


def _parts(shape: tuple[int, ...], cell: tuple[int, ...], antecedent: Flags) -> Floats:
    weights: Tensor = np.zeros((3, *shape))
    weights[(0, *cell)] = 1.0
    for part, kept in ((1, antecedent), (2, ~antecedent)):
        chosen = (code if keep else slice(None) for code, keep in zip(cell, kept, strict=True))
        weights[(part, *chosen)] = 1.0
    return weights


def require_items(domain: Domain, items: tuple[Item, ...]) -> None:
    """Check that items are distinct categories. Raises UnknownVariable, DomainError."""
    for name, code in items:
        if not 0 <= code < domain[name].size:
            raise DomainError(f"{name!r} has no category with code {code}.", where=name)
    if len(set(items)) < len(items):
        raise DomainError("An item is named twice.", where="items")
