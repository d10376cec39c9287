"""Any table a person may hold, as a pandas frame: frames, series, dicts, polars, Arrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from shared.errors import EmptyTable, TableError

if TYPE_CHECKING:
    import pandas as pd

Frame: TypeAlias = Any
"""A pandas frame or series, a dict of columns, a list of dicts, or what speaks Arrow (polars)."""

WANTED = "a pandas or polars frame, a dict of columns, or a list of dicts"


def as_frame(table: Frame, argument: str) -> pd.DataFrame:
    """Return a table as a pandas frame whose columns are called by text, each name once.

    Args:
        table: what was passed; see `Frame`. It is not changed.
        argument: the name of the parameter it was passed as.

    Raises:
        TableError: it is no table, its columns have different lengths, or a name is there twice.
        EmptyTable: it has no rows.
    """
    import pandas as pd

    if isinstance(table, pd.DataFrame):
        frame = table
    elif isinstance(table, pd.Series):
        frame = table.to_frame()
    elif isinstance(table, Mapping):
        frame = _of_columns(table, argument)
    elif hasattr(table, "__arrow_c_stream__"):
        import pyarrow as pa

        frame = pa.table(table).to_pandas()
    elif hasattr(table, "__dataframe__"):
        frame = pd.api.interchange.from_dataframe(table)
    elif isinstance(table, Sequence) and table and all(isinstance(r, Mapping) for r in table):
        frame = pd.DataFrame(list(table))
    else:
        raise TableError(f"{argument} must be {WANTED}, not {shown(table)}.", where=argument)
    if len(frame) == 0:
        raise EmptyTable(f"{argument} has no rows.", where=argument)
    if not all(isinstance(name, str) for name in frame.columns):
        frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    twice = sorted(set(frame.columns[frame.columns.duplicated()]))
    if twice:
        raise TableError(
            f"{argument} has more than one column called {', '.join(map(repr, twice))}.",
            where=argument,
        )
    return frame


def shown(given: object) -> str:
    """Return what was given in words for a message: its type and, where that is short, itself."""
    if given is None:
        return "None"
    name = type(given).__name__
    text = repr(given) if isinstance(given, str | int | float | bool) else ""
    return f"{text} ({name})" if text and len(text) <= 40 else f"a {name}"


def _of_columns(columns: Mapping[Any, Any], argument: str) -> pd.DataFrame:
    import pandas as pd

    lengths = {str(name): len(c) if hasattr(c, "__len__") else -1 for name, c in columns.items()}
    if len(set(lengths.values())) > 1 or -1 in lengths.values():
        told = ", ".join(f"{name!r} {n if n >= 0 else 'none'}" for name, n in lengths.items())
        raise TableError(
            f"The columns of {argument} must be of one length; they have: {told}.", where=argument
        )
    return pd.DataFrame(dict(columns))
