"""The codes of cells: each text or number becomes the code of its variable's category."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from numbers import Integral, Real

import numpy as np
import numpy.typing as npt

from pramana_core.domain import Variable
from pramana_core.spellings import LabelReader

UNKNOWN, EMPTY_CELL = -1, -2
"""The codes of a cell that holds no category, and of one that holds nothing."""

Value = str | float
"""A category's label, or a number where the categories are intervals of numbers."""

_NUMBER = re.compile(r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?")


def encode(
    cells: Iterable[Value],
    variable: Variable,
    *,
    empty: int = EMPTY_CELL,
    unknown: int = UNKNOWN,
) -> npt.NDArray[np.int64]:
    """Return the code of each of n cells. Pass the distinct cells of a long column.

    Args:
        cells: labels, or numbers that are written as a label is or that lie in an interval.
        variable: the variable.
        empty: the code of an empty text.
        unknown: the code of a cell that holds no category.
    """
    reader = CategoryReader(variable)

    def code(value: Value) -> int:
        found = reader.code(value)
        if found is None:
            return unknown if value != "" else empty
        return found

    return np.array([*map(code, cells)], dtype=np.int64)


class CategoryReader:
    """Reads labels and numbers as codes of one variable.

    A label itself comes first, then another spelling of its value, then the interval that holds the
    number. Text is read without the spaces around it, in Unicode NFC, and as a number only if it is
    written in ASCII digits with at most a sign, a point and an exponent.
    """

    def __init__(self, variable: Variable):
        self._labels = LabelReader(variable.categories)
        self.cuts = interval_cuts(variable)

    def code(self, value: Value) -> int | None:
        """Return a value's code; None where it is none of the variable's."""
        for label in _written(value):
            if (code := self._labels.code(label)) is not None:
                return code
        if self.cuts is not None and math.isfinite(number := number_of(value)):
            return int(np.searchsorted(self.cuts, number, side="right"))
        return None


def interval_cuts(variable: Variable) -> tuple[float, ...] | None:
    """Return the cuts between a variable's categories if they are intervals of numbers, else None.

    Intervals are closed on the left and written "<30", "30-45", ">=45". One more category may come
    last, for cells that are missing.
    """
    cuts = _cuts(variable.categories)
    if cuts is None and variable.size >= 3:
        cuts = _cuts(variable.categories[:-1])
    return cuts


def _cuts(categories: Sequence[str]) -> tuple[float, ...] | None:
    texts = [categories[0].removeprefix("<")]
    for label in categories[1:-1]:
        # A cut may be negative or have an exponent, so a hyphen alone does not part two of them.
        if not label.startswith(f"{texts[-1]}-"):
            return None
        texts.append(label[len(texts[-1]) + 1 :])
    first, last = f"<{texts[0]}", f">={texts[-1]}"
    if (categories[0], categories[-1]) != (first, last):
        return None
    cuts = tuple(number_of(text) for text in texts)
    if not all(map(math.isfinite, cuts)) or any(np.diff(cuts) <= 0):
        return None
    return cuts


def _written(value: Value) -> tuple[str, ...]:
    """Return the labels that a value may stand for."""
    if isinstance(value, str):
        text = unicodedata.normalize("NFC", value)
        return text, text.strip()
    if isinstance(value, Integral):
        return (str(int(value)),)
    number = float(value)
    return (str(int(number)) if number.is_integer() else repr(number),)


def number_of(value: object) -> float:
    """Return a number, also from its text; NaN where it is not one."""
    if isinstance(value, bool) or not isinstance(value, str | Real):
        return math.nan
    if isinstance(value, str) and not _NUMBER.fullmatch(value.strip()):
        return math.nan
    try:
        return float(value)
    except (ValueError, OverflowError):
        return math.nan
