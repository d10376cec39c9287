"""Score intervals: of a share whose variance is taken at what it is supposed to be.

An estimate s of a share w of N records is the mean of a function W of the report. Its variance is

    (m(w) - w^2) / N    against the population,    (m(w) - w) / N    given the records,

m(w) the mean square of W. If w changes while the other records stay in proportion, m is a straight
line: m(w) = w peak + (1 - w) rest, `peak` the mean square of W for a record that has the cell and
`rest` that for the others, which follows from m(s). With the variance at the supposed w an interval
covers where one with the variance at the estimate does not: of rare cells and few records, whose
estimate and variance are too low at once. Without randomization it is Wilson's (1927).
"""

from __future__ import annotations

import numpy as np

from shared.marginals.support_counts import Floats

_FEW = 0.02


def score_interval(
    share: Floats,
    square: Floats,
    peak: Floats,
    records: float,
    z: float,
    *,
    population: bool,
) -> tuple[Floats, Floats]:
    """Return the ends of the intervals that hold the w with (s - w)^2 <= z^2 variance(w).

    Args:
        share: the estimates s, of any shape, not cut to [0, 1].
        square: the mean square m of W over the reports, in that shape.
        peak: the mean square of W for a record that has the cell, in that shape.
        records: their number N.
        z: the normal quantile.
        population: which error (see `MarginalTable`).

    Returns:
        The lower and the upper ends, not cut to [0, 1].
    """
    left = 1.0 - share
    # Where hardly a record lacks the cell, its noise is taken to be that of one that has it.
    few = left < _FEW
    rest = np.where(few, peak - 1.0, (square - share * peak) / np.where(few, 1.0, left))
    level = np.maximum(rest, 0.0)
    # The variance is (level + linear w + bend w^2) / N.
    linear, bend = (peak - level, -1.0) if population else (peak - level - 1.0, 0.0)
    factor = z**2 / records
    lead = 1.0 - factor * bend
    half = share + factor * linear / 2
    root = np.sqrt(np.maximum(half**2 - lead * (share**2 - factor * level), 0.0))
    low, high = (half - root) / lead, (half + root) / lead
    return np.minimum(low, share), np.maximum(high, share)
