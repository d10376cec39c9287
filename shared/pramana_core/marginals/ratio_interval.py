"""Fieller's intervals of cells' shares of a margin, their variance at the supposed share."""

from __future__ import annotations

import numpy as np

from pramana_core.marginals.counts import Tensor


def ratio_interval(
    cell: Tensor, margin: Tensor, moments: tuple[Tensor, Tensor, Tensor], z: float
) -> tuple[Tensor, Tensor]:
    """Return the interval of all w for which cell - w * margin is within z standard errors of 0.

    That is Fieller's interval, the exact counterpart of Hinkley's ratio of normals (Ma 5.4.1),
    with the sampling part of the variance taken at the supposed w: margin * w (1 - w). Without
    randomization it is Wilson's interval. Where the margin itself is not sure to be positive the
    interval is everything, 0 to 1.

    Args:
        cell: the estimated counts.
        margin: those of the margins, of a shape that broadcasts with the cells'.
        moments: see `MarginalTable.second_moments`.
        z: the normal quantile.

    Returns:
        The lower and the upper ends, not cut to [0, 1].
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
