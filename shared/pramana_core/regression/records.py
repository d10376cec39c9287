"""The records that a regression learns from, and those that it predicts, checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pramana_core.alike import repeated_in
from pramana_core.errors import EstimationError, OptionError, TableError
from pramana_core.mixed import (
    CategoricalColumn,
    Column,
    Floats,
    MixedTable,
    NumericColumn,
    coded_as,
)

LARGEST = 1e40
"""The largest number of a column: its sixth power must stay a floating-point number."""


@dataclass(frozen=True)
class Feature:
    """A column that explains the target: its name, and its categories unless it is numeric."""

    name: str
    categories: tuple[str, ...] | None = None


@dataclass(frozen=True, eq=False)
class RegressionRecords:
    """The records of a regression: features, their table of n rows, and n targets."""

    features: tuple[Feature, ...]
    table: MixedTable
    target: Floats


def read_records(
    table: MixedTable, target: str, features: Sequence[str] | None
) -> RegressionRecords:
    """Return the records of a regression, checked; `features` None stands for all others.

    Raises MissingColumn. OptionError, TableError: the target is a feature or has categories, or a
    feature is named twice, or none is. EstimationError: the target does not vary, or numbers are
    too large or too close together for their powers.
    """
    explained = table[target]
    if not isinstance(explained, NumericColumn):
        raise TableError(
            f"The target {target!r} has categories; a regression explains a number.",
            where=target,
            remedy="Name a numeric column, or learn a classifier of it from a randomized release.",
        )
    names = [n for n in table.names if n != target] if features is None else list(features)
    require_features(names, target)
    if not np.ptp(explained.values):
        raise EstimationError(
            f"The target {target!r} has the same value in every record.", where=target
        )
    chosen = table.project(names)
    _require_moderate(table.project([*names, target]))
    return RegressionRecords(tuple(map(_feature, chosen.columns)), chosen, explained.values)


def as_learned(table: MixedTable, features: Sequence[Feature]) -> MixedTable:
    """Return features coded as in the model. Raises MissingColumn, TableError, UnknownCategory."""
    return MixedTable(
        tuple(coded_as(table[f.name], f.categories, "model") for f in features), table.records
    )


def _feature(column: Column) -> Feature:
    known = column.categories if isinstance(column, CategoricalColumn) else None
    return Feature(column.name, known)


def require_features(names: Sequence[str], target: str) -> None:
    """Check that other columns, each named once, explain a target. Raises OptionError."""
    if target in names:
        raise OptionError(
            f"The target {target!r} is among the features.",
            where="features",
            remedy="A column cannot explain itself; name others.",
        )
    if twice := repeated_in(names):
        raise OptionError(f"Features are named twice: {twice}.", where="features")
    if not names:
        raise OptionError(
            f"There is no column but the target {target!r} to explain it by.", where="features"
        )


def _require_moderate(table: MixedTable) -> None:
    """Refuse columns whose powers overflow or underflow."""
    for column in table.columns:
        if not isinstance(column, NumericColumn) or not table.records:
            continue
        spread = float(np.ptp(column.values))
        if np.abs(column.values).max() > LARGEST or 0 < spread < 1 / LARGEST:
            raise EstimationError(
                f"The numbers of column {column.name!r} go beyond {LARGEST:g}, or differ by less"
                f" than {1 / LARGEST:g}: their powers cannot be computed.",
                where=column.name,
                remedy="Measure the column in another unit.",
            )
