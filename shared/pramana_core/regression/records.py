"""The records that a regression learns from, and those that it predicts, checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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
class Copies:
    """The features and the target of each masked copy, with the same records in each.

    Attributes:
        features: the columns that explain the target.
        tables: the features of each copy.
        targets: the target of each copy: m x n.
    """

    features: tuple[Feature, ...]
    tables: tuple[MixedTable, ...]
    targets: Floats

    @property
    def records(self) -> int:
        """n, the records of each copy."""
        return self.tables[0].records


def read_copies(
    tables: Sequence[MixedTable], target: str, features: Sequence[str] | None
) -> Copies:
    """Return the copies of a regression, checked.

    Args:
        tables: one for each masked copy, of the same records and columns.
        target: the name of a numeric column.
        features: the names of other columns; None for all others.

    Raises:
        MissingColumn: there is no column of a name.
        OptionError: the target is among the features, or one is named twice, or there is none.
        TableError: the target has categories, or the copies differ in columns or records.
        EstimationError: the target has the same value in every record, or a column's numbers are
            too large or too close together for their powers.
    """
    if not tables:
        raise TableError("There are no tables to learn from; one for each masked copy is needed.")
    first = tables[0]
    _require_alike(tables)
    if not isinstance(first[target], NumericColumn):
        raise TableError(
            f"The target {target!r} has categories; a regression explains a number.",
            where=target,
            remedy="Name a numeric column, or learn a classifier of it from a randomized release.",
        )
    names = [n for n in first.names if n != target] if features is None else list(features)
    require_features(names, target)
    values = np.stack([table.project([target]).matrix()[:, 0] for table in tables])
    if (np.ptp(values, axis=1) == 0).any():
        raise EstimationError(
            f"The target {target!r} has the same value in every record.", where=target
        )
    chosen = tuple(table.project(names) for table in tables)
    for table in tables:
        _require_moderate(table.project([*names, target]))
    return Copies(tuple(map(_feature, chosen[0].columns)), chosen, values)


def as_learned(table: MixedTable, features: Sequence[Feature]) -> MixedTable:
    """Return the features of records to predict, their categories coded as in the model.

    Raises:
        MissingColumn: a feature is missing.
        TableError: a feature has categories in place of numbers, or the reverse.
        UnknownCategory: a feature has a category that the model did not learn.
    """
    return MixedTable(
        tuple(coded_as(table[f.name], f.categories, "model") for f in features), table.records
    )


def _feature(column: Column) -> Feature:
    known = column.categories if isinstance(column, CategoricalColumn) else None
    return Feature(column.name, known)


def require_features(names: Sequence[str], target: str) -> None:
    """Check that a target is explained by other columns, each named once.

    Raises:
        OptionError: it is not.
    """
    if target in names:
        raise OptionError(
            f"The target {target!r} is among the features.",
            where="features",
            remedy="A column cannot explain itself; name others.",
        )
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
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


def _require_alike(tables: Sequence[MixedTable]) -> None:
    first = tables[0]
    kinds = list(map(_feature, first.columns))
    for place, table in enumerate(tables[1:], 2):
        if list(map(_feature, table.columns)) != kinds or table.records != first.records:
            raise TableError(
                f"Copy {place} differs from the first in its columns or its number of records.",
                remedy="Pass the masked copies of one table, with the same columns in one order.",
            )
