"""`owner-agent discretize` of several columns together: one variable of all of them (Ma 2.3)."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from owner_agent.site.site import Site
from owner_agent.table.discretizing import (
    ProposedCuts,
    missing_labels,
    numbers_of,
    propose,
    require_fewest,
    require_variable,
    toml_array,
    wrapped,
)
from owner_agent.table.methods import Method
from pramana_core.discretize import CentredGroups, mgas_centres
from pramana_core.errors import OptionError

_RESTS = (
    "The centres rest on all {records:,} records with a number in each column, rounded to the"
    " grids; each is the mean of the records that were nearest to it, rounded to the grids as well."
    " They are computed from the columns and become public with the plan."
)
_STANDS_FOR = (
    "The variable stands for its columns: none of them can be another variable too, for its value"
    " would be reported twice. Give it a channel."
)


@dataclass(frozen=True)
class ProposedGroups:
    """Groups of several columns together, made from `records` that hold a number in each.

    `missing` records hold none in one of them; `missing_label` is the category for these.
    """

    columns: tuple[str, ...]
    records: int
    missing: int
    minimum_count: int
    missing_label: str
    found: CentredGroups

    @property
    def method(self) -> str:
        """How the groups were made."""
        widths = ", ".join(f"{unit:g}" for unit in self.found.units)
        return f"mgas: at least {self.minimum_count} records, granularities {widths}"

    @property
    def toml(self) -> tuple[str, ...]:
        """The lines for the site file, at most 100 columns wide where a centre fits into one."""
        names = ", ".join(map(_quoted, self.columns))
        centres = [f"    [{', '.join(map(repr, centre))}]," for centre in self.found.centres]
        missing = [f"missing = {_quoted(self.missing_label)}"] if self.missing else []
        return (
            "[[variables]]",
            f"name = {_quoted('-'.join(self.columns))}",
            f"columns = [{names}]",
            *toml_array("units", self.found.units),
            "centres = [",
            *centres,
            "]",
            *missing,
            "sensitive = true",
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What the figures rest on, one statement each."""
        notes = [_RESTS.format(records=self.records), _STANDS_FOR]
        if self.missing:
            notes.append(
                f"{self.missing:,} records have an empty cell in one of the columns and were left"
                " out; `missing` names the category for them."
            )
        return tuple(notes)

    def as_dict(self) -> dict[str, Any]:
        """Return the proposal as JSON."""
        return {
            "columns": list(self.columns),
            "records": self.records,
            "missing": self.missing,
            "method": self.method,
            "groups": self.found.size,
            "smallest_count": min(self.found.counts),
            "labels": list(self.found.labels),
            "counts": list(self.found.counts),
            "units": list(self.found.units),
            "centres": [list(centre) for centre in self.found.centres],
            "toml": list(self.toml),
            "notes": list(self.notes),
        }

    def lines(self) -> list[str]:
        """Return the proposal as text, at most 100 columns wide where a centre fits into it."""
        head = (
            f"Columns {', '.join(self.columns)} together: {self.found.size} groups by"
            f" {self.method}; the smallest holds {min(self.found.counts):,} of {self.records:,}"
            " records."
        )
        counts = ", ".join(
            f"{label}: {count:,}"
            for label, count in zip(self.found.labels, self.found.counts, strict=True)
        )
        prose = [head, f"Records in each group, for your eyes only: {counts}.", *self.notes]
        ending = "Nothing was written or sent. To use it, put this entry in place of the columns':"
        return [*itertools.chain.from_iterable(map(wrapped, prose)), ending, "", *self.toml]


def propose_each(
    site: Site,
    columns: Sequence[str],
    method: Method,
    options: Mapping[str, float | None],
    granularities: Sequence[float],
    grids: Sequence[float],
) -> ProposedCuts | ProposedGroups:
    """Cut a column (see `propose`), or group several together (see `propose_together`)."""
    if len(columns) > 1:
        return propose_together(site, columns, method, options, granularities, grids)
    of_column = dict(options)
    for name, given in (("granularity", granularities), ("grid", grids)):
        if len(given) > 1:
            raise OptionError(
                f"One column needs --{name} once, not {len(given)} times.",
                where=name,
                remedy="Name the other columns too, each by --column, to group them together.",
            )
        of_column[name] = given[0] if given else None
    return propose(site, columns[0], method, of_column)


def propose_together(
    site: Site,
    columns: Sequence[str],
    method: Method,
    options: Mapping[str, float | None],
    granularities: Sequence[float],
    grids: Sequence[float],
) -> ProposedGroups:
    """Group several columns of a site's table together.

    Args:
        site: whose table.
        columns: two or more; records with an empty or missing cell in one are left out.
        method: `mgas` alone can group several columns.
        options: those of single columns, absent ones None; `minimum_count` is the only one used.
        granularities: of each column.
        grids: of each column, or none for the default.

    Raises:
        OptionError: another method, an option that is absent or not used, a column named twice, or
            no two groups meet the requirements.
        TableError: the table cannot be read, or cells are neither empty nor finite numbers.
    """
    least = _checked(columns, method, options, granularities, grids)
    read = []
    for column in columns:
        require_variable(site, column)
        read.append(numbers_of(site, column))
    gone = np.any([missing for _, missing in read], axis=0)
    points = np.column_stack([values for values, _ in read])[~gone]
    if not len(points):
        raise OptionError(
            f"No record has a number in each of the columns {list(columns)}.",
            where="column",
            remedy="Group columns that are known of the same records.",
        )
    found = mgas_centres(
        points, minimum_count=least, granularities=granularities, grids=grids or None
    )
    if found.size < 2:
        raise OptionError(
            f"All records of the columns {list(columns)} fall into one group; a variable needs"
            " two.",
            where="column",
            remedy="Require fewer records in a group, or smaller granularities.",
        )
    called = [label for column in columns for label in missing_labels(site, column)]
    label = next(iter(called), "missing")
    return ProposedGroups(tuple(columns), len(points), int(gone.sum()), least, label, found)


def _checked(
    columns: Sequence[str],
    method: Method,
    options: Mapping[str, float | None],
    granularities: Sequence[float],
    grids: Sequence[float],
) -> int:
    """Check what was asked and return the fewest records of a group."""
    if method is not Method.mgas:
        raise OptionError(
            f"Method {method.value} cuts one column.",
            where="method",
            remedy="Several columns are grouped together by mgas; cut the others one at a time.",
        )
    unused = sorted(n for n, v in options.items() if v is not None and n != "minimum_count")
    if unused:
        listed = ", ".join(f"--{name.replace('_', '-')}" for name in unused)
        raise OptionError(f"Several columns together do not use {listed}.", where=unused[0])
    twice = sorted({column for column in columns if columns.count(column) > 1})
    if twice:
        raise OptionError(f"Column {twice[0]!r} is named twice.", where="column")
    for name, given in (("granularity", granularities), ("grid", grids)):
        if len(given) != len(columns) and (given or name == "granularity"):
            raise OptionError(
                f"{len(columns)} columns need --{name} {len(columns)} times, not {len(given)}.",
                where=name,
                remedy=f"Give --{name} once for each --column, in the same order.",
            )
    least = options.get("minimum_count")
    if least is None:
        raise OptionError("Method mgas needs --minimum-count.", where="minimum_count")
    require_fewest(least)
    return int(least)


def _quoted(text: str) -> str:
    """Write a string of TOML: JSON's escapes are among its own."""
    return json.dumps(text, ensure_ascii=False)
