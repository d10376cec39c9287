"""What one copy gives: weights of a basis with their covariance, and what is left of the target.

Every model here is linear in a basis: terms, kernels at points, or the leaves of a tree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from pramana_core.errors import EstimationError
from pramana_core.mixed.table import Floats, MixedTable

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
        leverages: n numbers, how much each record's target weighs in its own fitted value; None
            where that is not known.
        freedom: the effective number of parameters, the constant among them.
        condition: of the standardized terms; None for other models than least squares.
    """

    weights: Floats
    covariance: Floats
    robust: Floats | None
    fitted: Floats
    residuals: Floats
    leverages: Floats | None
    freedom: float
    condition: float | None = None

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
    told = q.T @ targets
    fitted = q @ told
    residuals = targets - fitted
    # Once more, against rounding where the target is far from 0.
    again = q.T @ residuals
    fitted, residuals = fitted + q @ again, residuals - q @ again
    leverages: Floats = np.einsum("ij,ij->i", q, q).astype(np.float64)
    variance = float(residuals @ residuals) / (records - columns)
    return Fit(
        weights=inverse @ (told + again),
        covariance=variance * inverse @ inverse.T,
        robust=_robust(q, inverse, residuals, leverages),
        fitted=fitted,
        residuals=residuals,
        leverages=leverages,
        freedom=columns,
        condition=_condition(matrix),
    )


def inflations(matrix: Floats) -> list[float]:
    """Return the variance inflation factor of each column but the constant, the first.

    By how much the others enlarge the variance of its coefficient: 1 if they tell nothing of it.
    """
    standard = _standard(matrix[:, 1:])
    if not standard.shape[1]:
        return []
    r = linalg.qr(standard, mode="r")[0][: standard.shape[1]]
    inverse = linalg.solve_triangular(r, np.eye(len(r)))
    return [float(v) for v in np.einsum("ij,ij->i", inverse, inverse)]


def out_of_fold(
    refit: Callable[[Floats, Floats], Callable[[Floats], Floats]],
    matrix: Floats,
    targets: Floats,
    folds: Sequence[Floats],
) -> Floats:
    """Return each record's prediction by a model that was not fitted to it: n numbers."""
    found = np.empty(len(targets))
    for fold in folds:
        inside = np.ones(len(targets), dtype=bool)
        inside[fold] = False
        found[fold] = refit(matrix[inside], targets[inside])(matrix[fold])
    return found


def _robust(q: Floats, inverse: Floats, residuals: Floats, leverages: Floats) -> Floats:
    """Return the covariance of MacKinnon and White (1985), HC3."""
    # A record that decides its own fitted value has no residual, and adds nothing.
    free = leverages < 1 - 1e-9
    scaled = np.where(free, residuals, 0.0) / np.where(free, 1 - leverages, 1.0)
    half = inverse @ (q * scaled[:, None]).T
    found: Floats = half @ half.T
    return found


def _condition(matrix: Floats) -> float:
    """Return the ratio of the largest to the smallest singular value of the standardized terms."""
    standard = _standard(matrix[:, 1:])
    if not standard.shape[1]:
        return 1.0
    values = linalg.svdvals(linalg.qr(standard, mode="r")[0][: standard.shape[1]])
    return float(values[0] / values[-1])


def _standard(columns: Floats) -> Floats:
    """Return centred columns of length 1."""
    centred = columns - columns.mean(axis=0)
    found: Floats = centred / np.linalg.norm(centred, axis=0)
    return found
