"""Counts within subpopulations: the records whose true categories of some variables are given.

Subpopulations of randomized records, cut out of the table of all reports. A given category is the
factor W(y) of its block's estimator; summed over the block's reports with that weight, the table of
all reports becomes one of the subpopulation's over the other variables. The same with W^2 gives the
errors. So a step down a path costs one pass over a table that the path has made smaller, and
nothing of the path is inverted again.

Also here:

* Subpopulations of randomized records where the table of all reports is too large to make.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pramana_core.domain import Domain
from pramana_core.errors import LimitExceeded, OptionError
from pramana_core.estimation.axes import Axis, axes_of
from pramana_core.estimation.weights import SourceWeights
from pramana_core.marginals.counts import (
    CUBE_CELLS,
    MARGINAL_CELLS,
    MarginalTable,
    ReportedCounts,
    ReportTables,
    Subpopulation,
    Tensor,
)
from pramana_core.marginals.passes import CountedRecords
from pramana_core.marginals.support_counts import excess_of, weighted_sum
from pramana_core.plan import Plan
from pramana_core.progress import Tick

if TYPE_CHECKING:
    from pramana_core.marginals.counts import Marginals


def outer(rows: Tensor, more: Tensor) -> Tensor:
    """Return the products of two tables' entries, by pairs of rows and pairs of columns."""
    made: Tensor = np.einsum("cr,ds->cdrs", rows, more).reshape(
        len(rows) * len(more), rows.shape[1] * more.shape[1]
    )
    return made


def rows_of(axis: Axis, given: Mapping[str, int]) -> Tensor:
    """Return the estimators of an axis's cells that have the given categories, a row each."""
    cells = _cells(axis, given)
    mixture = axis.channel.inverse_mixture
    if mixture is None:
        listed: Tensor = axis.decoder[cells]
        return listed
    # The inverse a I + b 11' need not be listed for cells that are not asked for.
    return _mixed(cells, axis.channel.shape[1], *mixture)


def _cells(axis: Axis, given: Mapping[str, int]) -> npt.NDArray[np.intp]:
    """Return the places of an axis's cells that have the given categories."""
    sizes = [v.size for v in axis.kept]
    chosen = tuple(given.get(v.name, slice(None)) for v in axis.kept)
    return np.arange(math.prod(sizes)).reshape(sizes)[chosen].ravel()


def _mixed(cells: npt.NDArray[np.intp], size: int, a: float, b: float) -> Tensor:
    """Return rows of a I + b 11'."""
    rows = np.full((len(cells), size), b)
    rows[np.arange(len(cells)), cells] += a
    return rows


SUBTABLE_CELLS = 1 << 12
"""Of more cells than this no table within a subpopulation is given: their errors are a matrix."""


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
class CombinedSubpopulation:
    """A subpopulation in strata, different records of one population: a weighted sum."""

    strata: tuple[Subpopulation, ...]
    weights: SourceWeights | None

    @property
    def given(self) -> Mapping[str, int]:
        """The codes of the given categories, by variable."""
        return self.strata[0].given

    def table(self, variables: Sequence[str]) -> CountedSubtable:
        """Return the counts over other variables within it; see `Subpopulation`."""
        tables = [stratum.table(variables) for stratum in self.strata]
        factors = np.ones(len(tables))
        if self.weights is not None:
            factors = self.weights.of_table([*self.given, *variables])
        counts = weighted_sum(factors, [table.counts for table in tables])
        records = sum(table.records for table in tables)
        moments = [t.covariance(population=False) + np.diag(t.counts.ravel()) for t in tables]
        excess = excess_of(factors, [table.records for table in tables])
        products = weighted_sum(np.square(factors), moments)
        products -= excess / records * np.outer(counts, counts)
        return CountedSubtable(tables[0].domain, counts, records, products)

    def within(self, variable: str, code: int) -> CombinedSubpopulation:
        """Return those that also have a category of another variable; see `Subpopulation`."""
        return replace(self, strata=tuple(s.within(variable, code) for s in self.strata))


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


WEIGHED_CELLS = 1 << 22
"""Up to so many cells, and `_CELLS_A_RECORD`, a table of reports is weighed and not the records."""

_CELLS_A_RECORD = 4


