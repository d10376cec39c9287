"""Curves of the mean prediction: what a model says of each feature, and no record by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pramana_core.mask.copies import combine_copies
from pramana_core.mixed import CategoricalColumn, Column, Floats, MixedTable, NumericColumn
from pramana_core.regression.least_squares import Basis, Fit
from pramana_core.regression.model import Curve
from pramana_core.regression.records import Copies

PLACES, OTHERS = 25, 200
"""Places of a curve, and the records over which its mean is taken."""

MOST_CURVES = 12


def curves(
    copies: Copies, fits: Sequence[Fit], basis: Basis, confidence: float
) -> tuple[Curve, ...]:
    """Return how the mean prediction moves with each feature (Friedman 2001, section 8.2).

    The mean is over at most `OTHERS` records spread over the table. Features beyond the first
    `MOST_CURVES` have none, and neither have those without variation.
    """
    found: list[Curve] = []
    for column in copies.tables[0].columns:
        places = _places(column)
        if len(places) < 2 or len(found) == MOST_CURVES:
            continue
        means = [_mean_rows(table, places, basis) for table in copies.tables]
        combined = combine_copies(
            [rows @ fit.weights for rows, fit in zip(means, fits, strict=True)],
            [
                np.maximum(np.einsum("ij,jk,ik->i", rows, fit.covariance, rows), 0.0)
                for rows, fit in zip(means, fits, strict=True)
            ],
            copies.records,
            parameters=int(np.ceil(fits[0].freedom)),
        )
        low, high = combined.interval(confidence)
        at = (
            tuple(column.categories[c.codes[0]] for c in places if isinstance(c, CategoricalColumn))
            if isinstance(column, CategoricalColumn)
            else tuple(float(c.values[0]) for c in places if isinstance(c, NumericColumn))
        )
        told_ends = (tuple(map(float, ends)) for ends in (combined.estimate, low, high))
        found.append(Curve(column.name, at, *told_ends))
    return tuple(found)


def _places(column: Column) -> list[Column]:
    """Return a feature as columns of one value each, where its curve is asked."""
    if isinstance(column, CategoricalColumn):
        present = np.flatnonzero(np.bincount(column.codes, minlength=len(column.categories)))
        return [
            CategoricalColumn(column.name, np.full(1, code, dtype=np.intp), column.categories)
            for code in present[:PLACES]
        ]
    low, high = np.quantile(column.values, [0.05, 0.95])
    if not low < high:
        return []
    return [NumericColumn(column.name, np.array([at])) for at in np.linspace(low, high, PLACES)]


def _mean_rows(table: MixedTable, places: Sequence[Column], basis: Basis) -> Floats:
    """Return the mean row of the basis at each place: places x k."""
    step = max(1, table.records // OTHERS)
    some = table.rows(np.arange(0, table.records, step)[:OTHERS])
    return np.stack([basis(moved).mean(axis=0) for moved in _moved(some, places)])


def _moved(table: MixedTable, places: Sequence[Column]) -> Iterator[MixedTable]:
    """Yield a table with one of its columns at each of some places."""
    same = np.zeros(table.records, dtype=np.intp)
    for place in places:
        columns = (place.rows(same) if c.name == place.name else c for c in table.columns)
        yield MixedTable(tuple(columns), table.records)
