"""Tables of numbers and categories, and their design matrices for least squares.

Each category of a column except the first becomes an indicator. Columns are standardized; constant
and redundant columns are omitted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import linalg

from pramana_core.alike import repeated_in
from pramana_core.errors import EmptyTable, MissingColumn, TableError, UnknownCategory

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]

LARGEST = 1e100
"""The largest absolute value accepted: squares of larger numbers overflow in sums."""


def _own(name: str, values: Any, kind: type[np.generic]) -> npt.NDArray[Any]:
    """Return a column's values as a read-only array. Raises TableError."""
    found: npt.NDArray[Any] = np.array(values, dtype=kind, order="C")
    if found.ndim != 1:
        raise TableError(f"Column {name!r} must have one dimension, not {found.ndim}.", where=name)
    found.flags.writeable = False
    return found


def without_variation(values: Floats) -> bool:
    """Return whether all numbers are equal up to rounding of their last digits."""
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
        values = _own(self.name, self.values, np.float64)
        wrong = int(np.count_nonzero(~(np.abs(values) <= LARGEST)))
        if wrong:
            raise TableError(
                f"Column {self.name!r} has {wrong} values missing, infinite or beyond {LARGEST:g}.",
                where=self.name,
                remedy="Remove those records or fill in the values first.",
            )
        object.__setattr__(self, "values", values)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_constant(self) -> bool:
        """Whether all values are equal up to rounding."""
        return without_variation(self.values)

    def rows(self, chosen: npt.NDArray[Any]) -> NumericColumn:
        """Return rows selected by a mask or by indices."""
        return NumericColumn(self.name, self.values[chosen])


@dataclass(frozen=True, eq=False)
class CategoricalColumn:
    """A column of categories: n codes, each the index of a label in `categories`."""

    name: str
    codes: npt.NDArray[np.intp]
    categories: tuple[str, ...]

    def __post_init__(self) -> None:
        codes = _own(self.name, self.codes, np.intp)
        wrong = int(np.count_nonzero((codes < 0) | (codes >= len(self.categories))))
        if wrong:
            raise TableError(
                f"Column {self.name!r} has {wrong} values that are missing or in none of its"
                f" {len(self.categories)} categories.",
                where=self.name,
                remedy="Remove those records or give them a category of their own first.",
            )
        if len(set(self.categories)) < len(self.categories):
            raise TableError(
                f"Column {self.name!r} has two categories with the same name.",
                where=self.name,
                remedy="Give each category its own name; a number and its text count as one name.",
            )
        object.__setattr__(self, "codes", codes)

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def is_constant(self) -> bool:
        """Whether all records have the same category."""
        return not len(self.codes) or bool(np.all(self.codes == self.codes[0]))

    def rows(self, chosen: npt.NDArray[Any]) -> CategoricalColumn:
        """Return rows selected by a mask or by indices; the categories stay the same."""
        return CategoricalColumn(self.name, self.codes[chosen], self.categories)

    def among(self, labels: Sequence[str], unknown: str, remedy: str) -> CategoricalColumn:
        """Return the same values with codes for other labels.

        Raises UnknownCategory for values not in `labels`; its message has `unknown` and `remedy`.
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
    """Columns of equal length with unique names; possibly no columns."""

    columns: tuple[Column, ...]
    records: int

    def __post_init__(self) -> None:
        if twice := repeated_in(self.names):
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
            f"There is no column {name!r}; the columns are {list(self.names)}.", where=name
        )

    def project(self, names: Iterable[str]) -> MixedTable:
        """Return the named columns in that order. Raises MissingColumn."""
        return MixedTable(tuple(self[name] for name in names), self.records)

    def beside(self, other: MixedTable) -> MixedTable:
        """Return both tables' columns. Raises TableError if lengths differ or a name repeats."""
        return MixedTable((*self.columns, *other.columns), self.records)

    def rows(self, chosen: npt.NDArray[Any]) -> MixedTable:
        """Return rows selected by a mask or by indices."""
        kept = np.arange(self.records)[chosen]
        return MixedTable(tuple(column.rows(kept) for column in self.columns), len(kept))

    def matrix(self) -> Floats:
        """Return the columns as an n x k matrix. Raises TableError unless all are numeric."""
        if wrong := [name for name in self.names if name not in self.numeric]:
            raise TableError(
                f"Columns {wrong} have categories; numbers are needed.", where=", ".join(wrong)
            )
        found = [c.values for c in self.columns if isinstance(c, NumericColumn)]
        return np.column_stack(found) if found else np.empty((self.records, 0))


