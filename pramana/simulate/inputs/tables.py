"""Read a table of categories for a simulation; no message quotes a cell."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from pramana.simulate.inputs.sources import TableSource
from shared.discretize import Discretization, equal_width
from shared.domain import Domain, Variable
from shared.errors import EmptyTable, MissingColumn, OptionError, TableError, TableUnreadable
from shared.wire.parts import code_dtype

MOST_CATEGORIES = 64
"""A column with more different values is taken for a number or a name and not for a category."""

_FEWEST = 2
MOST_INTERVALS = 64
"""Numbers are cut into at most this many intervals."""

_REMEDY = "Cut numbers with --intervals, and name the columns to use with --variables."
_COMMAS = "The table has one column: is it separated by commas?"


def read_source(
    path: Path,
    variables: Sequence[str] | None = None,
    known: Domain | None = None,
    intervals: int | None = None,
) -> TableSource:
    """Read the columns of a CSV or Parquet file as categorical variables.

    Args:
        path: the file; a CSV has a header.
        variables: the columns wanted, in this order, each the name of one or several with commas
            between; all that can be used if None.
        known: variables whose categories are given (those of a plan); the categories of other
            columns are their values, sorted as text.
        intervals: columns of more different numbers than this are cut into as many intervals of
            one width, from the least number to the largest, and the middles stand for them.

    Raises:
        TableUnreadable: absent, or not the format its name says.
        EmptyTable: no rows.
        MissingColumn: a column wanted is not there.
        OptionError: an empty name among those wanted, or a number of intervals outside 2 to
            `MOST_INTERVALS`.
        TableError: a column wanted has an empty cell, a value that is none of its categories, one
            value only, or more than `MOST_CATEGORIES`; or fewer than two columns can be used.
    """
    if intervals is not None and not _FEWEST <= intervals <= MOST_INTERVALS:
        raise OptionError(
            f"intervals must be between {_FEWEST} and {MOST_INTERVALS}, not {intervals}.",
            where="--intervals",
        )
    frame = _read(path)
    names = _wanted(path, frame, variables)
    frame, cut = _cut(frame, [n for n in names if known is None or n not in known], intervals)
    reasons = {name: _unusable(frame[name], name, known) for name in names}
    bad = {name: reason for name, reason in reasons.items() if reason}
    usable = [name for name in names if name not in bad]
    remedy = _REMEDY if frame.shape[1] > 1 or path.suffix == ".parquet" else _COMMAS
    if bad and (variables is not None or not usable):
        raise TableError(
            f"Columns of {path.name} cannot be simulated: {_listed(bad)}.",
            where=", ".join(bad),
            remedy=remedy,
        )
    if len(usable) < _FEWEST:
        rest = f" {_listed(bad)}." if bad else ""
        raise TableError(
            f"Only one column of {path.name} can be used, and a link needs two.{rest}",
            where="--variables" if variables else "--table",
            remedy=remedy,
        )
    made = [
        cut[name].variable(name) if name in cut else _variable(frame[name], name, known)
        for name in usable
    ]
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
            frame = _headed(
                pd.read_csv(
                    path, header=None, dtype=str, keep_default_na=False, encoding="utf-8-sig"
                ).fillna("")
            )
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


def _headed(rows: pd.DataFrame) -> pd.DataFrame:
    """Take the first row as the names: the reader would rename one that is there twice."""
    frame = rows.iloc[1:].reset_index(drop=True)
    frame.columns = pd.Index(rows.iloc[0])
    return frame


def _wanted(path: Path, frame: pd.DataFrame, variables: Sequence[str] | None) -> list[str]:
    present = list(frame.columns)
    twice = sorted({name for name in present if present.count(name) > 1})
    if twice:
        raise TableUnreadable(
            f"{path.name} has two columns called {', '.join(map(repr, twice))}.",
            where="--table",
            remedy="Give each column a name of its own.",
        )
    asked = [name for text in variables or () for name in _split(text, present)]
    missing = [name for name in asked if name not in present]
    if missing:
        raise MissingColumn(
            f"{path.name} has no column {', '.join(map(repr, missing))}.",
            where=", ".join(missing),
            remedy=f"It has {present}.",
        )
    return present if variables is None else list(dict.fromkeys(asked))


def _split(text: str, present: Sequence[str]) -> list[str]:
    """Return the names between commas; a column's whole name stays whole."""
    if text.strip() in present:
        return [text.strip()]
    names = [name.strip() for name in text.split(",")]
    if "" in names:
        raise OptionError(
            f"--variables {text!r} names a column without a name.",
            where="--variables",
            remedy=f"Name columns of the table: {', '.join(present)}.",
        )
    return names


def _cut(
    frame: pd.DataFrame, names: Sequence[str], intervals: int | None
) -> tuple[pd.DataFrame, dict[str, Discretization]]:
    """Replace columns of many different numbers by the labels of intervals."""
    cut: dict[str, Discretization] = {}
    for name in names if intervals else ():
        if frame[name].nunique() <= (intervals or 0):
            continue
        numbers = pd.to_numeric(frame[name], errors="coerce").to_numpy(dtype=np.float64)
        if np.isfinite(numbers).all():
            made = equal_width(numbers, intervals or 0, float(numbers.min()), float(numbers.max()))
            frame = frame.assign(**{name: np.array(made.labels)[made.codes(numbers)]})
            cut[name] = made
    return frame, cut


def _unusable(column: pd.Series[str], name: str, known: Domain | None) -> str:
    """Return why a column cannot be simulated, or nothing."""
    if not name:
        return "no name"
    empty = int((column == "").sum())
    if empty:
        return f"{empty} empty cells"
    if known is not None and name in known:
        strange = int((~column.isin(known[name].categories)).sum())
        return f"{strange} values that are not among the plan's categories" if strange else ""
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
