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
from dataclasses import dataclass
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
from pramana_core.plan import Plan


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
        reports: ReportedCounts,
        rows: npt.NDArray[np.intp] | None,
        given: Mapping[str, int],
    ):
        self._plan, self._reports, self._rows = plan, reports, rows
        self.given = given

    def within(self, variable: str, code: int) -> RecordSubpopulation:
        """Return those that also have a category of another variable; see `Subpopulation`."""
        given = narrowed(self._plan.domain, self.given, variable, code)
        among = np.flatnonzero(self._column(variable) == code)
        rows = among if self._rows is None else self._rows[among]
        return RecordSubpopulation(self._plan, self._reports, rows, given)

    def table(self, variables: Sequence[str]) -> CountedSubtable:
        """Return the counts over other variables within it; see `Subpopulation`."""
        domain = asked_of(self._plan.domain, self.given, variables)
        counts = tabulate([self._column(name) for name in variables], domain.shape)
        flat = counts.ravel().astype(np.float64)
        return CountedSubtable(
            domain,
            flat.reshape(domain.shape),
            self._reports.records,
            np.diag(flat),
            (ExactLaw(len(flat)),),
        )

    def _column(self, name: str) -> Codes:
        column = self._reports.column(name)
        return column if self._rows is None else column[self._rows]


# Subpopulations of randomized records where the table of all reports is too large to make.
#
# The same as in `reported`, but each record carries the weight of its own report: a step down a
# path costs one pass over the records, however many variables there are and however long the path
# is.


@dataclass(frozen=True, eq=False)
class WeighedSubpopulation:
    """The records whose true categories of some variables are given, each with its weight.

    All blocks are of one variable. `linear` and `squared` have for each record the products of the
    factors of the given categories, and of the squared factors.
    """

    plan: Plan
    reports: ReportedCounts
    linear: Tensor
    squared: Tensor
    given: Mapping[str, int]

    @classmethod
    def everyone(cls, plan: Plan, reports: ReportedCounts) -> WeighedSubpopulation:
        """Return all records of some reports."""
        ones = np.ones(reports.records)
        return cls(plan, reports, ones, ones, {})

    def within(self, variable: str, code: int) -> WeighedSubpopulation:
        """Return those that also have a category of another variable; see `Subpopulation`."""
        given = narrowed(self.plan.domain, self.given, variable, code)
        (axis,) = axes_of(self.plan, [variable])
        (factor,) = rows_of(axis, given)
        own = factor[self.reports.column(variable)]
        return WeighedSubpopulation(
            self.plan, self.reports, self.linear * own, self.squared * np.square(own), given
        )

    def table(self, variables: Sequence[str]) -> CountedSubtable:
        """Return the counts over other variables within it; see `Subpopulation`."""
        asked_of(self.plan.domain, self.given, variables)
        shape = [self.plan.reported_sizes[name] for name in variables]
        place = np.ravel_multi_index([self.reports.column(name) for name in variables], shape)
        linear, squared = (
            np.asarray(np.bincount(place, weights, prod(shape)), dtype=np.float64).reshape(shape)
            for weights in (self.linear, self.squared)
        )
        records, names = self.reports.records, tuple(variables)
        tables = ReportedSubpopulation(self.plan, records, names, linear, squared, self.given, {})
        return tables.table(variables)


def everyone_of(plan: Plan, reported: ReportTables) -> Subpopulation | None:
    """Return the records of one source's reports; None where only tables of them serve."""
    if not isinstance(reported, ReportedCounts):
        return None
    if reported.cells <= CUBE_CELLS:
        return ReportedSubpopulation.everyone(plan, reported)
    if any(len(block.names) > 1 for block in plan.blocks):
        return None
    if all(block.channel.is_identity for block in plan.blocks):
        return RecordSubpopulation(plan, reported, None, {})
    return WeighedSubpopulation.everyone(plan, reported)