class ReportedSubpopulation:
    """The records whose true categories of some variables are given.

    `linear` and `squared` are the reports, weighted by the factors and the squared factors of the
    given categories; an axis for each of `names`. Variables of joint blocks keep their axis, since
    which channel applies depends on what else of the block is asked for.
    """

    def __init__(
        self,
        plan: Plan,
        records: int,
        names: tuple[str, ...],
        linear: Tensor,
        squared: Tensor,
        given: Mapping[str, int],
        axes: dict[tuple[str, ...], list[Axis]],
    ):
        self._plan = plan
        self._records = records
        self._names = names
        self._linear = linear
        self._squared = squared
        self.given = given
        self._axes = axes
        self._with: dict[str, dict[str, tuple[Tensor, Tensor]]] = {}

    @classmethod
    def everyone(cls, plan: Plan, reports: ReportTables) -> ReportedSubpopulation:
        """Return all records of some reports."""
        names = plan.domain.names
        cube = reports.table(names).astype(np.float64)
        return cls(plan, reports.records, names, cube, cube, {}, {})

    def within(self, variable: str, code: int) -> ReportedSubpopulation:
        """Return those that also have a category of another variable; see `Subpopulation`."""
        given = narrowed(self._plan.domain, self.given, variable, code)
        if len(self._plan.block_of(variable).names) > 1:
            linear, squared, left = self._linear, self._squared, self._names
        else:
            (axis,) = self._axes_of((variable,))
            (factor,), place = rows_of(axis, given), self._names.index(variable)
            linear = _weighed(self._linear, factor, place)
            squared = _weighed(self._squared, np.square(factor), place)
            left = tuple(name for name in self._names if name != variable)
        return ReportedSubpopulation(
            self._plan, self._records, left, linear, squared, given, self._axes
        )

    def table(self, variables: Sequence[str]) -> CountedSubtable:
        """Return the counts over other variables within it; see `Subpopulation`."""
        domain = asked_of(self._plan.domain, self.given, variables)
        # What is given of single blocks is in the tensors already.
        still = [name for name in self.given if name in self._names]
        axes = self._axes_of(tuple(sorted({*variables, *still})))
        columns = [v.name for axis in axes for v in axis.variables]
        linear, squared = self._over(columns, variables[-1])
        factors, kept = np.ones((1, 1)), []
        for axis in axes:
            factors = outer(factors, rows_of(axis, self.given))
            kept += [v for v in axis.kept if v.name not in self.given]
        order = [[v.name for v in kept].index(name) for name in variables]
        cells = np.arange(len(factors)).reshape([v.size for v in kept]).transpose(order).ravel()
        factors = factors[cells]
        return CountedSubtable(
            domain,
            (factors @ linear).reshape(domain.shape),
            self._records,
            (factors * squared) @ factors.T,
        )

    def _axes_of(self, names: tuple[str, ...]) -> list[Axis]:
        """Return the axes of a table; all subpopulations of one population share them."""
        if names not in self._axes:
            self._axes[names] = axes_of(self._plan, names)
        return self._axes[names]

    def _over(self, columns: Sequence[str], last: str) -> tuple[Tensor, Tensor]:
        """Sum weighted reports over all other columns and flatten them.

        Of two columns all the tables that one has with the last are summed at once, and kept.
        """
        if len(columns) == 2 and last in columns:
            if last not in self._with:
                others = tuple(name for name in self._names if name != last)
                moved = [np.moveaxis(t, self._names.index(last), -1) for t in self._tensors]
                self._with[last] = _each_with_last(others, moved)
            one, two = columns
            made = self._with[last][one if two == last else two]
            linear, squared = (t.ravel() if two == last else t.T.ravel() for t in made)
            return linear, squared
        gone = tuple(place for place, name in enumerate(self._names) if name not in columns)
        left = [name for name in self._names if name in columns]
        order = [left.index(name) for name in columns]
        parts = [t.sum(axis=gone).transpose(order).ravel() for t in self._tensors]
        return parts[0], parts[-1]

    @property
    def _tensors(self) -> list[Tensor]:
        """The weighted reports, linear and squared; once where they are the same."""
        same = self._linear is self._squared
        return [self._linear] if same else [self._linear, self._squared]


def _weighed(tensor: Tensor, factor: Tensor, place: int) -> Tensor:
    """Return the sum over an axis of a tensor with the weights of a factor."""
    before, after = tensor.shape[:place], tensor.shape[place + 1 :]
    split = tensor.reshape(prod(before), len(factor), -1)
    total: Tensor = split[:, 0] * factor[0]
    for code in range(1, len(factor)):
        total += split[:, code] * factor[code]
    return total.reshape(before + after)


def _each_with_last(
    names: tuple[str, ...], tensors: Sequence[Tensor]
) -> dict[str, tuple[Tensor, Tensor]]:
    """Return, of tensors over some variables and a last one, the sums over all but one and that.

    Half of the variables are summed out at a time, so that all tables take two passes.
    """
    if len(names) == 1:
        return {names[0]: (tensors[0], tensors[-1])}
    half = len(names) // 2
    halves = names[:half], names[half:]
    gone = tuple(range(half, len(names))), tuple(range(half))
    made: dict[str, tuple[Tensor, Tensor]] = {}
    for part, summed in zip(halves, gone, strict=True):
        made |= _each_with_last(part, [tensor.sum(axis=summed) for tensor in tensors])
    return made


