"""Masked values that are nearly the true ones, and how many of them are coincidence.

A record that stands alone in S decides its own expectation; its residual is then nearly 0, and its
masked value nearly the true one, however independent the noise is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pramana_core.mixed import Floats
from pramana_core.ties import descending, first_largest

NEAR = 0.01
"""Masked values this close to the true ones, in standard deviations, count as the same."""
FEWEST = 50
MOST_PIECES = 32


@dataclass(frozen=True)
class Coincidences:
    """How many masked values of a column are within 1 % of a standard deviation of the true ones.

    Attributes:
        found: how many are.
        expected: how many would be if Y were drawn independently of X given S.
        error: the standard deviation of that number.
    """

    found: int
    expected: float
    error: float

    @property
    def excess(self) -> float:
        """found - expected, in standard deviations of that number; at least one record's worth."""
        return (self.found - self.expected) / max(self.error, 1.0)


def coincidences(
    told: Floats, true: Floats, masked: Floats, expected: Floats, place: int, *, near: float = NEAR
) -> Coincidences:
    """Count the masked values of one column that are nearly the true ones.

    How many are expected follows from all pairs of records that are alike in S: the expectation of
    the one with the residual of the other. Where one value is that of many records, as 0 often is,
    residuals added to other expectations miss it; so values are paired as they are too, among
    records alike in S and in what is expected of them, and the larger number counts.

    Args:
        told: S standardized, n x p.
        true: X, n x q.
        masked: Y in the same units.
        expected: fitted E(Y|S), n x q.
        place: which column.
        near: what counts as the same, in standard deviations of the column of X.
    """
    width = near * float(true[:, place].std())
    gap = np.abs(masked[:, place] - true[:, place])
    by_residuals, as_they_are = np.zeros((2, len(true)))
    for rows in pieces_of(told, MOST_PIECES, FEWEST):
        centre, wanted, drawn = expected[rows, place], true[rows, place], masked[rows, place]
        by_residuals[rows] = _among_others(wanted - centre, drawn - centre, width)
        for group in _alike(centre):
            alike = rows[group]
            as_they_are[alike] = _among_others(wanted[group], drawn[group], width)
    ways = by_residuals, as_they_are
    chances = ways[first_largest([float(way.sum()) for way in ways])]
    spread = float(np.sqrt(np.sum(chances * (1 - chances))))
    return Coincidences(int(np.count_nonzero(gap <= width)), float(chances.sum()), spread)


def _among_others(wanted: Floats, drawn: Floats, width: float) -> Floats:
    """Return for each record the share of the other records' draws that are near what it wants."""
    order = np.sort(drawn)
    upper = np.searchsorted(order, wanted + width, side="right")
    within = upper - np.searchsorted(order, wanted - width, side="left")
    within = within - (np.abs(drawn - wanted) <= width)
    shares: Floats = np.maximum(within, 0) / max(len(wanted) - 1, 1)
    return shares


def _alike(expected: Floats) -> list[npt.NDArray[np.intp]]:
    """Return the places of records of which about the same is expected; ties stay together."""
    count = max(len(expected) // FEWEST, 1)
    edges = np.quantile(expected, np.arange(1, count) / count)
    group = np.searchsorted(edges, expected, side="right")
    return [np.flatnonzero(group == which) for which in np.unique(group)]


Rows = npt.NDArray[np.intp]


def pieces_of(told: Floats, most: int, least: int) -> tuple[Rows, ...]:
    """Return the rows of pieces alike in S: the largest is cut at a median, again and again.

    The cut goes through the column of S that varies most within the piece, so that with one column
    the pieces are intervals, and categories are told apart before long.

    Args:
        told: S standardized, n x p.
        most: the largest number of pieces.
        least: the fewest records of a piece.
    """
    pieces: list[Rows] = [np.arange(len(told))]
    final: list[Rows] = []
    while pieces and len(pieces) + len(final) < most:
        pieces.sort(key=len)
        largest = pieces.pop()
        halves = _halves(told, largest, least)
        if halves is None:
            final.append(largest)
        else:
            pieces += halves
    return tuple(sorted([*pieces, *final], key=lambda rows: int(rows[0])))


def _halves(told: Floats, rows: Rows, least: int) -> list[Rows] | None:
    if len(rows) < 2 * least or not told.shape[1]:
        return None
    spread = told[rows].std(axis=0)
    for place in descending(spread):
        if spread[place] < 1e-9:
            return None
        values = told[rows, place]
        for low in (values <= np.median(values), values < np.median(values)):
            count = int(np.count_nonzero(low))
            if min(count, len(rows) - count) >= least:
                return [rows[low], rows[~low]]
    return None
