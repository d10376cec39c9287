"""Read a table of categories for a simulation; no message quotes a cell."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.simulate.sources import TableSource
from shared.domain import Domain, Variable
from shared.errors import EmptyTable, MissingColumn, TableError, TableUnreadable
from shared.parts import code_dtype

MOST_CATEGORIES = 64
"""A column with more different values is taken for a number or a name and not for a category."""


def read_source(
    path: Path, variables: Sequence[str] | None = None, known: Domain | None = None
) -> TableSource:
    """Read the columns of a CSV or Parquet file as categorical variables.

    Args:
        path: the file; a CSV has a header.
        variables: the columns wanted, in this order; all that can be used if None.
        known: variables whose categories are given (those of a plan); the categories of other
            columns are their values, sorted as text.

    Raises:
        TableUnreadable: absent, or not the format its name says.
        EmptyTable: no rows.
        MissingColumn: a column wanted is not there.
        TableError: a column wanted has an empty cell, a value that is none of its categories, one
            value only, or more than `MOST_CATEGORIES`; or no column can be used.
    """
    frame = _read(path)
    names = _wanted(path, frame, variables)
    reasons = {name: _unusable(frame[name], name, known) for name in names}
    bad = {name: reason for name, reason in reasons.items() if reason}
    usable = [name for name in names if name not in bad]
    if (bad and variables is not None) or not usable:
        raise TableError(
            f"Columns of {path.name} cannot be simulated: {_listed(bad)}.",
            where=", ".join(bad),
            remedy="Group numbers into intervals first, and name the columns to use with"
            " --variables.",
        )
    made = [_variable(frame[name], name, known) for name in usable]
    codes = {v.name: _codes(frame[v.name], v) for v in made}
    note = f"Columns left out: {_listed(bad)}." if bad else ""
    return TableSource(path.name, Domain(tuple(made)), codes, note)


def _read(path: Path) -> pd.DataFrame:
    if not path.is_file():
        raise TableUnreadable(
            f"There is no table at {path}.", where="--table", remedy="Name a CSV or Parquet file."
        )
    try:
        if path.name.endswith(".parquet"):
            frame = pd.read_parquet(path).astype("string").fillna("")
        else:
            frame = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8")
    except (ValueError, OSError) as error:
        # What the reader says may quote a row; only the kind of the failure is passed on.
        raise TableUnreadable(
            f"The table {path} cannot be read ({type(error).__name__}).",
            where="--table",
            remedy="Export it again as CSV in UTF-8 with a header, or as Parquet.",
        ) from None
    if frame.empty:
        raise EmptyTable(f"The table {path} has no rows.", where="--table")
    cleaned = frame.map(str.strip)
    cleaned.columns = cleaned.columns.map(lambda name: str(name).strip())
    return cleaned


def _wanted(path: Path, frame: pd.DataFrame, variables: Sequence[str] | None) -> list[str]:
    present = list(frame.columns)
    twice = sorted({name for name in present if present.count(name) > 1})
    if twice:
        raise TableUnreadable(f"{path.name} has two columns called {twice}.", where="--table")
    missing = [name for name in variables or () if name not in present]
    if missing:
        raise MissingColumn(
            f"{path.name} has no column {', '.join(map(repr, missing))}.",
            where=", ".join(missing),
            remedy=f"It has {present}.",
        )
    return present if variables is None else list(dict.fromkeys(variables))


def _unusable(column: pd.Series[str], name: str, known: Domain | None) -> str:
    """Return why a column cannot be simulated, or nothing."""
    empty = int((column == "").sum())
    if empty:
        return f"{empty} empty cells"
    if known is not None and name in known:
        strange = int((~column.isin(known[name].categories)).sum())
        return f"{strange} values that are none of the plan's categories" if strange else ""
    values = column.nunique()
    if values < 2:
        return "one value only"
    return f"{values} different values" if values > MOST_CATEGORIES else ""


def _variable(column: pd.Series[str], name: str, known: Domain | None) -> Variable:
    if known is not None and name in known:
        return known[name]
    return Variable(name, tuple(sorted(column.unique())))


def _codes(column: pd.Series[str], variable: Variable) -> np.ndarray[tuple[int], np.dtype]:
    found = pd.Index(variable.categories).get_indexer(pd.Index(column))
    return np.asarray(found).astype(code_dtype(variable.size))


def _listed(bad: dict[str, str]) -> str:
    return "; ".join(f"{name!r} has {reason}" for name, reason in bad.items())
