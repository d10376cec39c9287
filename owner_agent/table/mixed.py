"""Columns of numbers and of categories, read whole for what leaves without a plan.

Categories are those that the site file lists, never those of the table; no message quotes a cell.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from owner_agent.site.planning import raise_together
from owner_agent.site.site import Site
from owner_agent.table.encode import numbers, record_id_problems, rows_text
from owner_agent.table.table import TextTable, read_table
from pramana_core.errors import EmptyTable, PramanaError, TableError, UnknownCategory
from pramana_core.mixed import CategoricalColumn, Column, NumericColumn
from pramana_core.spellings import LabelReader

Rows = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ReadColumn:
    """A column as it was read: numbers, or codes of categories; where its cells are empty."""

    name: str
    values: npt.NDArray[np.float64] | npt.NDArray[np.intp]
    empty: Rows
    categories: tuple[str, ...] | None = None

    def column(self, kept: npt.NDArray[np.intp]) -> Column:
        """Return some of its rows, none of them empty."""
        values = self.values[kept]
        if self.categories is not None:
            return CategoricalColumn(self.name, values.astype(np.intp), self.categories)
        # Minus zero is zero: both are treated alike, and one table must have one content.
        return NumericColumn(self.name, values.astype(np.float64) + 0.0)


def read_numbers(table: TextTable, name: str, done: str, remedy: str) -> ReadColumn:
    """Return a column of numbers.

    Args:
        done: what is done with it, as in "masked".
        remedy: what to do where cells hold no number.

    Raises TableError: cells hold no finite number.
    """
    text = table.columns[name]
    empty = _empty(text)
    values = numbers(text)
    wrong = ~np.isfinite(values) & ~empty
    if wrong.any():
        raise TableError(
            f"Column {name!r} is {done} as numbers but holds no finite number in"
            f" {rows_text(wrong)}.",
            where=name,
            remedy=remedy,
        )
    return ReadColumn(name, values, empty)


def read_categories(
    table: TextTable, name: str, listed: tuple[str, ...], missing: str | None, section: str
) -> ReadColumn:
    """Return a column of the categories listed; empty cells are of the category `missing`.

    Raises UnknownCategory: cells hold none of them; `section` is where they are listed.
    """
    text = table.columns[name]
    empty = _empty(text)
    codes = LabelReader(listed).codes(text).astype(np.intp)
    if missing is not None:
        codes[empty] = listed.index(missing)
        empty = np.zeros_like(empty)
    unknown = (codes < 0) & ~empty
    if unknown.any():
        raise UnknownCategory(
            f"Column {name!r} holds values that are not among its {len(listed)}"
            f" categories in {rows_text(unknown)}.",
            where=name,
            remedy=f"Correct those cells, or add the categories to [{section}] of the site file.",
        )
    return ReadColumn(name, codes, empty, listed)


def ranked(column: Column) -> npt.NDArray[np.intp]:
    """Return a column as codes: its categories, or the eighths of its records by rank."""
    if isinstance(column, CategoricalColumn):
        return column.codes
    edges = np.quantile(column.values, np.arange(1, 8) / 8)
    return np.searchsorted(edges, column.values, side="right")


@dataclass(frozen=True, eq=False)
class CompleteRecords:
    """Columns of the records without empty cells, with their ids; `dropped` had empty cells."""

    record_ids: list[str]
    columns: tuple[Column, ...]
    dropped: int


def read_records(
    site: Site,
    readers: Mapping[str, Callable[[TextTable], ReadColumn]],
    *,
    drop: bool,
    section: str,
    used: str,
) -> CompleteRecords:
    """Read columns of a site's table, all that is wrong with them told at once.

    Args:
        readers: what reads each column, by name.
        drop: whether records with empty cells are left out; else they are refused.
        section: the section of the site file that names the columns.
        used: what is done with columns, as in "masked or told".

    Raises TableError, UnknownCategory or EmptyTable.
    """
    ids = site.file.record_id
    text = read_table(site.table, [ids, *readers])
    problems = record_id_problems(text.columns[ids], ids)
    read: list[ReadColumn] = []
    for reader in readers.values():
        try:
            read.append(reader(text))
        except PramanaError as error:
            problems.append(error)
    raise_together(problems)
    kept = complete_rows(read, drop=drop, where=str(site.table), section=section, used=used)
    names: list[str] = text.columns[ids].to_pylist()
    columns = tuple(column.column(kept) for column in read)
    return CompleteRecords([names[place] for place in kept], columns, text.rows - len(kept))


def content_of(columns: Iterable[Column]) -> Iterator[bytes]:
    """Yield all that columns hold: of each its name, its categories, its codes or numbers."""
    for column in columns:
        yield column.name.encode()
        if isinstance(column, CategoricalColumn):
            yield json.dumps(column.categories).encode()
            yield column.codes.astype("<u4").tobytes()
        else:
            yield column.values.astype("<f8").tobytes()


def complete_rows(
    columns: Sequence[ReadColumn], *, drop: bool, where: str, section: str, used: str
) -> npt.NDArray[np.intp]:
    """Return the places of the records without empty cells.

    Args:
        columns: what was read.
        drop: whether records with empty cells are left out; else they are refused.
        section: the section of the site file that names the columns.
        used: what is done with columns, as in "masked or told".

    Raises TableError or EmptyTable.
    """
    empty: Rows = np.any([read.empty for read in columns], axis=0)
    if not drop:
        raise_together(list(_empty_cells(columns)))
    if empty.all():
        raise EmptyTable(
            f"Every record has an empty cell in a column that is {used}; none is left.",
            where=where,
            remedy=f"Leave the columns with empty cells out of [{section}].",
        )
    return np.flatnonzero(~empty)


def _empty(text: pa.Array) -> Rows:
    found: Rows = pc.equal(text, "").to_numpy(zero_copy_only=False)
    return found


def _empty_cells(columns: Sequence[ReadColumn]) -> Iterator[TableError]:
    for read in columns:
        if read.empty.any():
            yield TableError(
                f"Column {read.name!r} is empty in {rows_text(read.empty)}.",
                where=read.name,
                remedy='Fill the cells in, or leave those records out with missing = "drop".',
            )
