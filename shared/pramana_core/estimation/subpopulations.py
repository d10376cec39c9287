"""Counts within subpopulations: the records whose true categories of some variables are given.

A record's weight is the product of the estimators of what is given at its reports. The reports of
other variables, counted with these weights, become the table within the subpopulation; counted with
their squares they give its errors. So no table of the given variables is made or inverted.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pramana_core.domain import Domain, Variable
from pramana_core.errors import LimitExceeded, OptionError
from pramana_core.estimation.axes import Axis, axes_of, named
from pramana_core.estimation.weights import SourceWeights
from pramana_core.marginals.counts import (
    CUBE_CELLS,
    MARGINAL_CELLS,
    MarginalTable,
    ReportedCounts,
    Tensor,
)
from pramana_core.marginals.passes import CountedRecords
from pramana_core.marginals.support_counts import excess_of, weighted_sum
from pramana_core.plan import Plan
from pramana_core.progress import Tick

if TYPE_CHECKING:
    from pramana_core.marginals.counts import Marginals

SUBTABLE_CELLS = 1 << 12
"""A table within a subpopulation has at most this many cells: their errors are a matrix."""


@dataclass(frozen=True, eq=False)
class CountedSubtable:
    """Counts over some variables within a subpopulation, with the products of their estimators.

    `products`, a row and a column per cell, are sums over the reports.
    """

    domain: Domain
    counts: Tensor
    records: int
    products: Tensor
    counted = True

    def covariance(self, *, population: bool) -> Tensor:
        """Return the covariance of the counts, a row per cell in C order."""
        flat = self.counts.ravel()
        part = np.outer(flat, flat) / self.records if population else np.diag(flat)
        return self.products - part


@dataclass(frozen=True, eq=False)
class ReportedSubpopulation:
    """A subpopulation of the records of one source or of several, which add up weighted.

    Args:
        sources: the reports, with their plans, which all have all variables.
        weights: how much each source counts; None where each record counts as one.
        given: the codes of the given categories, by variable.
    """

    sources: tuple[tuple[CountedRecords, Plan], ...]
    weights: SourceWeights | None
    given: Mapping[str, int]

    def within(self, variable: str, code: int) -> ReportedSubpopulation:
        domain = self.sources[0][1].domain
        return replace(self, given=narrowed(domain, self.given, variable, code))

    def table(self, variables: Sequence[str]) -> CountedSubtable:
        domain = asked_of(self.sources[0][1].domain, self.given, variables)
        parts = [self._of_source(reports, plan, domain) for reports, plan in self.sources]
        factors = np.ones(len(parts))
        if self.weights is not None:
            factors = self.weights.of_table([*self.given, *variables])
        sizes = [reports.records for reports, _ in self.sources]
        counts = weighted_sum(factors, [own for own, _ in parts])
        products = weighted_sum(np.square(factors), [own for _, own in parts])
        excess = excess_of(factors, sizes) / sum(sizes)
        products -= excess * np.outer(counts, counts)
        return CountedSubtable(domain, counts.reshape(domain.shape), sum(sizes), products)

    def _of_source(
        self, reports: CountedRecords, plan: Plan, domain: Domain
    ) -> tuple[Tensor, Tensor]:
        """Return the counts, (cells), and the products of their estimators, (cells, cells)."""
        axes = axes_of(plan, [*self.given, *domain.names])
        asked = [axis for axis in axes if any(v.name in domain for v in axis.kept)]
        given = [axis for axis in axes if axis not in asked]
        linear, squared = _sums(reports, plan, [(a, self._rows(a)[0]) for a in given], asked)
        kept: list[Variable] = []
        rows: Tensor = np.ones((1, 1))
        for axis in asked:
            rows = np.asarray(np.kron(rows, self._rows(axis)), dtype=np.float64)
            kept += [v for v in axis.kept if v.name not in self.given]
        order = [[v.name for v in kept].index(name) for name in domain.names]
        cells = np.arange(len(rows)).reshape([v.size for v in kept]).transpose(order).ravel()
        rows = rows[cells]
        return rows @ linear, (rows * squared) @ rows.T

    def _rows(self, axis: Axis) -> Tensor:
        """Return the estimators of an axis's cells that have the given categories, a row each."""
        sizes = [v.size for v in axis.kept]
        chosen = tuple(self.given.get(v.name, slice(None)) for v in axis.kept)
        cells = np.arange(math.prod(sizes)).reshape(sizes)[chosen].ravel()
        mixture = axis.channel.inverse_mixture
        if mixture is None:
            listed: Tensor = axis.decoder[cells]
            return listed
        # The inverse a I + b 11' need not be listed for cells that are not asked for.
        rows = np.full((len(cells), axis.channel.shape[1]), mixture[1])
        rows[np.arange(len(cells)), cells] += mixture[0]
        return rows


