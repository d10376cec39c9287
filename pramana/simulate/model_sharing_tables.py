"""Tables for a simulation of shared trees, which may have numeric columns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pramana.simulate.tables import read_cells
from pramana_core.errors import EmptyTable, MissingColumn, TableError
from pramana_core.mixed import MixedTable, read_mixed

if TYPE_CHECKING:
    import pandas as pd

MISSING = ("", "?")
"""Texts of missing values."""

FEWEST = 2
"""The smallest number of categories of a class, and of columns of a table."""


@dataclass(frozen=True)
class SharingTable:
    """Records to divide among owners, with a categorical target; `note` lists changes."""

    name: str
    records: MixedTable
    target: str
    note: str = ""


def read_sharing_table(path: Path, target: str) -> SharingTable:
    """Read a CSV or Parquet file; see `sharing_table`. Raises its errors and TableError."""
    return sharing_table(read_cells(path), target, path.name)


def sharing_table(frame: pd.DataFrame, target: str, name: str) -> SharingTable:
    """Return a frame of text cells as a table to simulate.

    Columns with only numbers are numeric, all others categorical. Records with an empty cell or a
    question mark are removed, and so are columns of one value. Raises EmptyTable, MissingColumn,
    TableError.
    """
    import pandas as pd

    if target not in frame.columns:
        raise MissingColumn(
            f"{name} has no column {target!r}.",
            where="--target",
            remedy=f"It has {', '.join(map(str, frame.columns))}.",
        )
    complete = frame[~frame.isin(MISSING).any(axis=1)].reset_index(drop=True)
    if complete.empty:
        raise EmptyTable(f"{name} has no complete record.", where="--table")
    notes = []
    if dropped := len(frame) - len(complete):
        notes.append(f"{dropped:,} records with cells that are empty or '?' were removed.")
    constant = [n for n in complete.columns if n != target and complete[n].nunique() == 1]
    if constant:
        notes.append(f"Columns of one value were removed: {', '.join(constant)}.")
    _require_classes(complete[target], name)
    kept = complete.drop(columns=constant)
    if kept.shape[1] < FEWEST:
        raise TableError(f"{name} has no column to predict {target!r} from.", where="--table")
    for column in kept.columns:
        if column == target:
            continue
        numbers = pd.to_numeric(kept[column], errors="coerce")
        if numbers.notna().all():
            kept[column] = numbers.astype("float64")
    return SharingTable(name, read_mixed(kept, name), target, " ".join(notes))


def _require_classes(column: pd.Series[str], name: str) -> None:
    classes = int(column.nunique())
    if classes < FEWEST:
        raise TableError(
            f"Column {str(column.name)!r} of {name} has one value, so there is nothing to predict.",
            where="--target",
        )
    if classes > max(FEWEST, len(column) // 4):
        raise TableError(
            f"Column {str(column.name)!r} of {name} has {classes} values in {len(column)} records,"
            " too many for a class.",
            where="--target",
            remedy="Name a column of few categories, or group its numbers first.",
        )
