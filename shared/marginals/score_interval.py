"""Score intervals: of a share whose variance is taken at what it is supposed to be.

An estimate s of a share w of N records is the mean of a function W of the report. Its variance is

    (m(w) - w^2) / N    against the population,    (m(w) - w) / N    given the records,

m(w) the mean square of W. If w changes while the other records stay in proportion, m is a straight
line: m(w) = w peak + (1 - w) rest, `peak` the mean square of W for a record that has the cell and
`rest` that for the others, which follows from m(s). With the variance at the supposed w an interval
covers where one with the variance at the estimate does not: of rare cells and few records, whose
estimate and variance are too low at once. Without randomization it is Wilson's (1927).

Of rare cells under strong noise s is skewed too: few reports with a large W make it. To the next
order in 1 / sqrt(N) its quantiles lie (z^2 - 1) / 6 times its third moment for its variance further
right (Cornish and Fisher 1938; Hall, "The bootstrap and Edgeworth expansion", 2.5), and a skewed
interval is moved by that. The third moment is that of a report of two outcomes with the mean
squares peak and rest, whose ratio to the variance is peak - rest - 2 w; of this the part of the
noise, peak - rest - 1, is taken, so that Wilson's interval stays as it is.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_FEW = 0.02


def rest_of(share: Floats, square: Floats, peak: Floats) -> Floats:
    """Return the mean square of W for records without the cell; arguments as `score_interval`."""
    left = 1.0 - share
    # Where hardly a record lacks the cell, its noise is taken to be that of one that has it.
    few = left < _FEW
    rest = np.where(few, peak - 1.0, (square - share * peak) / np.where(few, 1.0, left))
    return np.maximum(rest, 0.0)


def score_interval(
    share: Floats,
    square: Floats,
    peak: Floats,
    records: float,
    z: float,
    *,
    population: bool,
    skewed: bool = False,
) -> tuple[Floats, Floats]:
    """Return the ends of the intervals that hold the w with (s - w)^2 <= z^2 variance(w).

    Args:
        share: the estimates s, of any shape, not cut to [0, 1].
        square: the mean square m of W over the reports, in that shape.
        peak: the mean square of W for a record that has the cell, in that shape.
        records: their number N.
        z: the normal quantile.
        population: which error (see `MarginalTable`).
        skewed: whether s is first moved by the skewness of the noise (see above).

    Returns:
        The lower and the upper ends, not cut to [0, 1].
    """
    level, linear, bend = _line(share, square, peak, population=population)
    factor = z**2 / records
    middle = share - (z**2 - 1.0) / records * skew(level, peak) if skewed else share
    lead = 1.0 - factor * bend
    half = middle + factor * linear / 2
    root = np.sqrt(np.maximum(half**2 - lead * (middle**2 - factor * level), 0.0))
    low, high = (half - root) / lead, (half + root) / lead
    return np.minimum(low, share), np.maximum(high, share)


def deviates(
    supposed: float,
    share: Floats,
    square: Floats,
    peak: Floats,
    records: float,
    *,
    population: bool,
) -> Floats:
    """Return the z for which `supposed` is an end of the skewed intervals: the lower if z > 0.

    Infinite where there is no error. Arguments as for `score_interval`.
    """
    level, linear, bend = _line(share, square, peak, population=population)
    error = np.sqrt(np.maximum(level + linear * supposed + bend * supposed**2, 0.0) / records)
    with np.errstate(divide="ignore", invalid="ignore"):
        # z solves z + (z^2 - 1) g = t.
        t, g = (share - supposed) / error, skew(level, peak) / (records * error)
        root = np.sqrt(np.maximum(1.0 + 4.0 * g * (t + g), 0.0))
        found = 2.0 * (t + g) / (1.0 + root)
    return np.where(error > 0, found, np.where(share >= supposed, np.inf, -np.inf))


def skew(level: Floats, peak: Floats) -> Floats:
    """Return a sixth of the third central moment of W for its variance, less the multinomial's.

    It is that of a report of two outcomes with the same mean squares.
    """
    return (peak - level - 1.0) / 6.0


def _line(
    share: Floats, square: Floats, peak: Floats, *, population: bool
) -> tuple[Floats, Floats, float]:
    """Return what the variance is made of: (level + linear w + bend w^2) / N."""
    level = rest_of(share, square, peak)
    return (level, peak - level, -1.0) if population else (level, peak - level - 1.0, 0.0)
