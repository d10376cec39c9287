"""Columns that a model uses and a table lacks: named in a warning, or refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, get_args

from pramana.frames.sentences import quoted, warn_caller
from pramana.frames.tables import shown
from pramana_core.alike import alike, did_you_mean
from pramana_core.errors import MissingColumn, OptionError

if TYPE_CHECKING:
    import pandas as pd

MissingColumns = Literal["warn", "error", "ignore"]
"""What is done about columns that a model uses and a table lacks: summed out, or predicted."""


def lacking(
    table: pd.DataFrame, used: Sequence[str], argument: str, known: Sequence[str] = ()
) -> str:
    """Return in words which columns a table lacks and what they may be called there, or nothing.

    Columns that are `known`, or used themselves, are no other's misspelling.
    """
    absent = [name for name in dict.fromkeys(used) if name not in table.columns]
    if not absent:
        return ""
    others = [name for name in table.columns if name not in used and name not in known]
    return f"{argument} has no column {quoted(absent)}{did_you_mean(absent, others)}"


def misnamed(table: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """Return the names that a table lacks but has a similarly named column for."""
    others = [name for name in table.columns if name not in names]
    return [name for name in names if name not in table.columns and alike(name, others)]


def tell_of_missing(
    table: pd.DataFrame,
    used: Sequence[str],
    known: Sequence[str],
    missing_columns: MissingColumns,
    *,
    predicted: bool = False,
) -> None:
    """Tell whoever called Pramana of columns that a model uses and `frame` lacks.

    Args:
        table: what was passed as `frame`, with columns of names that are text.
        used: the names of the columns that the model uses.
        known: the names of all columns that it knows.
        missing_columns: `warn`, `error` or `ignore`.
        predicted: whether what the table lacks is what is predicted.

    Raises:
        OptionError: `missing_columns` is not one of these.
        MissingColumn: there are such columns, and they are an error.
    """
    if missing_columns not in get_args(MissingColumns):
        raise OptionError(
            f"missing_columns must be 'warn', 'error' or 'ignore', not {shown(missing_columns)}.",
            where="missing_columns",
        )
    said = lacking(table, used, "frame", known)
    if said and missing_columns == "error":
        raise MissingColumn(
            f"{said}, which the model uses; it has {quoted(table.columns)}.", where="frame"
        )
    # Without any of them it is refused anyway, which says more.
    some = any(name in table.columns for name in used)
    if said and some and missing_columns == "warn":
        warn_caller(
            f"{said}, which the model uses: what is missing is"
            f" {'predicted' if predicted else 'summed out'}; missing_columns='error' refuses such a"
            " frame, 'ignore' says nothing."
        )
