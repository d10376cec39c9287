"""What one copy gives: weights of a basis with their covariance, and what is left of the target.

Every model here is linear in a basis: terms, kernels at points, or the leaves of a tree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from pramana_core.errors import EstimationError
from pramana_core.mixed import Floats, MixedTable
from pramana_core.regression.model import Diagnostics, Score

Basis = Callable[[MixedTable], Floats]
"""What makes of n records an n x k matrix that the model is linear in."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A model fitted to one copy.

    Attributes:
        weights: of the k columns of the basis.
        covariance: of the weights, k x k, if errors have one variance and are independent.
        robust: of the weights whatever the errors' variances (HC3), k x k; None for other models
            than least squares.
        fitted: n fitted targets.
        residuals: n targets less their fitted values.
        freedom: the effective number of parameters, the constant among them.
    """

    weights: Floats
    covariance: Floats
    robust: Floats | None
    fitted: Floats
    residuals: Floats
    freedom: float

    @property
    def records(self) -> int:
        """n."""
        return len(self.fitted)

    @property
    def rest(self) -> float:
        """The degrees of freedom that the residuals have."""
        return self.records - self.freedom

    @property
    def variance(self) -> float:
        """The residuals' variance."""
        return float(self.residuals @ self.residuals) / self.rest


def least_squares(matrix: Floats, targets: Floats) -> Fit:
    """Fit a target by the columns of a matrix of full rank, through QR.

    Args:
        matrix: n x k; the constant is its first column.
        targets: n numbers.

    Raises:
        EstimationError: there are not more records than columns.
    """
    records, columns = matrix.shape
    if records <= columns:
        raise EstimationError(
            f"{records} records are too few for {columns} coefficients, the intercept among them.",
            where="features",
            remedy="Name fewer features, or a lower degree.",
        )
    q, r = np.linalg.qr(matrix)
    inverse = linalg.solve_triangular(r, np.eye(columns))
    projections = q.T @ targets
    fitted = q @ projections
    residuals = targets - fitted
    # Once more, against rounding where the target is far from 0.
    again = q.T @ residuals
    fitted, residuals = fitted + q @ again, residuals - q @ again
    leverages: Floats = np.einsum("ij,ij->i", q, q).astype(np.float64)
    variance = float(residuals @ residuals) / (records - columns)
    return Fit(
        weights=inverse @ (projections + again),
        covariance=variance * inverse @ inverse.T,
        robust=_robust(q, inverse, residuals, leverages),
        fitted=fitted,
        residuals=residuals,
        freedom=columns,
    )


def _robust(q: Floats, inverse: Floats, residuals: Floats, leverages: Floats) -> Floats:
    """Return the covariance of MacKinnon and White (1985), HC3."""
    # A record that decides its own fitted value has no residual, and adds nothing.
    free = leverages < 1 - 1e-9
    scaled = np.where(free, residuals, 0.0) / np.where(free, 1 - leverages, 1.0)
    half = inverse @ (q * scaled[:, None]).T
    found: Floats = half @ half.T
    return found


_NOTHING = 1e-24
"""A share of the target's variance that is rounding: residuals so small have no shape."""


def diagnose(fit: Fit, targets: Floats) -> Diagnostics:
    """Return the diagnostics of a model of one copy, fitted to n targets."""
    centred = targets - targets.mean()
    total, rest = float(centred @ centred), float(fit.residuals @ fit.residuals)
    r2, aic = 1 - rest / total, None
    if rest > _NOTHING * total:
        likelihood = fit.records * (np.log(2 * np.pi * rest / fit.records) + 1)
        aic = float(likelihood + 2 * (fit.freedom + 1))
    adjusted = 1 - (1 - r2) * (fit.records - 1) / fit.rest
    return Diagnostics(r2, adjusted, float(np.sqrt(fit.variance)), aic)


def scored(predictions: Floats, targets: Floats, folds: int) -> Score:
    """Return how well left-out records were predicted, of all copies together.

    The error of R^2 is by the delta method over records: 1 - R^2 is a ratio of two means.

    Args:
        predictions: m x n.
        targets: m x n.
        folds: into how many parts records were divided.
    """
    wrong = np.square(targets - predictions).mean(axis=0)
    spread = np.square(targets - targets.mean(axis=1, keepdims=True)).mean(axis=0)
    lost = float(wrong.mean() / spread.mean())
    influence = (wrong - lost * spread) / spread.mean()
    se = float(influence.std(ddof=1) / np.sqrt(len(influence)))
    return Score(folds, 1 - lost, se, float(np.sqrt(wrong.mean())))
