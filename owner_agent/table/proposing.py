"""A proposal for the site file of a table. It is computed from the table, so it is private."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from owner_agent.site.planning import raise_together
from owner_agent.site.table_source import TableSource
from owner_agent.table.csv_format import add_first_line
from owner_agent.table.encode import record_id_problems, rows_text
from owner_agent.table.table import (
    DATE,
    begins_with_record,
    column_names,
    read_table,
    unusable_columns,
    years,
)
from pramana_core.alike import did_you_mean, first_few
from pramana_core.discretize import Floats, by_halves, equal_frequency, interval_labels
from pramana_core.encoding import number_of, numbers
from pramana_core.errors import MissingColumn, OptionError, TableError
from pramana_core.spellings import are_years, plainest, why_codes
from pramana_core.wire.base import KEY_COLUMN

FEWEST_RECORDS = 5
"""Smallest allowed group, since a group of one or two records reveals those people."""

MOST_LISTED = 50
"""Largest count of different texts in a publishable list of categories."""

_FEW_NUMBERS = 12
"""Largest count of different numbers that are treated as categories."""

_FEW_YEARS = 20
"""Largest count of years that are treated as labels; more, as in years of birth, are numbers."""

_GROUPS = 5
_FINENESS = 20
"""Steps of the grid of cuts between the 10th and 90th percentiles."""

_FEW_ROWS = 20
_MISSING_WORDS = ("?", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "-")
_IDENTIFIES = re.compile(
    r"(^|[_\W])(id|key|nr|no|number|uuid|pseudonym)$|[a-z]I[Dd]$|[a-z](nr|nummer|kennung)$",
    re.IGNORECASE,
)
_UNNAMED = re.compile(r"column [0-9]+")
_NEARLY = 0.9
"""A column with an id's name has ids, some repeated, from this share of distinct values on."""


@dataclass(frozen=True)
class ProposedVariable:
    """A column as a variable: its categories, or the cuts of its numbers.

    `rare` are the categories of fewer than `FEWEST_RECORDS` records, which a published list would
    reveal. `public` is true if the list does not come from the table. `note` says how the values
    were interpreted.
    """

    name: str
    categories: tuple[str, ...] = ()
    cuts: tuple[float, ...] = ()
    missing: str | None = None
    rare: tuple[str, ...] = ()
    public: bool = False
    sensitive: bool = True
    note: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """The categories that the plan will have for this variable."""
        if not self.cuts:
            return self.categories
        labels = interval_labels(self.cuts)
        return labels if self.missing is None else (*labels, self.missing)

    @property
    def kind(self) -> str:
        """The kind of the list: "cuts" or "categories"."""
        return "cuts" if self.cuts else "categories"

    def with_list(self, given: Sequence[str], kind: str) -> ProposedVariable:
        """Return the variable with a public list instead of the table's. Raises OptionError."""
        cuts = tuple(map(number_of, given)) if kind == "cuts" else ()
        categories = () if cuts else tuple(dict.fromkeys(one.strip() for one in given))
        right, wanted = "" not in categories and len(categories) > 1, "two or more different texts"
        if cuts:
            right = all(a < b for a, b in itertools.pairwise((-math.inf, *cuts, math.inf)))
            wanted = "numbers in ascending order"
        elif self.missing is not None and self.missing not in categories:
            categories += (self.missing,)
        if not right:
            raise OptionError(f"The {kind} of {self.name!r} must be {wanted}.", where=kind)
        return replace(self, categories=categories, cuts=cuts, rare=(), public=True)


@dataclass(frozen=True)
class ProposedSite:
    """A proposal for a table's site file; `left_out` gives the reason for each omitted column."""

    table: TableSource
    rows: int
    columns: tuple[str, ...]
    record_id: str
    variables: tuple[ProposedVariable, ...]
    left_out: Mapping[str, str]


