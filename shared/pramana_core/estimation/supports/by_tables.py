"""Supports of itemsets from marginal tables: for any marginals, a table per set of variables."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pramana_core.domain import Domain
from pramana_core.errors import DomainError
from pramana_core.marginals.counts import Supports, Tensor
from pramana_core.marginals.score_interval import Tilt
from pramana_core.marginals.support_counts import (
    Flags,
    Floats,
    Indices,
    Item,
    RuleCounts,
    SupportCounts,
)

if TYPE_CHECKING:
    from pramana_core.marginals.counts import Marginals


@dataclass(frozen=True, eq=False)
class TabulatedSupports:
    """Supports that are cells of marginal tables; all itemsets over some variables share one."""

    marginals: Marginals
    items: tuple[Item, ...]

    def counts(self, itemsets: Indices) -> SupportCounts:
        """Return the estimated counts of itemsets; see `Supports`."""
        found, tilts = np.zeros((3, len(itemsets))), np.zeros((3, len(itemsets)))
        for rows, names, cells in self._by_variables(itemsets):
            table = self.marginals.marginal(names)
            found[0, rows] = table.counts[cells]
            for error, population in ((1, False), (2, True)):
                found[error, rows] = table.variance(population=population)[cells]
            tilts[:, rows] = [part[cells] for part in table.tilt().numbers]
        counts, noise, sampled = found
        return SupportCounts(self.marginals.records, counts, noise, sampled, Tilt(*tilts))

    def rules(self, itemsets: Indices, antecedents: Flags) -> RuleCounts:
        """Return the estimated counts of itemsets and their parts; see `Supports`."""
        counts, errors = np.zeros((len(itemsets), 3)), np.zeros((2, len(itemsets), 3, 3))
        tilts = np.zeros((3, len(itemsets), 3))
        for rows, names, cells in self._by_variables(itemsets):
            table = self.marginals.marginal(names)
            for place, row in enumerate(rows):
                cell = tuple(int(axis[place]) for axis in cells)
                weights = _parts(table.counts.shape, cell, antecedents[row])
                counts[row] = (weights * table.counts).reshape(3, -1).sum(axis=1)
                for error in (0, 1):
                    errors[error, row] = table.covariance_of(weights, population=error == 1)
            for part, flags in enumerate(_sides(antecedents[rows])):
                tilts[:, rows, part] = self._tilts(names, cells, flags)
        noise, sampled = errors
        return RuleCounts(self.marginals.records, counts, noise, sampled, Tilt(*tilts))

    def _tilts(self, names: Sequence[str], cells: tuple[Indices, ...], flags: Flags) -> Floats:
        """Return the tilts of the flagged items of each cell, shape (3, cells).

        They are those of the flagged variables' own tables.
        """
        found = np.zeros((3, len(flags)))
        kinds, kind = np.unique(flags, axis=0, return_inverse=True)
        for number, kept in enumerate(kinds):
            rows = np.flatnonzero(kind.ravel() == number)
            own = tuple(axis[rows] for axis, keep in zip(cells, kept, strict=True) if keep)
            table = self.marginals.marginal(list(itertools.compress(names, kept)))
            found[:, rows] = [part[own] for part in table.tilt().numbers]
        return found

    def _by_variables(
        self, itemsets: Indices
    ) -> Iterator[tuple[Indices, list[str], tuple[Indices, ...]]]:
        """Yield sets of itemsets over the same variables: rows, variables, and cells by axis."""
        domain = self.marginals.domain
        variables = np.array([domain.axis(name) for name, _ in self.items])[itemsets]
        codes = np.array([code for _, code in self.items])[itemsets]
        kinds, kind = np.unique(variables, axis=0, return_inverse=True)
        for number, axes in enumerate(kinds):
            rows = np.flatnonzero(kind.ravel() == number)
            names = [domain.names[axis] for axis in axes]
            yield rows, names, tuple(codes[rows].T)


@dataclass(frozen=True, eq=False)
class DividedSupports:
    """Supports of itemsets in two ways: of those that the first serves, and of all others.

    `served` says which itemsets these are.
    """

    first: Supports
    second: Supports
    served: Callable[[Indices], Flags]

    @classmethod
    def by_items(cls, first: Supports, second: Supports, quick: Flags) -> DividedSupports:
        """Return those of which the first way serves itemsets of some items alone."""
        return cls(first, second, lambda itemsets: np.asarray(quick[itemsets].all(axis=1)))

    @classmethod
    def told(cls, modelled: Supports, marginals: Marginals) -> DividedSupports:
        """Return modelled ones, and of three items and more that are told together the tables'."""
        axes = np.array([marginals.domain.axis(name) for name, _ in modelled.items])
        names = marginals.domain.names

        def served(itemsets: Indices) -> Flags:
            if itemsets.shape[1] <= 2:
                return np.zeros(len(itemsets), dtype=np.bool_)
            sets, place = np.unique(np.sort(axes[itemsets], axis=1), axis=0, return_inverse=True)
            told = [marginals.tells([names[axis] for axis in one]) for one in sets.tolist()]
            return np.array(told, dtype=np.bool_)[place.ravel()]

        return cls(TabulatedSupports(marginals, modelled.items), modelled, served)

    @property
    def items(self) -> tuple[Item, ...]:
        """The items."""
        return self.first.items

    def counts(self, itemsets: Indices) -> SupportCounts:
        """Return the estimated counts of itemsets; see `Supports`."""
        ways = self._ways(itemsets)
        parts = [way.counts(itemsets[rows]) for way, rows in ways]
        return SupportCounts.merged(parts, [rows for _, rows in ways])

    def rules(self, itemsets: Indices, antecedents: Flags) -> RuleCounts:
        """Return the estimated counts of itemsets and their parts; see `Supports`."""
        ways = self._ways(itemsets)
        parts = [way.rules(itemsets[rows], antecedents[rows]) for way, rows in ways]
        return RuleCounts.merged(parts, [rows for _, rows in ways])

    def _ways(self, itemsets: Indices) -> list[tuple[Supports, Indices]]:
        served = self.served(itemsets)
        ways = ((self.first, np.flatnonzero(served)), (self.second, np.flatnonzero(~served)))
        used = [(way, rows) for way, rows in ways if len(rows)]
        return used or [(self.first, np.flatnonzero(served))]


