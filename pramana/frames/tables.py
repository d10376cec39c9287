"""Conversion of users' tables to pandas frames: frames, series, dicts, polars and Arrow tables."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from pramana.frames.sentences import quoted
from pramana_core.alike import did_you_mean
from pramana_core.errors import (
    EmptyTable,
    MissingColumn,
    OptionError,
    TableError,
)

if TYPE_CHECKING:
    import pandas as pd


Frame: TypeAlias = Any
"""A pandas frame or series, a dict of columns, a list of dicts, or an Arrow source (polars)."""

_SHORT = 40
"""The longest argument that a message quotes, in characters."""

WANTED = "a pandas or polars frame, a dict of columns, or a list of dicts"


def as_frame(table: Frame, argument: str) -> pd.DataFrame:
    """Return a table as a pandas frame whose column names are distinct texts.

    Names are stripped of surrounding spaces and normalized to Unicode NFC, as when a file is read.

    Args:
        table: the table; see `Frame`. It is not changed.
        argument: the name of the table's parameter.

    Raises TableError, EmptyTable.
    """
    frame = _frame(table, argument)
    if frame.columns.nlevels > 1:
        raise TableError(
            f"{argument} has column names with {frame.columns.nlevels} levels; each column must"
            " have a single name.",
            where=argument,
        )
    if len(frame.columns) == 0:
        raise EmptyTable(f"{argument} has no columns.", where=argument)
    if len(frame) == 0:
        raise EmptyTable(f"{argument} has no rows.", where=argument)
    names = [unicodedata.normalize("NFC", str(name)).strip() for name in frame.columns]
    if names != list(frame.columns):
        frame = frame.set_axis(names, axis=1)
    twice = sorted(set(frame.columns[frame.columns.duplicated()]))
    if twice:
        raise TableError(
            f"{argument} has more than one column called {quoted(twice)}.", where=argument
        )
    return frame


def shown(given: object) -> str:
    """Describe an argument for a message: its type and, if short, its value."""
    if given is None:
        return "None"
    name = type(given).__name__
    text = repr(given) if isinstance(given, str | int | float | bool) else ""
    if text and len(text) <= _SHORT:
        return f"{text} ({name})"
    shape = getattr(given, "shape", None)
    of = f" of shape {shape}" if isinstance(shape, tuple) else ""
    return f"{'an' if name[0].lower() in 'aeiou' or name == 'ndarray' else 'a'} {name}{of}"


def is_list(given: object) -> bool:
    """Return whether an object is a list, a tuple or an array of one dimension."""
    return not isinstance(given, str | bytes | Mapping) and (
        isinstance(given, Sequence) or (hasattr(given, "tolist") and getattr(given, "ndim", 1) == 1)
    )


def names_of(given: object, argument: str, *, some: bool = False) -> list[str]:
    """Return the names in a list or in one text; at least one if `some`. Raises OptionError."""
    if isinstance(given, str):
        return [given]
    names = list(cast("Iterable[object]", given)) if is_list(given) else [None]
    if not all(isinstance(name, str) for name in names):
        raise OptionError(
            f"{argument} must be a list of names, not {shown(given)}.", where=argument
        )
    if len(set(names)) < len(names) or (some and not names):
        fault = "has a name twice" if names else "is empty"
        raise OptionError(
            f"{argument} {fault}; it must name each variable only once.", where=argument
        )
    return cast("list[str]", names)


def require_columns(table: pd.DataFrame, names: Iterable[str], argument: str) -> None:
    """Raise MissingColumn if an argument names a column that `frame` lacks."""
    absent = [name for name in names if name not in table.columns]
    if absent:
        raise MissingColumn(
            f"{argument} names {quoted(absent)}, which frame"
            f" lacks{did_you_mean(absent, map(str, table.columns))}; it has"
            f" {quoted(table.columns)}.",
            where=absent[0],
        )


def _frame(table: Frame, argument: str) -> pd.DataFrame:
    import pandas as pd

    if isinstance(table, pd.DataFrame):
        return table
    if isinstance(table, pd.Series):
        if table.name is None:
            raise TableError(
                f"{argument} is a series without a name; name it after its variable.",
                where=argument,
            )
        return table.to_frame()
    if isinstance(table, np.ndarray) and table.dtype.names:
        return pd.DataFrame.from_records(table)
    if isinstance(table, Mapping):
        return _of_columns(table, argument)
    if hasattr(table, "__arrow_c_stream__"):
        return _of_arrow(table, argument)
    if isinstance(table, Sequence) and table and all(isinstance(r, Mapping) for r in table):
        return pd.DataFrame(list(table))
    raise TableError(f"{argument} must be {WANTED}, not {shown(table)}.", where=argument)


def _of_arrow(table: Frame, argument: str) -> pd.DataFrame:
    import pyarrow as pa

    if hasattr(table, "to_frame"):  # a polars series
        table = table.to_frame()
    try:
        frame: pd.DataFrame = pa.table(table).to_pandas()
    except (pa.ArrowException, TypeError, ValueError):
        raise TableError(
            f"{argument} must be {WANTED}, not {shown(table)}, whose columns cannot be read.",
            where=argument,
        ) from None
    return frame


def _of_columns(columns: Mapping[Any, Any], argument: str) -> pd.DataFrame:
    import pandas as pd

    indexes = [column.index for column in columns.values() if isinstance(column, pd.Series)]
    if any(not index.equals(indexes[0]) for index in indexes):
        raise TableError(
            f"The series in {argument} have different indexes, so records cannot be matched.",
            where=argument,
        )
    try:
        return pd.DataFrame({name: _cells(column) for name, column in columns.items()})
    except (TypeError, ValueError):
        raise TableError(
            f"The columns of {argument} must be lists of values that all have the same length.",
            where=argument,
        ) from None


def _cells(column: Any) -> Any:
    if hasattr(column, "__arrow_c_stream__") and hasattr(column, "to_pandas"):
        return column.to_pandas()
    if isinstance(column, Mapping):
        raise TypeError("a column is a list")
    return list(column) if isinstance(column, tuple | range) else column
