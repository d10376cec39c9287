"""`owner-agent discretize`: proposes cuts for a numeric column; nothing is written or sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from owner_agent.site.site import Site
from owner_agent.site.writing import toml
from owner_agent.table.encode import numbers, rows_text
from owner_agent.table.table import read_table
from pramana_core.discretize import Discretization, mgas
from pramana_core.discretize.grid import Floats
from pramana_core.errors import OptionError, TableError

Missing = npt.NDArray[np.bool_]

FEWEST_RECORDS = 5
"""No group may hold fewer: what is computed from one or two records is about those people."""


@dataclass(frozen=True)
class ProposedCuts:
    """Cuts for a column, made from the `records` cells that hold a number; `missing` hold none."""

    column: str
    records: int
    missing: int
    found: Discretization

    @property
    def toml(self) -> tuple[str, ...]:
        """The lines for the site file.

        A category of missing cells has no number, so there are no representatives beside it.
        """
        keys = {"cuts": list(self.found.cuts)}
        if not self.missing:
            keys["representatives"] = list(self.found.representatives)
        return tuple(toml(keys).splitlines())

    @property
    def notes(self) -> tuple[str, ...]:
        """What the cuts rest on and disclose, in sentences."""
        rests_on = (
            f"The cuts rest on all {self.records:,} records with a number, rounded to the grid, and"
            " become public with the plan: a cut discloses, to the grid, the two records beside"
            " it. Each representative is the mean of its group, rounded to the grid."
        )
        notes = [rests_on]
        if self.missing:
            notes.append(
                f"{self.missing} cells are empty and were left out. The variable needs a category"
                ' for them, missing = "...", which has no number, so it has no representatives.'
            )
        return tuple(notes)

    def as_dict(self) -> dict[str, Any]:
        """Return the proposal as JSON."""
        return {
            "column": self.column,
            "records": self.records,
            "missing": self.missing,
            "method": self.found.method,
            "groups": self.found.size,
            "smallest_count": min(self.found.counts),
            "labels": list(self.found.labels),
            "counts": list(self.found.counts),
            "cuts": list(self.found.cuts),
            "representatives": list(self.found.representatives),
            "toml": list(self.toml),
            "notes": list(self.notes),
        }

    def sentences(self) -> list[str]:
        """Return the proposal in sentences, which the lines for the site file follow."""
        found = self.found
        counts = ", ".join(
            f"{label}: {count:,}" for label, count in zip(found.labels, found.counts, strict=True)
        )
        head = (
            f"Column {self.column}: {found.size} groups by {found.method}; the smallest holds"
            f" {min(found.counts):,} of {self.records:,} records."
        )
        return [
            head,
            f"Records in each group, for your eyes only: {counts}.",
            *self.notes,
            "Nothing was written or sent. To use it, put these lines into the variable's entry:",
        ]


def propose(
    site: Site, column: str, minimum_count: int, granularity: float, grid: float | None = None
) -> ProposedCuts:
    """Cut a column of a site's table by MGAS (Ma 2.3).

    Cells that are empty, or hold what the site file calls missing in this column, are left out.

    Args:
        minimum_count: the fewest records in a group.
        granularity: the least width of a group.
        grid: the step to which values are rounded first; None for the default.

    Raises OptionError or TableError.
    """
    if minimum_count < FEWEST_RECORDS:
        raise OptionError(
            f"Groups of {minimum_count} records are too small to be shown; they need at least"
            f" {FEWEST_RECORDS}.",
            where="minimum_count",
            remedy=f"Give --minimum-count {FEWEST_RECORDS} or more; 50 is a usual choice.",
        )
    if column == site.file.record_id:
        raise OptionError(
            f"Column {column!r} is the record id and cannot be a variable.", where="column"
        )
    values, missing = _numbers_of(site, column)
    values = values[~missing]
    found = mgas(values, minimum_count=minimum_count, granularity=granularity, grid=grid)
    if not found.cuts:
        raise OptionError(
            f"All records of column {column!r} fall into one group; a variable needs two.",
            where="column",
            remedy="Require fewer records in a group, or a smaller granularity.",
        )
    return ProposedCuts(column, len(values), int(missing.sum()), found)


def _numbers_of(site: Site, column: str) -> tuple[Floats, Missing]:
    """Return the numbers of a column, and which cells hold none."""
    text = read_table(site.table, [column]).columns[column]
    called = [v.missing for v in site.file.variables if v.missing and column == v.source]
    labels = pa.array(["", *called])
    missing = pc.is_in(text, value_set=labels).to_numpy(zero_copy_only=False)
    values = numbers(text)
    wrong = ~np.isfinite(values) & ~missing
    if wrong.any():
        raise TableError(
            f"Column {column!r} holds no finite number in {rows_text(wrong)}.",
            where=column,
            remedy="Correct those cells, or say which of them are missing in the site file.",
        )
    if missing.all():
        raise TableError(f"Column {column!r} holds no number at all.", where=column)
    return values, missing
