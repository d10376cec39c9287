"""Counts within subpopulations: the records whose true categories of some variables are given."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pramana_core.domain import Domain
from pramana_core.errors import LimitExceeded, OptionError
from pramana_core.estimation.subpopulations_laws import CellLaw, ExactLaw
from pramana_core.marginals.counts import (
    MARGINAL_CELLS,
    CellMoments,
    MarginalTable,
    Subpopulation,
    Tensor,
)

if TYPE_CHECKING:
    from pramana_core.marginals.counts import Marginals


SUBTABLE_CELLS = 1 << 12
"""Of more cells than this no table within a subpopulation is given: their errors are a matrix."""


@dataclass(frozen=True, eq=False)
class CountedSubtable:
    """Counts over some variables within a subpopulation, with the products of their estimators.

    `products`, a row and a column per cell, are sums over the reports; `laws` are those of the
    parts of the records, empty where they are not known.
    """

    domain: Domain
    counts: Tensor
    records: int
    products: Tensor
    laws: tuple[CellLaw | ExactLaw, ...] = ()
    counted = True

    def covariance(self, *, population: bool) -> Tensor:
        """Return the covariance of the counts, a row per cell in C order."""
        flat = self.counts.ravel()
        part = np.outer(flat, flat) / self.records if population else np.diag(flat)
        return self.products - part

    def moments_given_cell(self) -> CellMoments | None:
        """Return what records say of their row; see `Subtable`."""
        parts = [law.moments(self.domain.shape[-1]) for law in self.laws]
        known = [part for part in parts if part is not None]
        if not parts or len(known) < len(parts):
            return None
        square, cross, margin = (
            np.sum([getattr(part, name) for part in known], axis=0)
            for name in ("square", "cross", "margin")
        )
        return CellMoments(square, cross, margin)


@dataclass(frozen=True, eq=False)
class CombinedSubpopulation:
    """A subpopulation in strata, different records of one population: their counts add up."""

    strata: tuple[Subpopulation, ...]

    @property
    def given(self) -> Mapping[str, int]:
        """The codes of the given categories, by variable."""
        return self.strata[0].given

    def table(self, variables: Sequence[str]) -> CountedSubtable:
        """Return the counts over other variables within it; see `Subpopulation`."""
        tables = [stratum.table(variables) for stratum in self.strata]
        counts: Tensor = np.sum([table.counts for table in tables], axis=0)
        errors: Tensor = np.sum([table.covariance(population=False) for table in tables], axis=0)
        records = sum(table.records for table in tables)
        products = errors + np.diag(counts.ravel())
        laws = [getattr(table, "laws", ()) for table in tables]
        if not all(laws):
            return CountedSubtable(tables[0].domain, counts, records, products)
        shared = tuple(
            replace(law, share=law.share * table.records / records)
            for table, own in zip(tables, laws, strict=True)
            for law in own
        )
        return CountedSubtable(tables[0].domain, counts, records, products, shared)

    def within(self, variable: str, code: int) -> CombinedSubpopulation:
        """Return those that also have a category of another variable; see `Subpopulation`."""
        return CombinedSubpopulation(tuple(s.within(variable, code) for s in self.strata))


@dataclass(frozen=True, eq=False)
class TabulatedSubtable:
    """The cells of a marginal table in which some variables have given categories.

    Args:
        whole: the table over the given variables, in this order, and then those asked for.
        given: the codes of the given variables.
    """

    whole: MarginalTable
    given: tuple[int, ...]
    counted = True

    @property
    def domain(self) -> Domain:
        """The variables asked for."""
        return self.whole.domain.project(self.whole.domain.names[len(self.given) :])

    @property
    def counts(self) -> Tensor:
        """The raw counts."""
        within: Tensor = self.whole.counts[self.given]
        return within

    @property
    def records(self) -> int:
        """The number of all records."""
        return self.whole.records

    def covariance(self, *, population: bool) -> Tensor:
        """Return the covariance of the counts, a row per cell in C order.

        Raises LimitExceeded for a matrix of cells by cells of the whole table that is too large.
        """
        cells = self.domain.size
        if cells * self.whole.counts.size > MARGINAL_CELLS:
            raise _too_large(self.domain, self.given)
        weights = np.zeros((cells, *self.whole.counts.shape))
        for cell, codes in enumerate(np.ndindex(*self.domain.shape)):
            weights[(cell, *self.given, *codes)] = 1.0
        return self.whole.covariance_of(weights, population=population)

    def moments_given_cell(self) -> None:
        """Return nothing: where a table comes from is not known here."""


@dataclass(frozen=True, eq=False)
class TabulatedSubpopulation:
    """A subpopulation whose counts are slices of marginal tables, whatever these come from."""

    marginals: Marginals
    given: Mapping[str, int]

    def table(self, variables: Sequence[str]) -> TabulatedSubtable:
        """Return the counts over other variables within it; see `Subpopulation`."""
        asked_of(self.marginals.domain, self.given, variables)
        whole = self.marginals.marginal([*self.given, *variables])
        return TabulatedSubtable(whole, tuple(self.given.values()))

    def within(self, variable: str, code: int) -> TabulatedSubpopulation:
        """Return those that also have a category of another variable; see `Subpopulation`."""
        return TabulatedSubpopulation(
            self.marginals, narrowed(self.marginals.domain, self.given, variable, code)
        )


def asked_of(domain: Domain, given: Mapping[str, int], variables: Sequence[str]) -> Domain:
    """Return the variables that a table within a subpopulation is asked of.

    Raises:
        UnknownVariable: one is not there.
        OptionError: no variable is named, or one is given or named twice.
        LimitExceeded: their table has more than `SUBTABLE_CELLS` cells.
    """
    if not variables or len({*variables, *given}) < len(variables) + len(given):
        raise OptionError(
            f"The variables must be distinct and not among those given, not {list(variables)}."
        )
    asked = domain.project(variables)
    if asked.size > SUBTABLE_CELLS:
        raise _too_large(asked, given)
    return asked


def _too_large(asked: Domain, given: Collection[object]) -> LimitExceeded:
    return LimitExceeded(
        f"The covariance of the {asked.size} counts over {list(asked.names)}, {len(given)} other"
        " variables given, is too large to list.",
        remedy="Ask for fewer variables, or give fewer.",
    )


def narrowed(domain: Domain, given: Mapping[str, int], variable: str, code: int) -> dict[str, int]:
    """Return given categories with one more.

    Raises:
        UnknownVariable: there is no such variable.
        OptionError: it is given already, or has no such category.
    """
    size = domain[variable].size
    if variable in given or not 0 <= code < size:
        raise OptionError(
            f"{variable!r} is given already."
            if variable in given
            else f"{variable!r} has no category {code}: it has {size}.",
            where=variable,
        )
    return {**given, variable: code}
