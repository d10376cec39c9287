"""Read a table of categories for a simulation; no message quotes a cell."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from pramana.simulate.columns import Codes, ColumnChanges, codes_of, listed, made
from pramana.simulate.sources import TableSource
from pramana_core.domain import Domain, Variable
from pramana_core.errors import EmptyTable, MissingColumn, OptionError, TableError, TableUnreadable

_FEWEST = 2
MOST_INTERVALS = 64
"""Numbers are cut into at most this many intervals."""

_REMEDY = "Name the columns to use with --variables."
_COMMAS = "The table has one column: is it separated by commas?"


def read_source(
    path: Path,
    variables: Sequence[str] | None = None,
    known: Domain | None = None,
    intervals: int | None = None,
) -> TableSource:
    """Read the columns of a CSV or Parquet file as categorical variables.

    Any table will do. Columns of many numbers are cut, empty cells are a category, rare categories
    of a column that has many are put together, and a column that is constant, or names or numbers
    the records, is left out; the source's note says so.

    Args:
        path: the file; a CSV has a header.
        variables: the columns wanted, in this order, each the name of one or several with commas
            between; all that can be used if None.
        known: variables whose categories are given (those of a plan); the categories of other
            columns are their values, sorted as text.
        intervals: columns of more different numbers than this are cut into as many intervals of
            one width, from the least number to the largest, and the middles stand for them. None
            cuts columns of more than `INTERVALS` into as many as the records allow
            (`intervals_for`), of nearly equal numbers of them, and their means stand for them.

    Raises:
        TableUnreadable: absent, or not the format its name says.
        EmptyTable: no rows.
        MissingColumn: a column wanted is not there.
        OptionError: an empty name among those wanted, or a number of intervals outside 2 to
            `MOST_INTERVALS`.
        TableError: a column wanted has a value that its plan does not list, one value
            only, or a name for almost every record; or fewer than two columns can be used.
    """
    if intervals is not None and not _FEWEST <= intervals <= MOST_INTERVALS:
        raise OptionError(
            f"intervals must be between {_FEWEST} and {MOST_INTERVALS}, not {intervals}.",
            where="--intervals",
        )
    frame = read_text(path)
    names = _wanted(path, frame, variables)
    done = ColumnChanges(len(frame), intervals)
    found: list[Variable] = []
    codes: dict[str, Codes] = {}
    for name in names:
        if known is not None and name in known:
            of_plan = _of_plan(frame[name], known[name], done)
            one = None if of_plan is None else (known[name], of_plan)
        else:
            one = made(frame[name], name, done, asked=variables is not None)
        if one is not None:
            found.append(one[0])
            codes[name] = one[1]
    alone = frame.shape[1] == 1 and path.suffix != ".parquet"
    _require_usable(
        path, found, done.left_out, _COMMAS if alone else _REMEDY, variables is not None
    )
    return TableSource(path.name, Domain(tuple(found)), codes, done.note)


def _require_usable(
    path: Path, found: Sequence[Variable], bad: dict[str, str], remedy: str, asked: bool
) -> None:
    """Refuse columns that were asked for and cannot serve, and fewer than two that can."""
    if bad and (asked or not found):
        raise TableError(
            f"Columns of {path.name} cannot be simulated: {listed(bad)}.",
            where=", ".join(bad),
            remedy=remedy,
        )
    if len(found) < _FEWEST:
        rest = f" {listed(bad)}." if bad else ""
        raise TableError(
            f"Only one column of {path.name} can be used, and a link needs two.{rest}",
            where="--variables" if asked else "--table",
            remedy=remedy,
        )


def read_text(path: Path) -> pd.DataFrame:
    """Return the cells of a CSV or Parquet file as text, without blanks around; empty ones as "".

    Raises:
        TableUnreadable: absent, not the format its name says, or with two columns of one name.
        EmptyTable: no rows.
    """
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
    cleaned: pd.DataFrame = frame.apply(lambda column: column.str.strip())
    cleaned.columns = cleaned.columns.map(lambda name: str(name).strip())
    _require_each_once(path, list(cleaned.columns))
    return cleaned


def _require_each_once(path: Path, present: Sequence[str]) -> None:
    twice = sorted({name for name in present if present.count(name) > 1})
    if twice:
        raise TableUnreadable(
            f"{path.name} has two columns called {', '.join(map(repr, twice))}.",
            where="--table",
            remedy="Give each column a name of its own.",
        )


def _headed(rows: pd.DataFrame) -> pd.DataFrame:
    """Take the first row as the names: the reader would rename one that is there twice."""
    frame = rows.iloc[1:].reset_index(drop=True)
    frame.columns = pd.Index(rows.iloc[0])
    return frame


def _wanted(path: Path, frame: pd.DataFrame, variables: Sequence[str] | None) -> list[str]:
    present = list(frame.columns)
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


def _of_plan(column: pd.Series[str], variable: Variable, done: ColumnChanges) -> Codes | None:
    """Return the codes of a plan's variable; None where cells hold none of its categories."""
    empty = int((column == "").sum())
    strange = int((~column.isin(variable.categories)).sum())
    if empty and "" not in variable.categories:
        done.left_out[variable.name] = f"{empty} empty cells"
    elif strange:
        done.left_out[variable.name] = f"{strange} values that are not among the plan's categories"
    else:
        return codes_of(column, variable)
    return None
