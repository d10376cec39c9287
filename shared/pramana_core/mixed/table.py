"""Columns of numbers and of categories, all of one length and complete."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pramana_core.errors import EmptyTable, MissingColumn, TableError, UnknownCategory

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]

LARGEST = 1e100
"""Numbers beyond it, whose squares cannot be added up, are refused."""


def _own(values: Any, kind: type[np.generic]) -> npt.NDArray[Any]:
    """Return values as an array that nobody can write to; the caller's stays as it is."""
    found: npt.NDArray[Any] = np.array(values, dtype=kind, order="C")
    found.flags.writeable = False
    return found


def without_variation(values: Floats) -> bool:
    """Return whether numbers are all the same, up to the rounding of their last digits."""
    if not len(values):
        return True
    largest, smallest = float(np.max(values)), float(np.min(values))
    rounding = 8 * np.finfo(np.float64).eps * max(abs(largest), abs(smallest))
    return bool(largest - smallest <= rounding)


@dataclass(frozen=True, eq=False)
class NumericColumn:
    """A column of finite numbers: n values, float64."""

    name: str
    values: Floats

    def __post_init__(self) -> None:
        values = _own(self.values, np.float64)
        if values.ndim != 1:
            raise TableError(
                f"Column {self.name!r} must have one dimension, not {values.ndim}.", where=self.name
            )
        wrong = int(np.count_nonzero(~(np.abs(values) <= LARGEST)))
        if wrong:
            raise TableError(
                f"Column {self.name!r} has {wrong} values that are missing, infinite or beyond"
                f" {LARGEST:g}.",
                where=self.name,
                remedy="Leave those records out or fill them in before.",
            )
        object.__setattr__(self, "values", values)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_constant(self) -> bool:
        """Whether all values are the same, up to rounding."""
        return without_variation(self.values)

    def rows(self, chosen: npt.NDArray[Any]) -> NumericColumn:
        """Return some of the rows, by a mask or by indices."""
        return NumericColumn(self.name, self.values[chosen])


@dataclass(frozen=True, eq=False)
class CategoricalColumn:
    """A column of categories: n codes, each the index of a label in `categories`."""

    name: str
    codes: npt.NDArray[np.intp]
    categories: tuple[str, ...]

    def __post_init__(self) -> None:
        codes = _own(self.codes, np.intp)
        if codes.ndim != 1:
            raise TableError(
                f"Column {self.name!r} must have one dimension, not {codes.ndim}.", where=self.name
            )
        wrong = int(np.count_nonzero((codes < 0) | (codes >= len(self.categories))))
        if wrong:
            raise TableError(
                f"Column {self.name!r} has {wrong} values that are missing or in none of its"
                f" {len(self.categories)} categories.",
                where=self.name,
                remedy="Leave those records out or give them a category of their own before.",
            )
        if len(set(self.categories)) < len(self.categories):
            raise TableError(
                f"Column {self.name!r} has two categories of one name.",
                where=self.name,
                remedy="Give each a name of its own; numbers and their text count as the same.",
            )
        object.__setattr__(self, "codes", codes)

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def is_constant(self) -> bool:
        """Whether all records are of one category."""
        return not len(self.codes) or bool(np.all(self.codes == self.codes[0]))

    def rows(self, chosen: npt.NDArray[Any]) -> CategoricalColumn:
        """Return some of the rows, by a mask or by indices; the categories stay."""
        return CategoricalColumn(self.name, self.codes[chosen], self.categories)

    def among(self, labels: Sequence[str], unknown: str, remedy: str) -> CategoricalColumn:
        """Return the same values coded among other labels.

        Raises:
            UnknownCategory: there are values that are not there; `unknown` says what they are.
        """
        places = {label: place for place, label in enumerate(labels)}
        found = np.array([places.get(c, -1) for c in self.categories], dtype=np.intp)[self.codes]
        if wrong := int(np.count_nonzero(found < 0)):
            raise UnknownCategory(
                f"Column {self.name!r} has {wrong} values {unknown}.",
                where=self.name,
                remedy=remedy,
            )
        return CategoricalColumn(self.name, found, tuple(labels))


Column = NumericColumn | CategoricalColumn


