"""Record ids as the owner's agent reads them from a table, so that pseudonyms are the same."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID

import numpy as np
import pyarrow as pa

from owner_agent.table.encode import record_id_problems
from owner_agent.table.table import clean_cells
from pramana.frames.sentences import one_sentence
from pramana.frames.tables import shown
from pramana_core.alike import did_you_mean
from pramana_core.errors import MissingColumn, MissingRecordId, TableError

if TYPE_CHECKING:
    import pandas as pd

RecordId: TypeAlias = Any
"""A column's name (or the index's), several columns' names, or the ids themselves."""

_SCALARS = (str, bytes, int, float, bool, np.generic, Decimal, date, time)
"""What an id may be; a moment is a date. Anything else may be printed otherwise another time."""


def record_ids(table: pd.DataFrame, record_id: RecordId) -> list[str]:
    """Return the ids of a table's rows as text, none empty and none twice.

    Args:
        table: the records.
        record_id: see `pm.randomize`.

    Raises:
        MissingRecordId: none were given, or some are empty.
        DuplicateRecordId: some are there twice.
        MissingColumn: there is no such column.
        TableError: they do not fit the table.
    """
    if record_id is None:
        columns = ", ".join(map(repr, list(table.columns)[:5]))
        raise MissingRecordId(
            "record_id must say what identifies a record, for the draws are keyed by it and a"
            f" record drawn twice is given away; write record_id= a column ({columns}) or the ids"
            " themselves, such as frame.index.",
            where="record_id",
        )
    named = _named(table, record_id)
    if named is None:
        name, ids = "record_id", _as_text(_given(table, record_id))
    elif len(named) == 1:
        name, ids = next(iter(named)), _as_text(next(iter(named.values())))
    else:
        name, ids = ", ".join(named), _joined({n: _as_text(c) for n, c in named.items()})
    _require_usable(ids, name)
    found: list[str] = ids.to_pylist()
    return found


def _named(table: pd.DataFrame, record_id: RecordId) -> dict[str, Any] | None:
    """Return the columns that were named; None where the ids themselves were given."""
    if isinstance(record_id, str | int):
        return {str(record_id): _column(table, str(record_id))}
    if not isinstance(record_id, list | tuple) or not record_id:
        return None
    known = {*table.columns, *table.index.names}
    names = [name for name in record_id if isinstance(name, str) and name in known]
    if len(names) == len(record_id):
        return {name: _column(table, name) for name in names}
    if names:
        absent = next(name for name in record_id if name not in names)
        _column(table, str(absent))
    return None


def _column(table: pd.DataFrame, name: str) -> Any:
    if name in table.columns:
        return table[name]
    if name in table.index.names:
        return table.index.get_level_values(name)
    raise MissingColumn(
        f"record_id names a column {name!r} that frame has"
        f" not{did_you_mean([name], map(str, table.columns))}; it has {list(table.columns)}.",
        where="record_id",
    )


def _given(table: pd.DataFrame, record_id: RecordId) -> Any:
    import pandas as pd

    scalar = isinstance(record_id, str | bytes | dict) or not isinstance(record_id, Iterable)
    if scalar or getattr(record_id, "ndim", 1) != 1 or isinstance(record_id, pd.MultiIndex):
        raise TableError(
            "record_id must be a column's name, several names, or one id for each row, not"
            f" {shown(record_id)}.",
            where="record_id",
        )
    values = record_id if hasattr(record_id, "__len__") else list(record_id)
    if len(values) != len(table):
        raise TableError(
            f"record_id must have one id for each of the {len(table):,} rows of frame, not"
            f" {len(values):,}.",
            where="record_id",
        )
    if isinstance(values, pd.Series) and not values.index.equals(table.index):
        raise TableError(
            "record_id is a series whose index is not the one of frame, so that an id might be"
            " another row's; pass a column's name, or series.to_numpy() if the rows are in the"
            " same order.",
            where="record_id",
        )
    return values


def _as_text(column: Any) -> pa.Array:
    """Return cells as text in the form of the owner's agent; 7, 7.0 and "7" are one id.

    Of any cell it is the same whatever other cells the column has.
    """
    import pandas as pd

    if not isinstance(column, pd.Series):
        column = pd.Series(column, dtype=None if hasattr(column, "dtype") else object)
    # Arrow writes spans of time as bare numbers, whose unit is the column's.
    span = isinstance(column.dtype, pd.PeriodDtype) or column.dtype.kind == "m"
    if column.dtype != object and not span:
        try:
            return _cleaned(column)
        except (pa.ArrowException, TypeError, ValueError):
            pass
    return _of_objects(column.astype(object))


def _cleaned(series: pd.Series) -> pa.Array:
    return clean_cells(pa.chunked_array([pa.Array.from_pandas(series)]))


def _of_objects(series: pd.Series) -> pa.Array:
    """Return cells of any types as text, those of each type in one go. Raises TableError."""
    texts = np.empty(len(series), dtype=object)
    kinds: dict[type, int] = {}
    kind_of = np.array([kinds.setdefault(type(value), len(kinds)) for value in series])
    for kind, number in kinds.items():
        where = kind_of == number
        texts[where] = _of_type(kind, series[where]).to_pylist()
    return pa.array(texts.tolist(), type=pa.string())


def _of_type(kind: type, cells: pd.Series) -> pa.Array:
    """Return cells of one type as text. Raises TableError for what has no text of its own."""
    import pandas as pd

    whole = issubclass(kind, int) and kind is not bool
    if whole or issubclass(kind, UUID | pd.Period):
        cells = cells.map(str)
    elif not issubclass(kind, _SCALARS) and not cells.isna().all():
        raise TableError(
            f"record_id must hold a text, a number or a date in each row, not a {kind.__name__}.",
            where="record_id",
        )
    try:
        return _cleaned(cells)
    except (pa.ArrowException, TypeError, ValueError):
        raise TableError(
            f"record_id holds a {kind.__name__} that cannot be written as text in UTF-8.",
            where="record_id",
        ) from None


def _joined(columns: dict[str, pa.Array]) -> pa.Array:
    for name, column in columns.items():
        _require_usable(column, name, repeated=True)
    rows = zip(*(column.to_pylist() for column in columns.values()), strict=True)
    # As a JSON list, or ("1", "23") and ("12", "3") would be one id.
    return pa.array([json.dumps(row, ensure_ascii=False) for row in rows], type=pa.string())


def _require_usable(ids: pa.Array, name: str, *, repeated: bool = False) -> None:
    for problem in record_id_problems(ids, name):
        if isinstance(problem, MissingRecordId) or not repeated:
            with one_sentence("record_id"):
                raise problem
