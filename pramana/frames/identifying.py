"""Checks for columns that identify people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pramana_core.errors import TableError

if TYPE_CHECKING:
    import pandas as pd

LEAST = 20
"""With fewer records, distinct values do not indicate an id."""

NEARLY_ALL = 0.9
"""A text column identifies records if at least this share of its values is distinct."""


def require_no_id(column: pd.Series, name: str, argument: str) -> None:
    """Check that a column neither numbers the records nor names almost every one of them.

    Raises TableError.
    """
    import pandas as pd

    kind = pd.api.types
    records, distinct = len(column), int(column.nunique())
    if records < LEAST:
        return
    words = not kind.is_numeric_dtype(column.dtype) and not kind.is_datetime64_any_dtype(
        column.dtype
    )
    many = distinct >= NEARLY_ALL * records
    numbered = (
        distinct == records
        and kind.is_integer_dtype(column.dtype)
        and int(column.max()) - int(column.min()) == records - 1
    )
    if (words and many) or numbered:
        which = "numbers the records" if numbered else "has nearly as many values as records"
        raise TableError(
            f"Column {name!r} {which}, so it identifies people; leave it out, or list in"
            f" {argument}=[...] the columns that may be released.",
            where=name,
        )