@dataclass(frozen=True, eq=False)
class MixedTable:
    """Columns of one length, each name once; there may be none."""

    columns: tuple[Column, ...]
    records: int

    def __post_init__(self) -> None:
        names = self.names
        if len(set(names)) < len(names):
            twice = sorted({name for name in names if names.count(name) > 1})
            raise TableError(f"Columns occur twice: {twice}.", where=", ".join(twice))
        for column in self.columns:
            if len(column) != self.records:
                raise TableError(
                    f"Column {column.name!r} has {len(column)} rows; the table has {self.records}.",
                    where=column.name,
                )

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names in their order."""
        return tuple(column.name for column in self.columns)

    @property
    def numeric(self) -> tuple[str, ...]:
        """The names of the numeric columns."""
        return tuple(c.name for c in self.columns if isinstance(c, NumericColumn))

    def __getitem__(self, name: str) -> Column:
        """Return a column. Raises MissingColumn."""
        for column in self.columns:
            if column.name == name:
                return column
        raise MissingColumn(
            f"There is no column {name!r}; there are {list(self.names)}.", where=name
        )

    def project(self, names: Iterable[str]) -> MixedTable:
        """Return some columns in the order named. Raises MissingColumn."""
        return MixedTable(tuple(self[name] for name in names), self.records)

    def beside(self, other: MixedTable) -> MixedTable:
        """Return the columns of both. Raises TableError if lengths differ or names are shared."""
        return MixedTable((*self.columns, *other.columns), self.records)

    def rows(self, chosen: npt.NDArray[Any]) -> MixedTable:
        """Return some of the rows, by a mask or by indices."""
        kept = np.arange(self.records)[chosen]
        return MixedTable(tuple(column.rows(kept) for column in self.columns), len(kept))

    def matrix(self) -> Floats:
        """Return the columns as an n x k matrix. Raises TableError unless all are numeric."""
        if wrong := [name for name in self.names if name not in self.numeric]:
            raise TableError(
                f"Columns {wrong} hold categories; numbers are wanted.", where=", ".join(wrong)
            )
        found = [c.values for c in self.columns if isinstance(c, NumericColumn)]
        return np.column_stack(found) if found else np.empty((self.records, 0))


def read_mixed(data: Any, what: str = "S") -> MixedTable:
    """Return an array or a data frame as a table.

    Columns of numbers are numeric; those of text, of categories and of truth values are
    categorical, their categories in the order of a categorical column's or else sorted.

    Args:
        data: a frame, or an array of n or n x k numbers whose columns are then called `what`1, ...
        what: how messages call it.

    Raises:
        EmptyTable: no records.
        TableError: missing or infinite values, dates, or more than two dimensions.
    """
    if isinstance(data, MixedTable):
        return data
    if hasattr(data, "columns") and hasattr(data, "iloc"):
        table = _of_frame(data)
    elif hasattr(data, "to_frame") and hasattr(data, "iloc"):
        table = _of_frame(data.to_frame(name=data.name if data.name is not None else what))
    else:
        table = _of_array(data, what)
    if not table.records:
        raise EmptyTable(f"{what} has no records.", where=what)
    return table


def coded_as(column: Column, known: tuple[str, ...] | None, what: str) -> Column:
    """Return a column coded as a tree or another model knows it: None stands for numbers.

    Raises:
        TableError: it has categories in place of numbers, or numbers in place of categories.
        UnknownCategory: it has values in other categories.
    """
    if isinstance(column, NumericColumn) != (known is None):
        kinds = ("categories", "numbers") if known is None else ("numbers", "categories")
        raise TableError(
            f"Column {column.name!r} has {kinds[0]}; the {what} knows it with {kinds[1]}.",
            where=column.name,
        )
    if known is None or not isinstance(column, CategoricalColumn) or column.categories == known:
        return column
    return column.among(
        known,
        f"in categories that the {what} does not know",
        "Leave those records out, or declare all categories before it is learned.",
    )


def numeric_table(names: Sequence[str], matrix: Floats) -> MixedTable:
    """Return the columns of an n x k matrix as a table."""
    columns = (NumericColumn(name, matrix[:, place]) for place, name in enumerate(names))
    return MixedTable(tuple(columns), len(matrix))


def raw_columns(table: MixedTable) -> Iterator[tuple[str, Floats]]:
    """Yield the numeric columns and an indicator of every category, with their labels."""
    for column in table.columns:
        if isinstance(column, CategoricalColumn):
            for code, label in enumerate(column.categories):
                yield f"{column.name}={label}", (column.codes == code).astype(np.float64)
        else:
            yield column.name, column.values


def _of_array(data: Any, what: str) -> MixedTable:
    wrong = TableError(
        f"{what} must be a data frame or an array of numbers, not {type(data).__name__}.",
        where=what,
        remedy="Pass columns of categories or of text in a data frame.",
    )
    try:
        raw = np.ma.filled(data, np.nan) if np.ma.is_masked(data) else np.asarray(data)
        text = raw.dtype.kind == "O" and any(isinstance(value, str | bytes) for value in raw.flat)
        if raw.dtype.kind not in "biufO" or text:
            raise wrong
        values = np.asarray(raw, dtype=np.float64)
    except (TypeError, ValueError):
        raise wrong from None
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2:
        raise TableError(f"{what} must have one or two dimensions, not {values.ndim}.", where=what)
    return numeric_table([f"{what}{place + 1}" for place in range(values.shape[1])], values)


def _of_frame(frame: pd.DataFrame) -> MixedTable:
    columns = tuple(_of_series(str(name), frame.iloc[:, k]) for k, name in enumerate(frame.columns))
    return MixedTable(columns, len(frame))


def _of_series(name: str, series: pd.Series[Any]) -> Column:
    import pandas as pd

    kind = pd.api.types
    if kind.is_numeric_dtype(series.dtype) and not kind.is_bool_dtype(series.dtype):
        if kind.is_complex_dtype(series.dtype):
            raise TableError(f"Column {name!r} holds complex numbers.", where=name)
        return NumericColumn(name, series.to_numpy(dtype=np.float64, na_value=np.nan))
    if kind.is_datetime64_any_dtype(series.dtype) or kind.is_timedelta64_dtype(series.dtype):
        raise TableError(
            f"Column {name!r} holds times.", where=name, remedy="Make them numbers, such as days."
        )
    known = isinstance(series.dtype, pd.CategoricalDtype)
    if known:
        labels = [str(label) for label in series.cat.categories]
        return CategoricalColumn(name, np.asarray(series.cat.codes, dtype=np.intp), tuple(labels))
    text = series.astype("string")
    found = tuple(sorted(text.dropna().unique()))
    codes = pd.Categorical(text, categories=list(found)).codes
    return CategoricalColumn(name, np.asarray(codes), found)
