"""Tables that regressions are learned from in tests, and their columns as plain arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pramana_core.mixed import CategoricalColumn, Column, MixedTable, NumericColumn

LEVELS = ("a", "b", "c")


def table(**columns: object) -> MixedTable:
    """Return columns as a table: numbers, or (codes, categories)."""
    made: list[Column] = [
        CategoricalColumn(name, np.asarray(values[0]), tuple(values[1]))
        if isinstance(values, tuple)
        else NumericColumn(name, np.asarray(values, dtype=float))
        for name, values in columns.items()
    ]
    return MixedTable(tuple(made), len(made[0]))


def store(records: int = 400, seed: int = 1, noise: float = 5.0) -> MixedTable:
    """Return people whose spending is a hump over age and differs by level; in odd units."""
    rng = np.random.default_rng(seed)
    age, income = rng.uniform(20, 60, records), 1e6 + 1e4 * rng.normal(size=records)
    level = rng.integers(0, 3, records)
    spends = 300 - 0.2 * (age - 40) ** 2 + 7 * (level == 1) + 5e-4 * income
    spends += noise * rng.normal(size=records)
    return table(age=age, level=(level, LEVELS), income=income, spends=spends)


def values(found: MixedTable, name: str) -> np.ndarray:
    """Return a column of numbers."""
    return found.project([name]).matrix()[:, 0]


def raw(found: MixedTable, names: Sequence[str] = ("age", "level", "income")) -> np.ndarray:
    """Return a constant, numbers as they are, and indicators of all categories but the first."""
    made = [np.ones(found.records)]
    for name in names:
        column = found[name]
        if isinstance(column, CategoricalColumn):
            made += [(column.codes == k) * 1.0 for k in range(1, len(column.categories))]
        else:
            made.append(column.values)
    return np.column_stack(made)
