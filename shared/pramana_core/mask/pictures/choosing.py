"""Which relationships are worth a picture: what tells most of each confidential column."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pramana_core.mixed.table import CategoricalColumn, Column, Floats, MixedTable, NumericColumn
from pramana_core.ties import first_largest

GROUPS = 20
"""Numbers are cut into so many groups of equally many records to see what they tell."""

Pair = tuple[str, str]
"""The column across and the column upwards."""


def pairs_to_show(told: MixedTable, confidential: MixedTable, most: int = 4) -> tuple[Pair, ...]:
    """Return the relationships to draw, at most so many.

    Each confidential column against the told one that explains it best, then confidential
    columns against each other, those first that explain each other best.

    Args:
        told: S, n records.
        confidential: X, of the same records.
        most: how many at most.
    """
    columns = [c for c in confidential.columns if isinstance(c, NumericColumn)]
    beside: list[Pair] = []
    for column in columns:
        shares = [explained(column.values, other) for other in told.columns]
        if shares:
            beside.append((told.columns[first_largest(shares, scale=1.0)].name, column.name))
    among = [
        (-max(explained(a.values, b), explained(b.values, a)), a.name, b.name)
        for place, a in enumerate(columns)
        for b in columns[place + 1 :]
    ]
    room = max(1, most - min(len(among), max(1, most // 4))) if beside and among else most
    found = [*beside[:room], *((a, b) for _, a, b in sorted(among))]
    return tuple(found[:most])


def explained(values: Floats, by: Column) -> float:
    """Return the share of a column's variance between groups of another, less what chance gives.

    Args:
        values: n numbers.
        by: n categories, or numbers that are cut into groups of equally many records.

    Returns:
        the correlation ratio, adjusted as R^2 is; about 0 where nothing is explained.
    """
    groups = groups_of(by)
    sizes = np.bincount(groups)
    kept = int(np.count_nonzero(sizes))
    if kept >= len(values) or not np.ptp(values):
        return 0.0
    means = np.bincount(groups, weights=values) / np.maximum(sizes, 1)
    within = float(np.sum((values - means[groups]) ** 2) / (len(values) - kept))
    whole = float(np.var(values, ddof=1))
    return 1.0 - within / whole


def groups_of(column: Column) -> npt.NDArray[np.intp]:
    """Return the group of each record: its category, or one of `GROUPS` by the size of a number."""
    if isinstance(column, CategoricalColumn):
        return column.codes
    _, places = np.unique(column.values, return_inverse=True)
    if places.max(initial=0) < GROUPS:
        return places.astype(np.intp)
    edges = np.quantile(column.values, np.arange(1, GROUPS) / GROUPS)
    return np.searchsorted(edges, column.values, side="left").astype(np.intp)