def propose_site(
    source: TableSource, record_id: str | None = None, *, header: bool = False
) -> ProposedSite:
    """Read a table and propose a site file.

    With `header`, accept the first row as names even if it looks like a record. Without
    `record_id`, detect the column of ids. Raises TableError, MissingColumn or OptionError.
    """
    names = column_names(source)
    if not header and begins_with_record(source):
        raise TableError(
            f"The first row of {source} looks like a record, not a header. As a header, its "
            "cells would become public names of variables. Nothing was written.",
            where=str(source),
            remedy="Insert a row of column names above it, or add --header if the cells are column"
            " names.",
        )
    require_columns([] if record_id is None else [record_id], names)
    left_out = unusable_columns(source)
    table = read_table(source, [name for name in names if name not in left_out])
    counts = {name: pc.value_counts(column) for name, column in table.columns.items()}
    chosen = record_id or _record_id(table.columns, counts)
    problems = record_id_problems(table.columns[chosen], chosen)
    add_first_line(problems, source, table.rows)
    raise_together(problems)
    variables: list[ProposedVariable] = []
    dates: list[str] = []
    for name, counted in counts.items():
        if name == chosen:
            continue
        cells = table.columns[name]
        if are_dates := _are_dates(counted.field("values")):
            cells = years(cells)
            counted = pc.value_counts(cells)
        found = _propose_variable(name, cells, counted, table.rows)
        if are_dates and not isinstance(found, str):
            dates.append(name)
            found = replace(found, note="dates, of which only the year is read")
        if isinstance(found, str):
            left_out[name] = f"only its dates' years are read: {found}" if are_dates else found
        else:
            variables.append(found)
    commas = tuple(name for name in source.decimal_commas if name != chosen)
    source = replace(source, decimal_commas=commas, dates_as_years=tuple(dates))
    columns = tuple(table.columns)
    return ProposedSite(source, table.rows, columns, chosen, tuple(variables), left_out)


def require_columns(wanted: Sequence[str], names: Sequence[str]) -> None:
    """Check that a table has the `wanted` columns. Raises MissingColumn with similar names."""
    if absent := [name for name in wanted if name not in names]:
        raise MissingColumn(
            f"The table has no column {', '.join(map(repr, absent))}{did_you_mean(absent, names)}.",
            where=absent[0],
            remedy=f"The table's columns are {first_few(map(repr, names), 12)}.",
        )


def _identifies(counted: pa.StructArray, rows: int) -> bool:
    """Whether a column has a different value in each row, and no empty cells or fractions."""
    values = counted.field("values")
    if len(values) != rows or pc.any(pc.equal(values, "")).as_py():
        return False
    read = numbers(values)
    return not (np.isfinite(read).all() and (read % 1).any())


def _are_dates(values: pa.Array) -> bool:
    """Whether a column contains dates, with too many different values for a list of categories."""
    filled = pc.filter(values, pc.invert(pc.is_in(values, pa.array(["", *_MISSING_WORDS]))))
    return len(filled) > _FEW_YEARS and bool(pc.all(pc.match_substring_regex(filled, DATE)).as_py())


def _record_id(columns: Mapping[str, pa.Array], counts: Mapping[str, pa.StructArray]) -> str:
    """Return the column of record ids, even if some ids are faulty. Raises OptionError."""
    rows = len(next(iter(columns.values())))
    candidates = [name for name in counts if _identifies(counts[name], rows)]
    named = [name for name in counts if _IDENTIFIES.search(name)]
    if found := [name for name in named if name in candidates]:
        return found[0]
    for name in named:
        if len(counts[name]) >= _NEARLY * rows and record_id_problems(columns[name], name):
            return name
    for name in candidates:
        if not _UNNAMED.fullmatch(name):
            return name
    if candidates:
        raise OptionError(
            f"The only column that identifies the records is {candidates[0]!r}, which has no "
            "name in the header. If the column contains row numbers, another export may give the "
            "same numbers to other people.",
            where="record-id",
            remedy="If its values are permanent for each record, add --record-id"
            f" '{candidates[0]}'.",
        )
    raise OptionError(
        "No column identifies the records, because none has a different value in each row.",
        where="record-id",
        remedy="Add a column of permanent ids, the same ids at all owners of the same people. To "
        "see which rows repeat the ids of a column, select the column with --record-id.",
    )


