"""How a column of text becomes a categorical variable, and what is done to it on the way.

The simulation sees the table and chooses by it. In production a custodian decides cuts and
categories beforehand, for what is chosen by the data tells something of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd

from shared.discretize import Discretization, equal_width, given_cuts
from shared.domain import Variable
from shared.wire.parts import code_dtype

MOST_NUMBERS = 16
"""A column of more different numbers is cut into intervals."""

INTERVALS = 8
"""Into so many at most, unless told otherwise."""

MOST_CATEGORIES = 20
"""Of a column with more different values the rare ones are put together."""

_RARE = 0.01
_MOST_KEPT = 63
_ALIKE = 0.9
"""A column of whole numbers of which so many records have their own is a number of the records."""

_NAMES = 0.5
"""A column of texts of which so many records have their own names the records."""

EMPTY, OTHER = "(empty)", "(other)"

Codes = np.ndarray[tuple[int], np.dtype[np.unsignedinteger]]


@dataclass
class Done:
    """What was done to columns, by their names, for the reader of a result."""

    intervals: int | None
    cut: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    merged: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def note(self) -> str:
        """All of it in words; nothing where the table was taken as it is."""
        many = len(self.cut) > 1
        how = (
            f"{self.intervals} intervals of one width"
            if self.intervals
            else f"at most {INTERVALS} intervals of nearly equal numbers of records"
        )
        said = [
            f"{_all(self.cut)} {'are' if many else 'is'} cut into {how}." if self.cut else "",
            f"Empty cells of {_all(self.empty)} are a category {EMPTY!r} of their own."
            if self.empty
            else "",
            f"Rare categories are put together as {OTHER!r}: "
            + ", ".join(f"{number} of {name!r}" for name, number in self.merged.items())
            + "."
            if self.merged
            else "",
            f"Columns left out: {listed(self.left_out)}." if self.left_out else "",
        ]
        return " ".join(sentence for sentence in said if sentence)


def listed(bad: dict[str, str]) -> str:
    """Return each column with what is wrong with it."""
    return "; ".join(f"{name!r} has {reason}" for name, reason in bad.items())


def made(
    column: pd.Series[str], name: str, done: Done, *, asked: bool
) -> tuple[Variable, Codes] | None:
    """Return a column as a variable and its codes; None where it is left out.

    Args:
        column: the cells, empty text for empty ones.
        name: its name.
        done: is told what was done.
        asked: whether it was asked for by its name, so that it is a number even where each record
            has its own.
    """
    reason = _unusable(column, name, asked=asked, cut=done.intervals)
    if reason:
        done.left_out[name] = reason
        return None
    full = column != ""
    numbers = _numbers(column[full])
    if numbers is not None and numbers.size and _many(numbers, done.intervals):
        done.cut.append(name)
        found = _cut(numbers, done.intervals)
        labels = pd.Series(EMPTY, index=column.index)
        labels[full] = np.array(found.labels)[found.codes(numbers)]
        variable = found.variable(name)
        if not full.all():
            # What is empty has no number, so nothing stands for the categories.
            variable = Variable(name, (*found.labels, EMPTY))
    else:
        labels = _without_rare(column.where(full, EMPTY), name, done)
        variable = Variable(name, tuple(sorted(labels.unique())))
    if not full.all():
        done.empty.append(name)
    return variable, codes_of(labels, variable)


def codes_of(column: pd.Series[str], variable: Variable) -> Codes:
    """Return the codes of a variable's categories; all cells hold one."""
    found = pd.Index(variable.categories).get_indexer(pd.Index(column))
    return np.asarray(found).astype(code_dtype(variable.size))


def _all(names: Sequence[str]) -> str:
    quoted = [repr(name) for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def _unusable(column: pd.Series[str], name: str, *, asked: bool, cut: int | None) -> str:
    """Return why a column cannot be simulated, or nothing."""
    if not name:
        return "no name"
    values = column.nunique()
    if values < 2:
        return "one value only"
    full = column[column != ""]
    numbers = _numbers(full)
    own = full.nunique() / len(full)
    if numbers is None:
        many = values > MOST_CATEGORIES and own > _NAMES
        rare = values > MOST_CATEGORIES and _kept(full).sum() == 0
        return f"{values} different values" if many or rare else ""
    whole = bool((numbers == np.round(numbers)).all())
    if not asked and whole and own > _ALIKE and _many(numbers, cut):
        return "a number of its own for almost every record"
    return ""


def _numbers(full: pd.Series[str]) -> npt.NDArray[np.float64] | None:
    """Return the cells as numbers; None where one is none."""
    numbers = pd.to_numeric(full, errors="coerce").to_numpy(dtype=np.float64)
    return numbers if np.isfinite(numbers).all() else None


def _many(numbers: npt.NDArray[np.float64], intervals: int | None) -> bool:
    return len(np.unique(numbers)) > (intervals or MOST_NUMBERS)


def _cut(numbers: npt.NDArray[np.float64], intervals: int | None) -> Discretization:
    if intervals is not None:
        return equal_width(numbers, intervals, float(numbers.min()), float(numbers.max()))
    cuts = _quantiles(numbers)
    codes = np.searchsorted(np.array(cuts), numbers, side="right")
    means = [float(numbers[codes == code].mean()) for code in range(len(cuts) + 1)]
    return given_cuts(numbers, cuts, means)


def _quantiles(numbers: npt.NDArray[np.float64]) -> list[float]:
    """Return cuts into intervals of nearly equal numbers of records.

    A number that many records have is an interval by itself, and what is left is shared out among
    the others; none has less than a quarter of an equal share.
    """
    values, counts = np.unique(numbers, return_counts=True)
    least = len(numbers) / (4 * INTERVALS)
    cuts: list[float] = []
    inside, rest, left = 0, len(numbers), INTERVALS
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        share = rest / left
        full = inside + count / 2 > share or count >= share
        if left > 1 and full and inside >= least and rest - inside >= least:
            cuts.append(value)
            rest, inside, left = rest - inside, 0, left - 1
        inside += count
    if not cuts:
        # Nearly all records have the least number.
        cuts.append(float(values[1]))
    return cuts


def _kept(column: pd.Series[str]) -> pd.Series[bool]:
    """Return which values are frequent enough to be categories."""
    shares = column.value_counts(normalize=True)
    return (shares >= _RARE) & (np.arange(len(shares)) < _MOST_KEPT)


def _without_rare(column: pd.Series[str], name: str, done: Done) -> pd.Series[str]:
    if column.nunique() <= MOST_CATEGORIES:
        return column
    kept = _kept(column)
    if (~kept).sum() < 2:
        return column
    done.merged[name] = int((~kept).sum())
    return column.where(column.map(kept), OTHER)
