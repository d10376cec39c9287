"""Subpopulations of randomized records, cut out of the table of all reports.

A given category is the factor W(y) of its block's estimator; summed over the block's reports with
that weight, the table of all reports becomes one of the subpopulation's over the other variables.
The same with W^2 gives the errors. So a step down a path costs one pass over a table that the path
has made smaller, and nothing of the path is inverted again.

Also here:

* Subpopulations of randomized records where the table of all reports is too large to make.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
import numpy.typing as npt

from pramana_core.estimation.core.axes import Axis, axes_of
from pramana_core.estimation.subpopulations_by_tables import CountedSubtable, asked_of, narrowed
from pramana_core.estimation.subpopulations_laws import CellLaw, ExactLaw, outer, rows_of
from pramana_core.marginals.counts import (
    CUBE_CELLS,
    Codes,
    ReportedCounts,
    ReportTables,
    Subpopulation,
    Tensor,
    tabulate,
)
from pramana_core.marginals.passes import CountedRecords
from pramana_core.plan import Plan
from pramana_core.progress import Tick


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
            linear = np.tensordot(self._linear, factor, (place, 0))
            squared = np.tensordot(self._squared, np.square(factor), (place, 0))
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
        linear, squared = (self._over(columns, t) for t in (self._linear, self._squared))
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
            (CellLaw(factors, cells, tuple(axes), self._path(), self.given),),
        )

    def _path(self) -> tuple[Axis, ...]:
        """Return the axes of the given categories that are in the tensors already."""
        gone = [name for name in self.given if name not in self._names]
        return tuple(axis for name in gone for axis in self._axes_of((name,)))

    def _axes_of(self, names: tuple[str, ...]) -> list[Axis]:
        """Return the axes of a table; all subpopulations of one population share them."""
        if names not in self._axes:
            self._axes[names] = axes_of(self._plan, names)
        return self._axes[names]

    def _over(self, columns: Sequence[str], tensor: Tensor) -> Tensor:
        """Sum weighted reports over all other columns and flatten them."""
        gone = tuple(place for place, name in enumerate(self._names) if name not in columns)
        left = [name for name in self._names if name in columns]
        summed = tensor.sum(axis=gone) if gone else tensor
        return summed.transpose([left.index(name) for name in columns]).ravel()


class RecordSubpopulation:
    """The same of records that are reported as they are, found among the records themselves.

    Its tables are as large as what is asked for: nothing is counted over all variables.
    """

    def __init__(
        self,
        plan: Plan,
        reports: CountedRecords,
        given: Mapping[str, int],
        rows: npt.NDArray[np.intp] | None = None,
    ):
        self._plan, self._reports, self._rows = plan, reports, rows
        self.given = given

    def within(self, variable: str, code: int) -> RecordSubpopulation:
        """Return those that also have a category of another variable; see `Subpopulation`."""
        given = narrowed(self._plan.domain, self.given, variable, code)
        rows = None
        if isinstance(self._reports, ReportedCounts):  # which ones they are is remembered
            rows = _among(self._reports, self._rows, variable, code)
        return RecordSubpopulation(self._plan, self._reports, given, rows)

    def table(self, variables: Sequence[str]) -> CountedSubtable:
        """Return the counts over other variables within it; see `Subpopulation`."""
        domain = asked_of(self._plan.domain, self.given, variables)
        left = () if self._rows is not None else tuple(self.given.items())
        asked = _GivenPass(left, tuple(variables), domain.shape, self._rows)
        flat = self._reports.counted(asked).ravel().astype(np.float64)
        return CountedSubtable(
            domain,
            flat.reshape(domain.shape),
            self._reports.records,
            np.diag(flat),
            (ExactLaw(len(flat)),),
        )


@dataclass(frozen=True, eq=False)
class _GivenPass:
    """A pass that counts records over some columns, of those among `rows` with given codes."""

    given: tuple[tuple[str, int], ...]
    columns: tuple[str, ...]
    shape: tuple[int, ...]
    rows: npt.NDArray[np.intp] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return (*(name for name, _ in self.given), *self.columns)

    def __call__(self, reports: ReportedCounts, tick: Tick, /) -> npt.NDArray[np.int64]:
        tick()
        rows = self.rows
        for name, code in self.given:
            rows = _among(reports, rows, name, code)
        return tabulate([_column(reports, rows, name) for name in self.columns], self.shape)


def _among(
    reports: ReportedCounts, rows: npt.NDArray[np.intp] | None, name: str, code: int
) -> npt.NDArray[np.intp]:
    """Return which of some rows, or of all, have a code."""
    found = np.flatnonzero(_column(reports, rows, name) == code)
    return found if rows is None else rows[found]


def _column(reports: ReportedCounts, rows: npt.NDArray[np.intp] | None, name: str) -> Codes:
    column = reports.column(name)
    return column if rows is None else column[rows]


# Subpopulations of randomized records where the table of all reports is too large to make.
#
# The same, of the table over the given variables and those asked for. Where that is too large as
# well, each record carries the weight of its own report.


@dataclass(frozen=True, eq=False)
class WeighedSubpopulation:
    """The records whose true categories of some variables are given; all blocks have one variable.

    Attributes:
        table_cells: up to so many cells of reports over the given variables and those asked for are
            counted; above that records are weighed.
    """

    plan: Plan
    reports: CountedRecords
    given: Mapping[str, int]
    table_cells: int = CUBE_CELLS

    def within(self, variable: str, code: int) -> WeighedSubpopulation:
        """Return those that also have a category of another variable; see `Subpopulation`."""
        return replace(self, given=narrowed(self.plan.domain, self.given, variable, code))

    def table(self, variables: Sequence[str]) -> CountedSubtable:
        """Return the counts over other variables within it; see `Subpopulation`."""
        asked_of(self.plan.domain, self.given, variables)
        names, records = (*self.given, *variables), self.reports.records
        sizes = self.plan.reported_sizes
        if prod(sizes[name] for name in names) <= self.table_cells:
            cube = self.reports.table(names).astype(np.float64)
            tables = ReportedSubpopulation(self.plan, records, names, cube, cube, {}, {})
            for variable, code in self.given.items():
                tables = tables.within(variable, code)
            return tables.table(variables)
        factors = []
        for variable in self.given:
            (axis,) = axes_of(self.plan, [variable])
            factors.append(rows_of(axis, self.given)[0])
        asked = _WeighingPass(
            names, tuple(factors), tuple(sizes[name] for name in variables), records
        )
        linear, squared = asked.sums(self.reports.counted(asked))
        names = tuple(variables)
        tables = ReportedSubpopulation(self.plan, records, names, linear, squared, self.given, {})
        return tables.table(variables)


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
    if reported.cells <= CUBE_CELLS:
        return ReportedSubpopulation.everyone(plan, reported)
    if any(len(block.names) > 1 for block in plan.blocks):
        return None
    if all(block.channel.is_identity for block in plan.blocks):
        return RecordSubpopulation(plan, reported, {})
    return WeighedSubpopulation(plan, reported, {})
