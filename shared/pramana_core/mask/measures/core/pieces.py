"""Records cut into pieces that are alike in S, without looking at X or Y."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pramana_core.mixed.table import Floats
from pramana_core.ties import descending

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