# Subpopulations of randomized records where the table of all reports is too large to make.
#
# A record's weight is the product of the factors of its reports of given variables. Once a path has
# left so few variables that the table of all these is small, it is cut out of that.


@dataclass(frozen=True, eq=False)
class WeighedSubpopulation:
    """The records whose true categories of some variables are given; blocks have one variable."""

    plan: Plan
    reports: CountedRecords
    given: Mapping[str, int]

    def within(self, variable: str, code: int) -> WeighedSubpopulation | ReportedSubpopulation:
        """Return those that also have a category of another variable; see `Subpopulation`."""
        within = replace(self, given=narrowed(self.plan.domain, self.given, variable, code))
        left = [name for name in self.plan.domain.names if name not in within.given]
        cells = prod(self.plan.reported_sizes[name] for name in left)
        return within.over(left) if _as_table(cells, self.reports.records) else within

    def table(self, variables: Sequence[str]) -> CountedSubtable:
        """Return the counts over other variables within it; see `Subpopulation`."""
        asked_of(self.plan.domain, self.given, variables)
        return self.over(variables).table(variables)

    def over(self, names: Sequence[str]) -> ReportedSubpopulation:
        """Return the same by the table of what some variables report."""
        records, columns = self.reports.records, (*self.given, *names)
        shape = tuple(self.plan.reported_sizes[name] for name in names)
        weighing = _WeighingPass(columns, self._factors, shape, records)
        linear, squared = weighing.sums(self.reports.counted(weighing))
        return ReportedSubpopulation(
            self.plan, records, tuple(names), linear, squared, self.given, {}
        )

    @cached_property
    def _factors(self) -> tuple[Tensor, ...]:
        """Of each given variable, the factor that each of its reports has."""
        axes = [axes_of(self.plan, [variable])[0] for variable in self.given]
        return tuple(rows_of(axis, self.given)[0] for axis in axes)


def _as_table(cells: int, records: int) -> bool:
    """Return whether a table of so many cells costs less than the records."""
    return cells <= min(WEIGHED_CELLS, _CELLS_A_RECORD * records)


@dataclass(frozen=True, eq=False)
class _WeighingPass:
    """A pass that adds up weights of records, and their squares, over the last of some columns.

    A weight is the product of the factors that a record's codes have, one of `factors` for each of
    the first columns. It is taken to be a whole number of grains, and the rest one of finer grains:
    so few that all sums are exact, and the same in whatever order records come.
    """

    names: tuple[str, ...]
    factors: tuple[Tensor, ...]
    shape: tuple[int, ...]
    records: int

    def __call__(self, reports: ReportedCounts, tick: Tick, /) -> npt.NDArray[np.int64]:
        """Return grains and finer grains of the weights, and of the squares, (2, 2, cells...)."""
        found = np.zeros((2, 2, prod(self.shape)), dtype=np.int64)
        for start in range(0, reports.records, _AT_ONCE):
            tick()
            part = slice(start, start + _AT_ONCE)
            codes = [np.asarray(reports.column(name)[part]) for name in self.names]
            given, asked = codes[: len(self.factors)], codes[len(self.factors) :]
            weights = np.ones(len(codes[0]))
            for factor, own in zip(self.factors, given, strict=True):
                weights *= factor[own]
            place = np.ravel_multi_index(asked, self.shape)
            for row, (values, grains) in enumerate(
                zip((weights, np.square(weights)), self._grains, strict=True)
            ):
                left = values
                for column, grain in enumerate(grains):
                    whole = np.rint(np.ldexp(left, grain))
                    left = left - np.ldexp(whole, -grain)
                    sums = np.bincount(place, whole, found.shape[2])
                    found[row, column] += sums.astype(np.int64)
        return found.reshape(2, 2, *self.shape)

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
        largest = prod(float(np.abs(factor).max()) for factor in self.factors)
        bits = int(self.records).bit_length()
        firsts = [
            _EXACT_BITS - bits - int(np.ceil(np.log2(max(most, 1.0))))
            for most in (largest, largest**2)
        ]
        return [(first, first + 1 + _EXACT_BITS - bits) for first in firsts]


_AT_ONCE = 1 << 16
"""So many records are weighed at once: their weights stay in the processor's cache."""

_EXACT_BITS = 52
"""Sums of whole numbers below two to this power are exact."""


def everyone_of(plan: Plan, reported: ReportTables) -> Subpopulation | None:
    """Return the records of one source's reports; None where only tables of them serve."""
    if not isinstance(reported, CountedRecords):
        return None
    if reported.cells <= CUBE_CELLS or _as_table(reported.cells, reported.records):
        return ReportedSubpopulation.everyone(plan, reported)
    if any(len(block.names) > 1 for block in plan.blocks):
        return None
    return WeighedSubpopulation(plan, reported, {})
