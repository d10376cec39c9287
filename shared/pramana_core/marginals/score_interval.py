"""Score intervals of shares, with the sampling variance at the hypothetical share (Wilson 1927).

An estimate s of a share w of N records has the noise variance (m - s) / N, where m is the mean
square of its estimator, and the sampling variance w (1 - w) / N. Such an interval is valid for rare
cells and few records.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from pramana_core.errors import OptionError

Floats = npt.NDArray[np.float64]

FEW = 4
"""With fewer records the error is computed from the interval, as their spread is uncertain."""


def score_interval(
    share: Floats, square: Floats, records: float, z: float, *, population: bool
) -> tuple[Floats, Floats]:
    """Return the ends of the intervals of w with (s - w)^2 <= z^2 variance(w), not cut to [0, 1].

    `share` has the estimates s, and `square` the mean squares m over the reports, in one shape.
    """
    noise, factor = np.maximum(square - share, 0.0), z**2 / records
    if not population:
        half = np.sqrt(factor * noise)
        return share - half, share + half
    middle = share + factor / 2
    root = np.sqrt(np.maximum(middle**2 - (1.0 + factor) * (share**2 - factor * noise), 0.0))
    return (middle - root) / (1.0 + factor), (middle + root) / (1.0 + factor)


def possible(low: Floats, high: Floats, estimate: Floats) -> tuple[Floats, Floats]:
    """Return the ends of intervals of shares, cut to [0, 1].

    An interval entirely outside [0, 1] moves to the edge; its side towards [0, 1] keeps its length.
    """
    least = np.where(low >= 1.0, np.maximum(1.0 - np.maximum(estimate - low, 0.0), 0.0), low)
    most = np.where(high <= 0.0, np.minimum(np.maximum(high - estimate, 0.0), 1.0), high)
    return np.clip(least, 0.0, 1.0), np.clip(most, 0.0, 1.0)


def deviates(
    supposed: float, share: Floats, square: Floats, records: float, *, population: bool
) -> Floats:
    """Return the z of the score interval that ends at `supposed`: its lower end if z > 0."""
    noise = np.maximum(square - share, 0.0)
    sampling = supposed * (1 - supposed) if population else 0.0
    error = np.sqrt((noise + sampling) / records)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (share - supposed) / error
    return np.where(error > 0, found, np.where(share >= supposed, np.inf, -np.inf))


def variance_of(ends: tuple[Floats, Floats], estimate: Floats, level: float) -> Floats:
    """Return the variance of a normal interval with the longer side of `ends` as its half-width."""
    longer = np.maximum(ends[1] - estimate, estimate - ends[0])
    return np.asarray(np.square(longer / normal_quantile(level)))


def normal_quantile(confidence: float) -> float:
    """Return the normal quantile of a two-sided confidence interval. Raises OptionError."""
    if not 0 < confidence < 1:
        raise OptionError(
            f"The level of an interval must be above 0 and below 1, not {confidence}.",
            where="level",
        )
    return float(ndtri(0.5 + confidence / 2))


def ratio_interval(
    cell: Floats, margin: Floats, moments: tuple[Floats, Floats, Floats], z: float
) -> tuple[Floats, Floats]:
    """Return Fieller's interval: all w with cell - w * margin within z standard errors of 0.

    It is the exact counterpart of Hinkley's ratio of normals (Ma 5.4.1), with the sampling variance
    margin * w (1 - w). The interval is not cut to [0, 1], but is [0, 1] if the margin is not
    certainly positive. Margins broadcast with the cells; for `moments` see
    `MarginalTable.second_moments`.
    """
    ww, wv, vv = moments
    z2 = z**2
    a = np.square(margin) - z2 * (vv - 2 * margin)
    b = -2 * cell * margin - z2 * (margin + 2 * cell - 2 * wv)
    c = np.square(cell) - z2 * (ww - cell)
    sure = np.broadcast_to((a > 0) & (margin > 0), cell.shape)
    divisor = np.where(sure, 2 * a, 1.0)
    root = np.sqrt(np.maximum(np.square(b) - 4 * a * c, 0.0))
    return (
        np.where(sure, (-b - root) / divisor, 0.0),
        np.where(sure, (-b + root) / divisor, 1.0),
    )
