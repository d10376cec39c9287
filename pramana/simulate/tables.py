"""Reading a table as categories for a simulation. Messages never quote a cell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from owner_agent.table.table import column_names, detect, read_table
from pramana.simulate.sources import TableSource
from pramana_core.discretize import Discretization, by_halves
from pramana_core.domain import Domain, Variable
from pramana_core.errors import MissingColumn, OptionError, TableError
from pramana_core.spellings import are_years, why_codes
from pramana_core.wire.parts import code_dtype

INTERVALS = 8
"""Columns of more different numbers are cut into at most this many intervals."""

FEW_WHOLE = 12
"""Up to this many different whole numbers, such as counts, stay categories; FEW_YEARS for years.

Few records allow fewer: whole numbers and fractions, twice `intervals_for(records)`. The target's
numbers are its classes, which are never cut for this reason.
"""

FEW_YEARS = 20

_FEWEST_INTERVALS = 3

MOST_CATEGORIES = 20
"""Rare values of a column with more different values are combined."""

_RARE = 0.01
_MOST_KEPT = 63
_ALIKE = 0.9
"""Whole numbers that are distinct in this share of the records number the records."""

_NAMES = 0.5
"""Texts that are distinct in this share of the records name the records."""

EMPTY, OTHER = "(empty)", "(other)"

Codes = np.ndarray[tuple[int], np.dtype[np.unsignedinteger]]

_Numbers = tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]


def intervals_for(records: int) -> int:
    """Return the default number of intervals for numbers.

    The default is half the cube root of the count of records, within limits. Histograms have about
    twice as many intervals (Scott 1979), and noise requires fewer.
    """
    wanted = round(math.cbrt(records) / 2)
    return min(max(wanted, _FEWEST_INTERVALS), INTERVALS)


@dataclass
class ColumnChanges:
    """The changes to the columns of a table, by column name.

    `intervals` is the requested number of equal-width intervals, if any.
    """

    records: int
    intervals: int | None
    cut: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    merged: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def faults(self) -> str:
        """A list of the omitted columns, each with its fault, as text."""
        return "; ".join(f"{name!r} has {reason}" for name, reason in self.left_out.items())

    @property
    def note(self) -> str:
        """A description of the changes; empty if nothing was changed."""
        many = len(self.cut) > 1
        most = intervals_for(self.records)
        how = f"at most {most} intervals with nearly equal counts of records"
        if self.intervals:
            how = f"{self.intervals} intervals of equal width"
        sentences = [
            f"{_all(self.cut)} {'are' if many else 'is'} cut into {how}." if self.cut else "",
            f"Empty cells of {_all(self.empty)} are a separate category {EMPTY!r}."
            if self.empty
            else "",
            f"Rare categories are combined as {OTHER!r}: "
            + ", ".join(f"{number} of {name!r}" for name, number in self.merged.items())
            + "."
            if self.merged
            else "",
            f"Columns omitted: {self.faults}." if self.left_out else "",
        ]
        return " ".join(sentence for sentence in sentences if sentence)


def as_variable(
    column: pd.Series[str], name: str, done: ColumnChanges, *, requested: bool, target: bool = False
) -> tuple[Variable, Codes] | None:
    """Return a column of texts as a variable and its codes; None if the column is omitted.

    A column requested by name (`requested`) is numeric even if each record has its own number. The
    `target` is not cut because records are few.
    """
    parts = _numbers(column, name)
    many = parts is not None and _many(parts[0], done.intervals, target=target)
    reason = _unusable(column, parts, name, numbered=many and not requested)
    if reason:
        done.left_out[name] = reason
        return None
    named = column.where(column != "", EMPTY)
    if (named == EMPTY).any():
        done.empty.append(name)
    if parts is None or not many:
        labels = _without_rare(named, name, done)
        variable = Variable(name, tuple(sorted(labels.unique(), key=_in_order)))
        return variable, codes_of(labels, variable)
    numbers, is_number = parts
    done.cut.append(name)
    found = _cut(numbers, done.intervals)
    labels = named.copy()
    labels[is_number] = np.array(found.labels)[found.codes(numbers)]
    variable = found.variable(name)
    if not is_number.all():
        # The other cells have no number, so there are no representatives.
        variable = Variable(name, (*found.labels, named[~is_number].iloc[0]))
    return variable, codes_of(labels, variable)


def codes_of(column: pd.Series[str], variable: Variable) -> Codes:
    """Return the codes of a column whose cells all contain categories of the variable."""
    found = pd.Index(variable.categories).get_indexer(pd.Index(column))
    return np.asarray(found).astype(code_dtype(variable.size))


def _in_order(label: str) -> tuple[float, str]:
    try:
        number = float(label)
    except ValueError:
        number = math.inf
    return (math.inf if math.isnan(number) else number), label


def _all(names: Sequence[str]) -> str:
    quoted = [repr(name) for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def _unusable(column: pd.Series[str], parts: _Numbers | None, name: str, *, numbered: bool) -> str:
    if not name:
        return "no name"
    values = column.nunique()
    if values < 2:
        return "only one value"
    own = values / len(column)
    if parts is None:
        many = values > MOST_CATEGORIES and own > _NAMES
        rare = values > MOST_CATEGORIES and not _kept(column).any()
        return f"{values} different values" if many or rare else ""
    numbers, _ = parts
    whole = bool((numbers == np.round(numbers)).all())
    if numbered and whole and own > _ALIKE:
        return "a different number for almost every record"
    return ""


def _numbers(column: pd.Series[str], name: str) -> _Numbers | None:
    """Return the numbers in a column, and a mask of the cells that contain a number.

    At most one label may be other text, such as "" or "?". Returns None for any other column, and
    for codes that consist of digits.
    """
    # Each distinct text is read once.
    codes, texts = pd.factorize(column)
    each = pd.to_numeric(pd.Series(texts), errors="coerce").to_numpy(dtype=np.float64)
    numbers = each[codes]
    there = np.isfinite(numbers)
    if not there.any() or column[~there].nunique() > 1:
        return None
    if why_codes(name, list(np.asarray(texts, dtype=object)[np.isfinite(each)])):
        return None
    return numbers[there], there


def _many(numbers: npt.NDArray[np.float64], intervals: int | None, *, target: bool) -> bool:
    values = np.unique(numbers)
    few = INTERVALS if (values % 1).any() else FEW_WHOLE
    if not target:
        few = min(few, 2 * intervals_for(len(numbers)))
    if intervals is None and are_years([f"{value:g}" for value in values[: FEW_YEARS + 1]]):
        few = FEW_YEARS
    return len(values) > (intervals or few)


def _cut(numbers: npt.NDArray[np.float64], intervals: int | None) -> Discretization:
    if intervals is not None:
        if intervals < 2:
            raise OptionError(f"groups must be at least 2, not {intervals}.", where="groups")
        ends = np.linspace(numbers.min(), numbers.max(), 2 * intervals + 1).tolist()
        return Discretization(tuple(ends[2:-1:2]), tuple(ends[1::2]))
    cuts = by_halves(tuple(_quantiles(numbers)), numbers)
    codes = np.searchsorted(np.array(cuts), numbers, side="right")
    inside = [numbers[codes == code] for code in range(len(cuts) + 1)]
    # Rounding may move the mean of equal numbers out of their interval.
    means = [float(np.clip(part.mean(), part.min(), part.max())) for part in inside]
    return Discretization(cuts, tuple(means))


def _quantiles(numbers: npt.NDArray[np.float64]) -> list[float]:
    """Return cuts into intervals of nearly equal numbers of records.

    A number that many records have becomes an interval of its own, and the other records are
    divided among the other intervals. Each interval has at least a twelfth of an equal share.
    """
    values, counts = np.unique(numbers, return_counts=True)
    intervals = intervals_for(len(numbers))
    least = len(numbers) / (12 * intervals)
    cuts: list[float] = []
    inside, rest, left = 0, len(numbers), intervals
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        share = rest / left
        full = inside + count / 2 > share or count >= share
        if left > 1 and full and inside >= least and rest - inside >= least:
            cuts.append(value)
            rest, inside, left = rest - inside, 0, left - 1
        inside += count
    if not cuts:
        # Nearly all records have the smallest number.
        cuts.append(float(values[1]))
    return cuts


def _kept(column: pd.Series[str]) -> pd.Series[bool]:
    shares = column.value_counts(normalize=True)
    return (shares >= _RARE) & (np.arange(len(shares)) < _MOST_KEPT)


def _without_rare(column: pd.Series[str], name: str, done: ColumnChanges) -> pd.Series[str]:
    if column.nunique() <= MOST_CATEGORIES:
        return column
    kept = _kept(column)
    if (~kept).sum() < 2:
        return column
    done.merged[name] = int((~kept).sum())
    return column.where(column.map(kept), OTHER)


_FEWEST = 2
MOST_INTERVALS = 64
"""The largest number of intervals for numbers."""

_REMEDY = "Name the columns to use with --variables."
_COMMAS = "The table has only one column. Separate cells by commas, semicolons, tabs or bars."


def read_source(
    path: Path,
    variables: Sequence[str] | None = None,
    intervals: int | None = None,
    target: str | None = None,
) -> TableSource:
    """Read the columns of a CSV or Parquet file as categorical variables.

    Columns of many numbers are cut, empty cells become a category, and rare categories of a column
    with many are combined. Columns that are constant, or name or number the records, are omitted.
    The source's note lists these changes.

    Args:
        path: the file; a CSV has a header.
        variables: the columns, in this order; None for all usable ones.
        intervals: columns of more different numbers are cut into this many intervals of equal
            width, with their midpoints as representatives. None cuts columns of more than
            `INTERVALS` fractions, `FEW_WHOLE` whole numbers or `FEW_YEARS` years, or of numbers
            that are too many for few records, into `intervals_for(records)` intervals with nearly
            equal counts of records, with their means as representatives.
        target: the column to predict, which is not cut because records are few.

    Raises TableError, EmptyTable, MissingColumn, OptionError.
    """
    if intervals is not None and not _FEWEST <= intervals <= MOST_INTERVALS:
        raise OptionError(
            f"intervals must be between {_FEWEST} and {MOST_INTERVALS}, not {intervals}.",
            where="--intervals",
        )
    frame = read_cells(path)
    names = _wanted(path, frame, variables)
    done = ColumnChanges(len(frame), intervals)
    found: list[Variable] = []
    codes: dict[str, Codes] = {}
    for name in names:
        one = as_variable(
            frame[name], name, done, requested=variables is not None, target=name == target
        )
        if one is not None:
            found.append(one[0])
            codes[name] = one[1]
    requested, bad = variables is not None, done.left_out
    alone = frame.shape[1] == 1 and path.suffix != ".parquet"
    if len(found) < _FEWEST or (bad and requested):
        few = "" if bad else " Only one column is usable, but a link needs two."
        raise TableError(
            f"{path.name} cannot be simulated.{few}{f' {done.faults}.' if bad else ''}",
            where=", ".join(bad) or ("--variables" if requested else "--table"),
            remedy=_COMMAS if alone else _REMEDY,
        )
    return TableSource(path.name, Domain(tuple(found)), codes, done.note)


def read_cells(path: Path) -> pd.DataFrame:
    """Return the cells of a table as text without surrounding blanks; empty cells as "".

    Raises TableError, EmptyTable.
    """
    source = detect(path)
    columns = read_table(source, column_names(source)).columns
    return pd.DataFrame({n: cells.to_pylist() for n, cells in columns.items()}, dtype=object)


def _wanted(path: Path, frame: pd.DataFrame, variables: Sequence[str] | None) -> list[str]:
    present = list(frame.columns)
    requested = [name.strip() for text in variables or () for name in text.split(",")]
    missing = [name for name in requested if name not in present]
    if missing:
        raise MissingColumn(
            f"{path.name} has no column {', '.join(map(repr, missing))}.",
            where=", ".join(missing),
            remedy=f"It has {present}.",
        )
    return present if variables is None else list(dict.fromkeys(requested))
