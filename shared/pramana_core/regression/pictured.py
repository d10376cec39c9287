"""What pictures of a regression show: curves, residuals and fits, and no record by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pramana_core.mask.copies.combining import combine_copies
from pramana_core.mixed.table import CategoricalColumn, Column, Floats, MixedTable, NumericColumn
from pramana_core.regression.diagnostics import Basis, Fit
from pramana_core.regression.model import Cells, Curve, Strip

if TYPE_CHECKING:
    from pramana_core.regression.inputs import Copies

FEWEST = 5
"""Of each copy at least so many records are in a cell or strip that is shown."""

STRIPS, PER_STRIP = 20, 25
"""The most strips, and the fewest records that one has."""

CELLS = 30
"""The most cells in each direction; fewer of few records, so that most of these are in cells that
are shown."""

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
        told = combine_copies(
            [rows @ fit.weights for rows, fit in zip(means, fits, strict=True)],
            [
                np.maximum(np.einsum("ij,jk,ik->i", rows, fit.covariance, rows), 0.0)
                for rows, fit in zip(means, fits, strict=True)
            ],
            copies.records,
            parameters=int(np.ceil(fits[0].freedom)),
        )
        low, high = told.interval(confidence)
        at = (
            tuple(column.categories[c.codes[0]] for c in places if isinstance(c, CategoricalColumn))
            if isinstance(column, CategoricalColumn)
            else tuple(float(c.values[0]) for c in places if isinstance(c, NumericColumn))
        )
        told_ends = (tuple(map(float, ends)) for ends in (told.estimate, low, high))
        found.append(Curve(column.name, at, *told_ends))
    return tuple(found)


def strips(copies: Copies, fits: Sequence[Fit]) -> tuple[Strip, ...]:
    """Return the residuals by fitted values, in strips of about as many records each."""
    fitted = np.concatenate([fit.fitted for fit in fits])
    residuals = np.concatenate([fit.residuals for fit in fits])
    m = len(fits)
    count = max(1, min(STRIPS, copies.records // PER_STRIP))
    # Equal fitted values stay together, however many they are.
    ends = np.unique(np.quantile(fitted, np.linspace(0, 1, count + 1)[1:-1]))
    strip_of = np.searchsorted(ends, fitted, side="left")
    inside = (np.flatnonzero(strip_of == place) for place in range(len(ends) + 1))
    return tuple(
        Strip(
            float(fitted[rows].mean()),
            float(residuals[rows].mean()),
            float(residuals[rows].std()),
            len(rows) / m,
        )
        for rows in inside
        if len(rows) >= FEWEST * m
    )


def cells(copies: Copies, fits: Sequence[Fit]) -> Cells:
    """Return how many records have which fitted and observed target.

    The cells lie between the 1 % and 99 % quantiles of both together; those of fewer than `FEWEST`
    records of each copy are not told.
    """
    fitted = np.concatenate([fit.fitted for fit in fits])
    observed = copies.targets.ravel()
    m = len(fits)
    low, high = np.quantile(np.concatenate([fitted, observed]), [0.01, 0.99])
    if not low < high:
        return Cells((float(low), float(high)), (), 1.0)
    count = max(4, min(CELLS, int((copies.records / 4) ** 0.5)))
    edges = np.linspace(low, high, count + 1)
    counts, _, _ = np.histogram2d(fitted, observed, bins=(edges, edges))
    shown = np.argwhere(counts >= FEWEST * m)
    told = tuple((int(i), int(j), float(counts[i, j]) / m) for i, j in shown)
    hidden = 1 - sum(count for *_, count in told) / copies.records
    return Cells(tuple(map(float, edges)), told, max(0.0, hidden))


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
