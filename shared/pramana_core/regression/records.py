"""Checks of the records from which a regression learns, and of the records that it predicts."""

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
"""The largest number allowed in a column; its sixth power must not overflow."""


@dataclass(frozen=True)
class Feature:
    """A column that explains the target, with its categories unless it is numeric."""

    name: str
    categories: tuple[str, ...] | None = None


@dataclass(frozen=True, eq=False)
class RegressionRecords:
    """The records of a regression: the features, a table with n rows, and the n targets."""

    features: tuple[Feature, ...]
    table: MixedTable
    target: Floats


def read_records(
    table: MixedTable, target: str, features: Sequence[str] | None
) -> RegressionRecords:
    """Return the checked records of a regression; `features` None means all other columns.

    Raises MissingColumn. OptionError, TableError: the target is a feature or has categories, or
    features are repeated or missing. EstimationError: the target does not vary, or numbers are too
    large, or too close together, to compute powers of them.
    """
    explained = table[target]
    if not isinstance(explained, NumericColumn):
        raise TableError(
            f"The target {target!r} has categories; a regression needs a numeric target.",
            where=target,
            remedy="Choose a numeric column, or learn a classifier from a randomized release.",
        )
    names = [n for n in table.names if n != target] if features is None else list(features)
    require_features(names, target)
    if not np.ptp(explained.values):
        raise EstimationError(
            f"The target {target!r} has the same value in all records.", where=target
        )
    chosen = table.project(names)
    _require_moderate(table.project([*names, target]))
    return RegressionRecords(tuple(map(_feature, chosen.columns)), chosen, explained.values)


def as_learned(table: MixedTable, features: Sequence[Feature]) -> MixedTable:
    """Return features with the model's codes. Raises MissingColumn, TableError, UnknownCategory."""
    return MixedTable(
        tuple(coded_as(table[f.name], f.categories, "model") for f in features), table.records
    )


def _feature(column: Column) -> Feature:
    known = column.categories if isinstance(column, CategoricalColumn) else None
    return Feature(column.name, known)


def require_features(names: Sequence[str], target: str) -> None:
    """Raise OptionError unless features are distinct columns other than the target."""
    if target in names:
        raise OptionError(
            f"The target {target!r} is among the features.",
            where="features",
            remedy="Choose other columns.",
        )
    if twice := repeated_in(names):
        raise OptionError(f"Features are named twice: {twice}.", where="features")
    if not names:
        raise OptionError(
            f"The target {target!r} needs one or more other columns as features.",
            where="features",
        )


def _require_moderate(table: MixedTable) -> None:
    for column in table.columns:
        if not isinstance(column, NumericColumn) or not table.records:
            continue
        spread = float(np.ptp(column.values))
        if np.abs(column.values).max() > LARGEST or 0 < spread < 1 / LARGEST:
            raise EstimationError(
                f"The powers of column {column.name!r} cannot be computed: its numbers exceed"
                f" {LARGEST:g}, or differ by less than {1 / LARGEST:g}.",
                where=column.name,
                remedy="Express the column in another unit.",
            )