@dataclass(frozen=True, eq=False)
class CombinedSupports:
    """The sums of supports in strata, different records of one population."""

    strata: tuple[Supports, ...]

    @property
    def items(self) -> tuple[Item, ...]:
        """The items."""
        return self.strata[0].items

    def counts(self, itemsets: Indices) -> SupportCounts:
        """Return the estimated counts of itemsets; see `Supports`."""
        return SupportCounts.pooled([stratum.counts(itemsets) for stratum in self.strata])

    def rules(self, itemsets: Indices, antecedents: Flags) -> RuleCounts:
        """Return the estimated counts of itemsets and their parts; see `Supports`."""
        return RuleCounts.pooled([s.rules(itemsets, antecedents) for s in self.strata])


def _sides(antecedents: Flags) -> tuple[Flags, Flags, Flags]:
    """Return which items are in the whole, the antecedent and the consequent of each rule."""
    return np.ones_like(antecedents), antecedents, ~antecedents


def _parts(shape: tuple[int, ...], cell: tuple[int, ...], antecedent: Flags) -> Floats:
    """Return the weights of a table's cells in a rule's whole, antecedent and consequent."""
    weights: Tensor = np.zeros((3, *shape))
    weights[(0, *cell)] = 1.0
    for part, kept in ((1, antecedent), (2, ~antecedent)):
        chosen = (code if keep else slice(None) for code, keep in zip(cell, kept, strict=True))
        weights[(part, *chosen)] = 1.0
    return weights


def require_items(domain: Domain, items: tuple[Item, ...]) -> None:
    """Check that items are categories of a domain's variables.

    Raises:
        UnknownVariable: a variable that is not there.
        DomainError: a code that is not a category, or an item named twice.
    """
    for name, code in items:
        if not 0 <= code < domain[name].size:
            raise DomainError(f"{name!r} has no category of code {code}.", where=name)
    if len(set(items)) < len(items):
        raise DomainError("An item is named twice.", where="items")