def _propose_variable(
    name: str, column: pa.Array, counted: pa.StructArray, rows: int
) -> ProposedVariable | str:
    if name == KEY_COLUMN:
        return "its name is reserved"
    if not name:
        return "it has no name"
    found = dict(
        zip(counted.field("values").to_pylist(), counted.field("counts").to_pylist(), strict=True)
    )
    empty = "" in found
    texts = [text for text in found if text]
    if len(texts) < 2:
        return "it has the same value everywhere" if texts else "it is empty"
    words = [text for text in texts if text in _MISSING_WORDS]
    read = numbers(column)
    numeric = np.isfinite(read).sum() == rows - found.get("", 0) - sum(found[w] for w in words)
    distinct = len(texts) - len(words)
    # Consecutive distinct numbers are row numbers.
    numbering = np.isfinite(read).all() and np.ptp(read) == rows - 1
    if distinct == rows and (_IDENTIFIES.search(name) or numbering):
        return "it identifies records"
    numbered = [text for text in texts if text not in words] if numeric else []
    codes = why_codes(name, numbered) if numeric else ""
    note = f"codes, not numbers: {codes}" if codes else ""
    many = _FEW_YEARS if are_years(numbered) else _FEW_NUMBERS
    # Empty cells and a word for "missing" form one category.
    missing = words[0] if words else "?" if empty else None
    lacking = found.get("", 0) + sum(found[word] for word in words)
    if numeric and not codes and distinct > many and len(words) < 2:
        if cuts := _cuts(read[np.isfinite(read)]):
            rare = (str(missing),) if 0 < lacking < FEWEST_RECORDS else ()
            return ProposedVariable(name, cuts=cuts, missing=missing, rare=rare)
        return "no round cuts divide its numbers into large enough groups"
    if distinct > MOST_LISTED or (2 * distinct > rows and rows >= _FEW_ROWS):
        if numeric and len(words) > 1:
            return (
                f"its cells are numbers and {first_few(map(repr, words))}: keep one of these words"
            )
        if odd := _odd_cells(column):
            return odd
        contains = f": it contains {codes}" if codes else ""
        return f"it has too many different texts for a public list{contains}"
    if numeric and not codes and len({*map(plainest, texts)}) == len(texts):
        # Files with gaps write 1 as 1.0.
        found = {plainest(text): count for text, count in found.items()}
        texts = [*map(plainest, texts)]
    ordered = sorted(texts, key=lambda text: (_number(text), text) if numeric else (0.0, text))
    if empty and missing not in ordered:
        ordered.append(str(missing))
    counted = {text: found[text] for text in texts}
    if empty:
        counted[str(missing)] = counted.get(str(missing), 0) + found[""]
    rare = tuple(text for text in ordered if counted[text] < FEWEST_RECORDS)
    return ProposedVariable(
        name, tuple(ordered), missing=missing if empty else None, rare=rare, note=note
    )


def _odd_cells(column: pa.Array) -> str:
    """Return a sentence on cells of a numeric column that are not numbers, or ""."""
    filled = pc.invert(pc.is_in(column, pa.array(["", *_MISSING_WORDS]))).to_numpy(False)
    read = numbers(pc.replace_substring(column, ",", "."))
    odd = filled & ~np.isfinite(read)
    if not 0 < odd.sum() <= (1 - _NEARLY) * filled.sum():
        return ""
    return f"its cells are numbers, but not in {rows_text(odd)}: correct or empty those cells"


def _number(text: str) -> float:
    """Return the number in a text, or infinity for a word that means missing, so it sorts last."""
    return math.inf if text in _MISSING_WORDS else float(text)


def _cuts(values: Floats) -> tuple[float, ...]:
    """Return round numbers that divide the values into groups of similar size, or ()."""
    low, high = np.quantile(values, [0.1, 0.9])
    spread = float(high - low) or float(np.ptp(values))
    # The next of 1, 2 and 5 times a power of ten.
    step = spread / _FINENESS
    power = 10.0 ** math.floor(math.log10(step))
    grid = next(power * times for times in (1, 2, 5, 10) if power * times >= step * (1 - 1e-9))
    if not (values % 1).any():
        grid = max(grid, 1.0)
    fewest = max(FEWEST_RECORDS, min(50, len(values) // 20))
    for groups in range(_GROUPS, 1, -1):
        # Numbers are rounded to the grid and cuts lie between grid points, so a shift by half a
        # step puts them on the points.
        if cuts := equal_frequency(values + grid / 2, groups, minimum_count=fewest, step=grid):
            return by_halves(tuple(float(f"{cut - grid / 2:.12g}") for cut in cuts), values)
    return ()
