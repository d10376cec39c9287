"""The columns to be masked and those told beside them, read whole; no message quotes a cell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from owner_agent.site.masking import TellSection
from owner_agent.site.planning import raise_together
from owner_agent.site.site import Site
from owner_agent.table.encode import numbers, record_id_problems, rows_text
from owner_agent.table.table import TextTable, read_table
from shared.errors import EmptyTable, PramanaError, TableError, UnknownCategory
from shared.mixed.table import CategoricalColumn, Column, MixedTable, NumericColumn

Rows = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class MaskTable:
    """S and X of the same n records, with their ids; `dropped` records had empty cells."""

    record_ids: list[str]
    told: MixedTable
    confidential: MixedTable
    dropped: int

    def in_order(self, order: npt.NDArray[np.intp]) -> MaskTable:
        """Return the records in another order."""
        ids = [self.record_ids[place] for place in order]
        return MaskTable(ids, self.told.rows(order), self.confidential.rows(order), self.dropped)


def read_columns(site: Site) -> MaskTable:
    """Read what a site masks and tells.

    Raises:
        ConfigError: the site masks nothing.
        TableError: the table cannot be read, record ids are missing or repeated, or cells are
            empty (unless records with empty cells are dropped) or no numbers.
        UnknownCategory: cells hold none of the categories listed.
    """
    section = site.mask
    ids = site.file.record_id
    table = read_table(site.table, [ids, *section.columns])
    problems = record_id_problems(table.columns[ids], ids)
    told: list[_Read] = []
    confidential: list[_Read] = []
    columns = [*section.tell, *(TellSection(column=name) for name in section.confidential)]
    for place, column in enumerate(columns):
        try:
            read = _column(table, column, told=place < len(section.tell))
        except PramanaError as error:
            problems.append(error)
        else:
            (told if place < len(section.tell) else confidential).append(read)
    raise_together(problems)
    empty: Rows = np.any([read.empty for read in (*told, *confidential)], axis=0)
    if section.missing == "refuse":
        raise_together(list(_empty_cells((*told, *confidential))))
    if empty.all():
        raise EmptyTable(
            "Every record has an empty cell in a column that is masked or told; none is left.",
            where=str(site.table),
            remedy="Leave the columns with empty cells out of [mask].",
        )
    kept = np.flatnonzero(~empty)
    names: list[str] = table.columns[ids].to_pylist()
    return MaskTable(
        [names[place] for place in kept],
        MixedTable(tuple(read.column(kept) for read in told), len(kept)),
        MixedTable(tuple(read.column(kept) for read in confidential), len(kept)),
        int(empty.sum()),
    )


@dataclass(frozen=True, eq=False)
class _Read:
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
        # Minus zero is zero: both mask alike, and one table must have one content.
        return NumericColumn(self.name, values.astype(np.float64) + 0.0)


def _column(table: TextTable, tell: TellSection, *, told: bool) -> _Read:
    if tell.categories is None:
        return _number(table, tell.column, listing=told)
    return _categories(table, tell, tell.categories)


def _number(table: TextTable, name: str, *, listing: bool) -> _Read:
    """Read a column of numbers; `listing` says whether it might be one of categories instead."""
    text = table.columns[name]
    empty = _empty(text)
    values = numbers(text)
    wrong = ~np.isfinite(values) & ~empty
    if wrong.any():
        raise TableError(
            f"Column {name!r} is {'told' if listing else 'masked'} as numbers but holds no finite"
            f" number in {rows_text(wrong)}.",
            where=name,
            remedy="Correct those cells; a column of categories that is told needs a list of them:"
            f' {{ column = "{name}", categories = [...] }}.'
            if listing
            else "Correct those cells, or take the column out of confidential in [mask]: only"
            " numbers can be masked.",
        )
    return _Read(name, values, empty)


def _categories(table: TextTable, tell: TellSection, listed: tuple[str, ...]) -> _Read:
    text = table.columns[tell.column]
    empty = _empty(text)
    labels = pc.utf8_normalize(pa.array(listed), form="NFC")
    found = pc.fill_null(pc.index_in(text, value_set=labels), -1)
    codes = found.to_numpy(zero_copy_only=False).astype(np.intp)
    if tell.missing is not None:
        codes[empty] = listed.index(tell.missing)
        empty = np.zeros_like(empty)
    unknown = (codes < 0) & ~empty
    if unknown.any():
        raise UnknownCategory(
            f"Column {tell.column!r} holds values that are none of its {len(listed)}"
            f" categories in {rows_text(unknown)}.",
            where=tell.column,
            remedy="Correct those cells, or add the categories to [mask] of the site file.",
        )
    return _Read(tell.column, codes, empty, listed)


def _empty(text: pa.Array) -> Rows:
    found: Rows = pc.equal(text, "").to_numpy(zero_copy_only=False)
    return found


def _empty_cells(columns: tuple[_Read, ...]) -> Iterator[TableError]:
    for read in columns:
        if read.empty.any():
            yield TableError(
                f"Column {read.name!r} is empty in {rows_text(read.empty)}.",
                where=read.name,
                remedy='Fill the cells in, or leave those records out with missing = "drop".',
            )