def read_mixed(data: Any, what: str = "S") -> MixedTable:
    """Return a data frame, or an array of n or n x k numbers, as a table.

    Text, categories and truth values become categories, in the order of a categorical column or
    sorted. The columns of an array are named `what`1, `what`2, ... Raises EmptyTable, and
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
    """Return a column with the codes of the `known` categories.

    If `known` is None, the column must have numbers and is unchanged. `what` names the table or
    model in messages. Raises TableError, UnknownCategory.
    """
    if isinstance(column, NumericColumn) != (known is None):
        kinds = ("categories", "numbers") if known is None else ("numbers", "categories")
        raise TableError(
            f"Column {column.name!r} has {kinds[0]}; the {what} has {kinds[1]} for it.",
            where=column.name,
        )
    if known is None or not isinstance(column, CategoricalColumn) or column.categories == known:
        return column
    return column.among(
        known,
        f"in categories that the {what} does not have",
        "Remove those records, or declare all categories before learning.",
    )


def numeric_table(names: Sequence[str], matrix: Floats) -> MixedTable:
    """Return the columns of an n x k matrix as a table."""
    columns = (NumericColumn(name, matrix[:, place]) for place, name in enumerate(names))
    return MixedTable(tuple(columns), len(matrix))


def raw_columns(table: MixedTable) -> Iterator[tuple[str, Floats]]:
    """Yield each numeric column and an indicator of every category, with its label."""
    for column in table.columns:
        if isinstance(column, CategoricalColumn):
            for code, label in enumerate(column.categories):
                yield f"{column.name}={label}", (column.codes == code).astype(np.float64)
        else:
            yield column.name, column.values


def _of_array(data: Any, what: str) -> MixedTable:
    try:
        raw = np.ma.filled(data, np.nan) if np.ma.is_masked(data) else np.asarray(data)
        text = raw.dtype.kind == "O" and any(isinstance(value, str | bytes) for value in raw.flat)
        if raw.dtype.kind not in "biufO" or text:
            raise TypeError  # noqa: TRY301 - as numpy raises
        values = np.asarray(raw, dtype=np.float64)
    except (TypeError, ValueError):
        raise TableError(
            f"{what} must be a data frame or an array of numbers, not {type(data).__name__}.",
            where=what,
            remedy="Pass columns of categories or of text in a data frame.",
        ) from None
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

    from pramana_core.cells import series_cells

    kind = pd.api.types
    if kind.is_numeric_dtype(series.dtype) and not kind.is_bool_dtype(series.dtype):
        if kind.is_complex_dtype(series.dtype):
            raise TableError(f"Column {name!r} has complex numbers.", where=name)
        if series.dtype == np.float32:  # The digits that people see: 0.7, not 0.699999988.
            series = series.astype(str)
        return NumericColumn(name, series.to_numpy(dtype=np.float64, na_value=np.nan))
    if kind.is_datetime64_any_dtype(series.dtype) or kind.is_timedelta64_dtype(series.dtype):
        raise TableError(
            f"Column {name!r} has dates or times.", where=name, remedy="Convert them to numbers."
        )
    known = isinstance(series.dtype, pd.CategoricalDtype)
    if known:
        labels = series_cells(series.cat.categories, f"Column {name!r}").to_pylist()
        return CategoricalColumn(name, np.asarray(series.cat.codes, dtype=np.intp), tuple(labels))
    text = np.array(series_cells(series, f"Column {name!r}").to_pylist(), dtype=object)
    found = tuple(sorted({*text} - {""}))
    codes = pd.Index(found, dtype=object).get_indexer(pd.Index(text))
    return CategoricalColumn(name, np.asarray(codes), found)


TOLERANCE = 1e-8
"""A standardized column is redundant if its part outside earlier columns is below this."""

RANK_TOLERANCE = 1e-10
"""A unit column adds a direction to a basis if its part outside the basis is above this share."""


@dataclass(frozen=True, eq=False)
class DesignMatrix:
    """The design matrix of a table.

    Attributes:
        matrix: n x k standardized columns.
        labels, sources: the k labels `variable` or `variable=category`, and their two parts.
        centres, scales: the k original means and standard deviations; n in the denominator.
        constant, redundant: omitted columns that do not vary, and omitted columns that depend on
            earlier columns.
    """

    matrix: Floats
    labels: tuple[str, ...]
    centres: Floats
    scales: Floats
    constant: tuple[str, ...]
    redundant: tuple[str, ...]
    sources: tuple[tuple[str, str | None], ...]


def design_of(table: MixedTable) -> DesignMatrix:
    """Return the design of a table without constant and redundant columns. Raises TableError."""
    columns = list(_columns(table))
    labels = [label for label, *_ in columns]
    if twice := repeated_in(labels):
        raise TableError(
            f"Columns {twice} are named like the indicators of other columns' categories.",
            where=", ".join(twice),
            remedy="Rename them.",
        )
    varied = [column for column in columns if not without_variation(column[2])]
    names = [label for label, *_ in varied]
    matrix = np.empty((table.records, 0))
    centres = scales = np.empty(0)
    if varied:
        matrix, centres, scales = standardized(np.column_stack([v for _, _, v in varied]))
    redundant = _redundant(matrix)
    kept = [place for place in range(len(varied)) if place not in redundant]
    return DesignMatrix(
        matrix=matrix[:, kept],
        labels=tuple(names[place] for place in kept),
        centres=centres[kept],
        scales=scales[kept],
        constant=tuple(label for label in labels if label not in names),
        redundant=tuple(names[place] for place in sorted(redundant)),
        sources=tuple(varied[place][1] for place in kept),
    )


def standardized(matrix: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the varying columns, n x k, with mean 0 and variance 1, and their original scales.

    The scales are the k means and the k standard deviations (n in the denominator).
    """
    centres = np.mean(matrix, axis=0)
    # The mean of large numbers is rounded; the mean of the differences corrects it.
    rest = matrix - centres
    shift = np.mean(rest, axis=0)
    rest -= shift
    # Squares of very small or very large numbers would overflow or underflow.
    largest = np.max(np.abs(rest), axis=0)
    rest /= largest
    length = np.sqrt(np.mean(rest**2, axis=0))
    rest /= length
    return rest, centres + shift, largest * length


