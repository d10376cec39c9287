"""Least squares, with the weights, their covariance, and diagnostics of a fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from pramana_core.errors import EstimationError
from pramana_core.mixed import Floats
from pramana_core.regression.model import Diagnostics, Score


@dataclass(frozen=True, eq=False)
class Fit:
    """A least-squares fit: k `weights`, one for each column, and the residuals of n targets.

    `covariance`, k x k, assumes errors of equal variance; `robust` allows unequal variances (HC3).
    """

    weights: Floats
    covariance: Floats
    robust: Floats
    residuals: Floats


def least_squares(matrix: Floats, targets: Floats) -> Fit:
    """Fit n targets by least squares on a full-rank n x k matrix whose first column is constant.

    The fit uses QR. Raises EstimationError: there are not more records than columns.
    """
    records, columns = matrix.shape
    if records <= columns:
        raise EstimationError(
            f"{records} records are too few for {columns} coefficients (with the intercept).",
            where="features",
            remedy="Choose fewer features or a lower degree.",
        )
    q, r = np.linalg.qr(matrix)
    inverse = linalg.solve_triangular(r, np.eye(columns))
    projections = q.T @ targets
    residuals = targets - q @ projections
    # A second step removes the rounding errors of a target far from 0.
    again = q.T @ residuals
    residuals = residuals - q @ again
    variance = float(residuals @ residuals) / (records - columns)
    return Fit(
        weights=inverse @ (projections + again),
        covariance=variance * inverse @ inverse.T,
        robust=_robust(q, inverse, residuals),
        residuals=residuals,
    )


def _robust(q: Floats, inverse: Floats, residuals: Floats) -> Floats:
    leverages = np.einsum("ij,ij->i", q, q)
    # A record that determines its own fitted value has no residual and adds nothing.
    free = leverages < 1 - 1e-9
    scaled = np.where(free, residuals, 0.0) / np.where(free, 1 - leverages, 1.0)
    half = inverse @ (q * scaled[:, None]).T
    covariance: Floats = half @ half.T
    return covariance


def diagnose(fit: Fit, targets: Floats) -> Diagnostics:
    """Return R^2 and the standard deviation of residuals of a fit to n targets."""
    centred = targets - targets.mean()
    rest = float(fit.residuals @ fit.residuals)
    freedom = len(targets) - len(fit.weights)
    return Diagnostics(1 - rest / float(centred @ centred), float(np.sqrt(rest / freedom)))


def scored(predictions: Floats, targets: Floats, folds: int) -> Score:
    """Return the R^2 of n predictions for left-out records, with its error by the delta method."""
    wrong = np.square(targets - predictions)
    spread = np.square(targets - targets.mean())
    lost = float(wrong.mean() / spread.mean())
    influence = (wrong - lost * spread) / spread.mean()
    se = float(influence.std(ddof=1) / np.sqrt(len(influence)))
    return Score(folds, 1 - lost, se, float(np.sqrt(wrong.mean())))
