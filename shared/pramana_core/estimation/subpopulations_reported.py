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
# Each record carries the weight of its own report, until a path has left so few variables that the
# table of all that they report is small: from there on it is cut out of that.


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

    def within(self, variable: str, code: int) -> WeighedSubpopulation | ReportedSubpopulation:
        """Return those that also have a category of another variable; see `Subpopulation`."""
        given = narrowed(self.plan.domain, self.given, variable, code)
        (axis,) = axes_of(self.plan, [variable])
        (factor,) = rows_of(axis, given)
        own = factor[self.reports.column(variable)]
        linear, squared = self.linear * own, self.squared * np.square(own)
        within = WeighedSubpopulation(self.plan, self.reports, linear, squared, given)
        left = [name for name in self.plan.domain.names if name not in given]
        cells = prod(self.plan.reported_sizes[name] for name in left)
        return within.over(left) if _as_table(cells, self.reports.records) else within

    def over(self, names: Sequence[str]) -> ReportedSubpopulation:
        """Return the same by the table of what some variables report."""
        shape = [self.plan.reported_sizes[name] for name in names]
        place = np.ravel_multi_index([self.reports.column(name) for name in names], shape)
        linear, squared = (
            np.asarray(np.bincount(place, weights, prod(shape)), dtype=np.float64).reshape(shape)
            for weights in (self.linear, self.squared)
        )
        records = self.reports.records
        return ReportedSubpopulation(
            self.plan, records, tuple(names), linear, squared, self.given, {}
        )

    def table(self, variables: Sequence[str]) -> CountedSubtable:
        """Return the counts over other variables within it; see `Subpopulation`."""
        asked_of(self.plan.domain, self.given, variables)
        return self.over(variables).table(variables)


def _as_table(cells: int, records: int) -> bool:
    """Return whether a table of so many cells costs less than the records."""
    return cells <= min(WEIGHED_CELLS, _CELLS_A_RECORD * records)


def everyone_of(plan: Plan, reported: ReportTables) -> Subpopulation | None:
    """Return the records of one source's reports; None where only tables of them serve."""
    if not isinstance(reported, ReportedCounts):
        return None
    if reported.cells <= CUBE_CELLS or _as_table(reported.cells, reported.records):
        return ReportedSubpopulation.everyone(plan, reported)
    if any(len(block.names) > 1 for block in plan.blocks):
        return None
    if all(block.channel.is_identity for block in plan.blocks):
        return RecordSubpopulation(plan, reported, None, {})
    return WeighedSubpopulation.everyone(plan, reported)