Factors = tuple[tuple[tuple[str, ...], tuple[int, ...], Tensor], ...]
"""Columns, their numbers of codes, and the weight of each cell of these."""


def _sums(
    reports: CountedRecords, plan: Plan, given: Sequence[tuple[Axis, Tensor]], asked: Sequence[Axis]
) -> tuple[Tensor, Tensor]:
    """Return the weights of records, and their squares, summed over the reports asked for."""

    def sizes(names: Sequence[str]) -> tuple[int, ...]:
        return tuple(plan.reported_sizes[name] for name in names)

    names = tuple(named(asked))
    factors = tuple((own, sizes(own), row) for axis, row in given for own in [tuple(named([axis]))])
    weighing = WeighingPass(names, sizes(names), factors, reports.records)
    if reports.cells > min(CUBE_CELLS, reports.records):
        return weighing.sums(reports.counted(weighing))
    table = reports.table(weighing.names)
    cells = np.nonzero(table)
    codes = dict(zip(weighing.names, cells, strict=True))
    return weighing.sums(weighing.counted(codes, table[cells]))


@dataclass(frozen=True, eq=False)
class WeighingPass:
    """A pass that adds up weights of records, and their squares, over the cells of some columns.

    A weight is the product of `factors`. It is split into a whole number of grains and a whole
    number of finer ones, so few that all sums are exact: the same in whatever order records come.
    """

    asked: tuple[str, ...]
    shape: tuple[int, ...]
    factors: Factors
    records: int

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that it reads."""
        return (*self.asked, *(name for own, _, _ in self.factors for name in own))

    def __call__(self, reports: ReportedCounts, tick: Tick, /) -> npt.NDArray[np.int64]:
        """Return grains and finer grains of the weights, and of the squares, (2, 2, cells)."""
        found = np.zeros((2, 2, math.prod(self.shape)), dtype=np.int64)
        for start in range(0, reports.records, _AT_ONCE):
            tick()
            part = slice(start, start + _AT_ONCE)
            found += self.counted({n: np.asarray(reports.column(n)[part]) for n in self.names})
        return found

    def counted(
        self, codes: Mapping[str, npt.NDArray[np.integer]], times: npt.NDArray[np.int64] | int = 1
    ) -> npt.NDArray[np.int64]:
        """Return this of records by their codes, each of them so many times."""
        weights = np.ones(len(codes[self.asked[0]]))
        for names, sizes, factor in self.factors:
            weights *= factor[_cell(codes, names, sizes)]
        place = _cell(codes, self.asked, self.shape)
        found = np.zeros((2, 2, math.prod(self.shape)), dtype=np.int64)
        for row, (left, grains) in enumerate(
            zip((weights, np.square(weights)), self._grains, strict=True)
        ):
            for column, grain in enumerate(grains):
                whole = np.rint(np.ldexp(left, grain))
                left = left - np.ldexp(whole, -grain)
                found[row, column] = np.bincount(place, whole * times, found.shape[2])
        return found

    def sums(self, found: npt.NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """Return the sums of weights and of their squares, of what the pass counted."""
        linear, squared = (
            np.ldexp(whole[0].astype(np.float64), -first)
            + np.ldexp(whole[1].astype(np.float64), -second)
            for whole, (first, second) in zip(found, self._grains, strict=True)
        )
        return linear, squared

    @property
    def _grains(self) -> list[tuple[int, int]]:
        """Of weights and squares: the powers of two of grains and finer ones in a weight of 1."""
        largest = math.prod(float(np.abs(factor).max()) for _, _, factor in self.factors)
        bits = int(self.records).bit_length()
        firsts = [
            _EXACT_BITS - bits - int(np.ceil(np.log2(max(most, 1.0))))
            for most in (largest, largest**2)
        ]
        return [(first, first + 1 + _EXACT_BITS - bits) for first in firsts]


def _cell(
    codes: Mapping[str, npt.NDArray[np.integer]], names: Sequence[str], sizes: tuple[int, ...]
) -> npt.NDArray[np.intp]:
    """Return the place of each record's cell of some columns, in C order."""
    return np.ravel_multi_index(tuple(codes[name] for name in names), sizes)


_AT_ONCE = 1 << 16
"""So many records are weighed at once: their weights stay in the processor's cache."""

_EXACT_BITS = 52
"""Sums of whole numbers below two to this power are exact."""


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


@dataclass(frozen=True, eq=False)
class TabulatedSubpopulation:
    """A subpopulation whose counts are slices of marginal tables, whatever these come from."""

    marginals: Marginals
    given: Mapping[str, int]

    def table(self, variables: Sequence[str]) -> TabulatedSubtable:
        asked_of(self.marginals.domain, self.given, variables)
        whole = self.marginals.marginal([*self.given, *variables])
        return TabulatedSubtable(whole, tuple(self.given.values()))

    def within(self, variable: str, code: int) -> TabulatedSubpopulation:
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
