"""Subpopulations of randomized records where the table of all reports is too large to make.

The same as in `reported`, but each record carries the weight of its own report: a step down a path
costs one pass over the records, however many variables there are and however long the path is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from pramana_core.estimation.core.axes import axes_of
from pramana_core.estimation.subpopulations.by_tables import CountedSubtable, asked_of, narrowed
from pramana_core.estimation.subpopulations.laws import rows_of
from pramana_core.estimation.subpopulations.reported import (
    RecordSubpopulation,
    ReportedSubpopulation,
)
from pramana_core.marginals.counts import (
    CUBE_CELLS,
    ReportedCounts,
    ReportTables,
    Subpopulation,
    Tensor,
)
from pramana_core.plan import Plan


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
