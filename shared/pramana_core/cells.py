"""Conversion of cells to text. Each value has one spelling, whichever reader supplies it.

Whole numbers have no decimals. Fractions have the fewest digits that their own precision needs.
Midnight is written as its date, a truth value as True or False, and a missing cell as empty text.
Text is stripped and in Unicode NFC.
"""

from __future__ import annotations

from datetime import date, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana_core.errors import TableError

if TYPE_CHECKING:
    import pandas as pd

_ASCII_END = 128
_SCALARS = (str, bytes, int, float, bool, np.generic, Decimal, date, time)


def clean_cells(column: pa.ChunkedArray) -> pa.Array:
    """Return the cells of an Arrow column as text; missing cells are empty.

    Raises pyarrow.ArrowException: a cell is not a single value, or its bytes are not UTF-8.
    """
    text = _text(column)
    flat = text.combine_chunks() if isinstance(text, pa.ChunkedArray) else text
    if flat.null_count:
        flat = pc.fill_null(flat, "")
    least, most = _range_of_bytes(flat)
    if most >= _ASCII_END or least <= ord(" "):
        flat = pc.utf8_trim_whitespace(flat)
    return pc.utf8_normalize(flat, form="NFC") if most >= _ASCII_END else flat


def series_cells(column: Any, what: str) -> pa.Array:
    """Return the cells of a series, an index, an array or a list of values as text.

    Raises TableError: a cell of `what` is not text, a number or a date, or is not valid UTF-8.
    """
    import pandas as pd

    if not isinstance(column, pd.Series):
        column = pd.Series(column, dtype=None if hasattr(column, "dtype") else object)
    # Arrow has no type for all spans of time, so they are written one by one.
    span = isinstance(column.dtype, pd.PeriodDtype) or column.dtype.kind == "m"
    if column.dtype != object and not span:
        try:
            return _of_series(column)
        except (pa.ArrowException, TypeError, ValueError):
            pass
    column = column.astype(object)
    texts = np.empty(len(column), dtype=object)
    kinds: dict[type, int] = {}
    kind_of = np.array([kinds.setdefault(type(value), len(kinds)) for value in column])
    for kind, number in kinds.items():
        where = kind_of == number
        texts[where] = _of_type(kind, column[where], what).to_pylist()
    return pa.array(texts.tolist(), type=pa.string())


def text_of(value: object, what: str = "A cell") -> str:
    """Return the text of one value. Raises TableError as `series_cells` does."""
    import pandas as pd

    text: str = series_cells(pd.Series([value], dtype=object), what)[0].as_py()
    return text


def _of_series(column: pd.Series) -> pa.Array:
    return clean_cells(pa.chunked_array([pa.Array.from_pandas(column)]))


def _of_type(kind: type, cells: pd.Series, what: str) -> pa.Array:
    import pandas as pd

    whole = issubclass(kind, int) and kind is not bool
    if whole or issubclass(kind, UUID | pd.Period | pd.Interval | timedelta):
        cells = cells.map(str)
    elif issubclass(kind, np.bool_):
        cells = cells.map(bool)
    elif not issubclass(kind, _SCALARS) and not cells.isna().all():
        raise TableError(
            f"{what} must have a text, a number or a date in each row, not a {kind.__name__}.",
            where=what,
        )
    try:
        return _of_series(cells)
    except (pa.ArrowException, TypeError, ValueError):
        raise TableError(
            f"{what} has a {kind.__name__} that cannot be written as UTF-8 text.", where=what
        ) from None


def _range_of_bytes(text: pa.Array) -> tuple[int, int]:
    _, places, octets = text.buffers()
    ends = np.frombuffer(places, dtype=np.int32)[text.offset : text.offset + len(text) + 1]
    used = np.frombuffer(octets, dtype=np.uint8)[ends[0] : ends[-1]] if octets else ends[:0]
    return (int(used.min()), int(used.max())) if len(used) else (_ASCII_END - 1, 0)


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_floating(kind):
        # numpy's own numbers, because a float32 has fewer digits than the same number as a float64.
        values = column.to_numpy()
        return pa.chunked_array([pa.array([_number(v) for v in values], type=pa.string())])
    if pa.types.is_duration(kind):
        import pandas as pd

        spans = [None if v is None else str(pd.Timedelta(v)) for v in column.to_pylist()]
        return pa.chunked_array([pa.array(spans, type=pa.string())])
    text = column.cast(pa.string())
    if pa.types.is_boolean(kind):
        text = pc.utf8_capitalize(text)
    if pa.types.is_decimal(kind) or pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        # The count of digits belongs to the column, but a cell must read the same in every column.
        text = pc.replace_substring_regex(text, r"(\.[0-9]*[1-9])0+($|Z|[+-])", r"\1\2")
        text = pc.replace_substring_regex(text, r"\.0+($|Z|[+-])", r"\1")
    if pa.types.is_timestamp(kind):
        text = pc.replace_substring_regex(text, r" 00:00:00$", "")
    return text


def _number(value: np.floating) -> str | None:
    if np.isnan(value):
        return None
    # Infinity keeps its text: the column's reader rejects it with its row.
    return str(int(value)) if float(value).is_integer() else str(value)
