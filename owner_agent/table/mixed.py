"""Columns of numbers and columns of listed categories, for releases without a plan."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from owner_agent.site.planning import raise_together
from owner_agent.site.site import Site
from owner_agent.table.encode import record_id_problems, rows_text
from owner_agent.table.table import read_table
from pramana_core.encoding import encode, numbers
from pramana_core.errors import EmptyTable, PramanaError, TableError, UnknownCategory
from pramana_core.mixed import CategoricalColumn, Column, NumericColumn


class ColumnSource(Protocol):
    """How to read a column of the table: as numbers, or as listed categories."""

    @property
    def column(self) -> str:
        """The column's name."""

    @property
    def categories(self) -> tuple[str, ...] | None:
        """All categories of the column, or None for a column of numbers."""

    @property
    def missing(self) -> str | None:
        """The category that empty cells get."""


@dataclass(frozen=True, eq=False)
class CompleteRecords:
    """Columns and ids of the complete records; `dropped` counts the records with empty cells."""

    record_ids: list[str]
    columns: tuple[Column, ...]
    dropped: int


def read_records(
    site: Site, sources: Sequence[ColumnSource], *, drop: bool, section: str
) -> CompleteRecords:
    """Read the columns of a `section`. Omit incomplete records if `drop`; otherwise reject them.

    Raises TableError, UnknownCategory, or EmptyTable if no record is complete.
    """
    ids = site.file.record_id
    text = read_table(site.table, [ids, *(source.column for source in sources)])
    problems = record_id_problems(text.columns[ids], ids)
    read, gaps = [], []
    for source in sources:
        values, empty, problem = _values(text.columns[source.column], source, section)
        if problem is None and not drop and empty.any():
            problem = TableError(
                f"Column {source.column!r} is empty in {rows_text(empty)}.",
                where=source.column,
                remedy='Fill in the cells, or omit those records with missing = "drop".',
            )
        if problem is not None:
            problems.append(problem)
        read.append(values)
        gaps.append(empty)
    raise_together(problems)
    kept = np.flatnonzero(~np.any(gaps, axis=0))
    if not len(kept):
        raise EmptyTable(
            f"Every record has an empty cell in at least one column of [{section}].",
            where=str(site.table),
            remedy=f"Remove columns with empty cells from [{section}].",
        )
    columns = tuple(
        # Minus zero equals zero: equal tables must have equal content.
        NumericColumn(source.column, values[kept].astype(np.float64) + 0.0)
        if source.categories is None
        else CategoricalColumn(source.column, values[kept].astype(np.intp), source.categories)
        for source, values in zip(sources, read, strict=True)
    )
    names: list[str] = text.columns[ids].to_pylist()
    return CompleteRecords([names[place] for place in kept], columns, text.rows - len(kept))


def _values(
    cells: pa.Array, source: ColumnSource, section: str
) -> tuple[npt.NDArray[np.float64 | np.int32], npt.NDArray[np.bool_], PramanaError | None]:
    """Return numbers or codes, a mask of empty cells, and an error for invalid cells or None."""
    empty = pc.equal(cells, "").to_numpy(zero_copy_only=False)
    if source.categories is None:
        values = numbers(cells)
        wrong = ~np.isfinite(values) & ~empty
        problem: PramanaError = TableError(
            f"Column {source.column!r} has no finite number in {rows_text(wrong)}.",
            where=source.column,
            remedy=f"Correct those cells, or remove the column from [{section}]. A column of"
            " categories"
            f' needs a list: {{ column = "{source.column}", categories = [...] }}.',
        )
        return values, empty, problem if wrong.any() else None
    codes = encode(cells, source.categories).astype(np.int32)
    if source.missing is not None:
        codes = np.where(empty, np.int32(source.categories.index(source.missing)), codes)
        empty = np.zeros_like(empty)
    wrong = (codes < 0) & ~empty
    problem = UnknownCategory(
        f"Column {source.column!r} has values outside its {len(source.categories)} categories in"
        f" {rows_text(wrong)}.",
        where=source.column,
        remedy=f"Correct those cells, or add the categories to [{section}] of the site file.",
    )
    return codes, empty, problem if wrong.any() else None


def ranked(column: Column) -> npt.NDArray[np.intp]:
    """Return a column as codes: of its categories, or of eight groups of its sorted numbers."""
    if isinstance(column, CategoricalColumn):
        return column.codes
    edges = np.quantile(column.values, np.arange(1, 8) / 8)
    return np.searchsorted(edges, column.values, side="right")


def content_of(columns: Iterable[Column]) -> Iterator[bytes]:
    """Yield the content of columns for a digest: each name, categories, and codes or numbers."""
    for column in columns:
        yield column.name.encode()
        if isinstance(column, CategoricalColumn):
            yield json.dumps(column.categories).encode()
            yield column.codes.astype("<u4").tobytes()
        else:
            yield column.values.astype("<f8").tobytes()
