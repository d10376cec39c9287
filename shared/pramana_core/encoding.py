"""Codes of cells: each text or number becomes the code of its category."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pramana_core.spellings import TRUTH, plainest

if TYPE_CHECKING:
    import pyarrow as pa

UNKNOWN, EMPTY_CELL = -1, -2
"""The codes of a cell whose value is not a category, and of an empty cell."""

Value = str | float
"""A category's label, or a number if the categories are intervals."""

_NUMBER = re.compile(r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?")


def encode(
    cells: pa.Array | Iterable[Value],
    categories: Sequence[str],
    *,
    empty: int = EMPTY_CELL,
    unknown: int = UNKNOWN,
) -> npt.NDArray[np.int64]:
    """Return the codes of n cells, which are labels, other spellings of labels, or numbers.

    An empty text that is not a category gets the code `empty`, any other unknown value `unknown`.
    """
    reader = CategoryReader(categories)

    def code(value: Value) -> int:
        found = reader.code(value)
        if found is None:
            return unknown if value != "" else empty
        return found

    if not hasattr(cells, "dictionary_encode"):
        return np.array([*map(code, cells)], dtype=np.int64)
    arrow: Any = cells
    codes = np.full(len(arrow), unknown, dtype=np.int64)
    singly = np.ones(len(arrow), dtype=np.bool_)
    if reader.cuts is not None:
        # Numbers may all differ, so those within intervals are looked up together.
        values = numbers(arrow)
        singly = ~np.isfinite(values) | np.isin(values, [*map(number_of, categories)])
        codes[~singly] = np.searchsorted(reader.cuts, values[~singly], side="right")
        arrow = arrow.take(np.flatnonzero(singly))
    distinct = arrow.dictionary_encode()
    found = np.array([*map(code, distinct.dictionary.to_pylist())], dtype=np.int64)
    codes[singly] = found[distinct.indices.to_numpy()]
    return codes


def numbers(text: pa.Array) -> npt.NDArray[np.float64]:
    """Return n cells as numbers, shape (n,), with NaN for a cell that is not a number."""
    import pyarrow as pa
    import pyarrow.compute as pc

    written = pc.match_substring_regex(text, f"^{_NUMBER.pattern}$")
    values: npt.NDArray[np.float64] = (
        pc.cast(pc.if_else(written, text, None), pa.float64())
        .fill_null(float("nan"))
        .to_numpy(zero_copy_only=False)
        .copy()
    )
    return values


class CategoryReader:
    """Reads labels and numbers as codes of categories.

    A cell matches, in this order: the equal label; the only label that it may spell differently (1
    as 1.0, True as true or 1); the interval that contains its number. Text is stripped, in NFC.
    """

    def __init__(self, categories: Sequence[str]):
        # Of two labels that differ only in their Unicode form, the first wins.
        ordered = list(reversed([*enumerate(categories)]))
        self._labels = {unicodedata.normalize("NFC", label): code for code, label in ordered}
        spellings = {label: plainest(label) for label in self._labels}
        times = Counter(spellings.values())
        self._spelled = {
            spelling: self._labels[label]
            for label, spelling in spellings.items()
            if times[spelling] == 1
        }
        self.cuts = interval_cuts(categories)

    def code(self, value: Value) -> int | None:
        """Return a value's code, or None if it is not a category."""
        for text in _written(value):
            plain = plainest(text)
            for known, label in (
                (self._labels, text),
                (self._spelled, plain),
                (self._labels, TRUTH.get(plain, text)),
            ):
                if (code := known.get(label)) is not None:
                    return code
        if self.cuts is not None and math.isfinite(number := number_of(value)):
            return int(np.searchsorted(self.cuts, number, side="right"))
        return None


def interval_cuts(categories: Sequence[str]) -> tuple[float, ...] | None:
    """Return the cuts between categories "<30", "30-45", ">=45", or None for other categories."""
    cuts = _cuts(categories)
    if cuts is None and len(categories) >= 3:
        cuts = _cuts(categories[:-1])
    return cuts


def _cuts(categories: Sequence[str]) -> tuple[float, ...] | None:
    if len(categories) < 2:
        return None
    texts = [categories[0].removeprefix("<")]
    for label in categories[1:-1]:
        # A cut may be negative or have an exponent, so a hyphen alone does not separate two cuts.
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
    if isinstance(value, str):
        text = unicodedata.normalize("NFC", value)
        return text, text.strip()
    if isinstance(value, Integral):
        return (str(int(value)),)
    number = float(value)
    return (str(int(number)) if number.is_integer() else repr(number),)


def number_of(value: object) -> float:
    """Return the number that a value is or spells, and NaN for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | Real):
        return math.nan
    if isinstance(value, str) and not _NUMBER.fullmatch(value.strip()):
        return math.nan
    try:
        return float(value)
    except (ValueError, OverflowError):
        return math.nan
