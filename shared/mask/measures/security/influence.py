"""Self-influence: how far a record's masked value is made of its own true one.

A record that stands alone in S decides its own expectation; its residual is then nearly 0, and its
masked value nearly the true one, however independent the noise is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shared.mask.measures.core.pieces import pieces_of
from shared.mixed.table import Floats

NEAR = 0.01
"""Masked values this close to the true ones, in standard deviations, count as the same."""
FEWEST = 50
MOST_PIECES = 32


@dataclass(frozen=True)
class Coincidences:
    """How many masked values of a column are within 1 % of a standard deviation of the true ones.

    Attributes:
        place: the column's place.
        found: how many are.
        expected: how many would be if Y were drawn independently of X given S.
        error: the standard deviation of that number.
    """

    place: int
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
    the one with the residual of the other.

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
    chances = np.empty(len(true))
    for rows in pieces_of(told, MOST_PIECES, FEWEST):
        centre = expected[rows, place]
        rest = masked[rows, place] - centre
        order = np.sort(rest)
        # Y drawn for a record is its expectation and the residual of another in the piece.
        wanted = true[rows, place] - centre
        upper = np.searchsorted(order, wanted + width, side="right")
        within = upper - np.searchsorted(order, wanted - width, side="left")
        within = within - (np.abs(rest - wanted) <= width)
        chances[rows] = np.maximum(within, 0) / max(len(rows) - 1, 1)
    spread = float(np.sqrt(np.sum(chances * (1 - chances))))
    return Coincidences(place, int(np.count_nonzero(gap <= width)), float(chances.sum()), spread)