def basis_of(matrix: Floats) -> Floats:
    """Return an orthonormal basis of a matrix's columns, n x rank, by pivoted QR."""
    largest = np.max(np.abs(matrix), axis=0, initial=0.0)
    scaled = matrix[:, largest > 0] / largest[largest > 0]
    if not scaled.shape[1]:
        return np.empty((len(matrix), 0))
    scaled /= np.linalg.norm(scaled, axis=0)
    q, r, _ = linalg.qr(scaled, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(r))
    basis: Floats = q[:, : len(diagonal)][:, diagonal > RANK_TOLERANCE * diagonal[0]]
    return basis


def with_constant(matrix: Floats) -> Floats:
    """Return a matrix with a column of ones in front."""
    return np.column_stack([np.ones(len(matrix)), matrix])


def residual(values: Floats, basis: Floats) -> Floats:
    """Return the residuals of columns on an orthonormal basis, refined by a second pass."""
    once = values - basis @ (basis.T @ values)
    again: Floats = once - basis @ (basis.T @ once)
    return again


def leverages(basis: Floats) -> Floats:
    """Return the leverages of n records: the diagonal of the projection onto a basis."""
    found: Floats = np.einsum("ij,ij->i", basis, basis)
    return found


def _columns(table: MixedTable) -> Iterator[tuple[str, tuple[str, str | None], Floats]]:
    """Yield the label, source and values of each numeric column and each indicator."""
    for column in table.columns:
        if isinstance(column, CategoricalColumn):
            for code, category in enumerate(column.categories[1:], 1):
                source = (column.name, category)
                yield "=".join(source), source, (column.codes == code).astype(np.float64)
        else:
            yield column.name, (column.name, None), column.values


def _redundant(matrix: Floats) -> set[int]:
    """Return the indices of columns that depend on the constant and earlier columns."""
    if not matrix.shape[1]:
        return set()
    # The columns of r have the same lengths and angles as the matrix's, but fewer rows.
    r: Floats = np.asarray(np.linalg.qr(matrix, mode="r"))
    basis = np.zeros((len(r), min(r.shape)))
    rank, redundant = 0, set()
    for place, values in enumerate(r.T):
        rest = residual(values[:, None], basis[:, :rank])[:, 0]
        length = float(np.linalg.norm(rest))
        if rank == len(r) or length <= TOLERANCE * float(np.linalg.norm(values)):
            redundant.add(place)
        else:
            basis[:, rank] = rest / length
            rank += 1
    return redundant
