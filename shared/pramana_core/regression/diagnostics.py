"""Standard diagnostics of a regression: what its residuals show, and tests of its coefficients.

They are of masked records. Where the method draws its noise from a normal distribution of one
variance, residuals of a masked target look normal and even whatever the true ones are.

Also here:

* What one copy gives: weights of a basis with their covariance, and what is left of the target.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg, stats

from pramana_core.errors import EstimationError
from pramana_core.mixed.table import Floats, MixedTable
from pramana_core.regression.model import Diagnostics, Score, Test

# What one copy gives: weights of a basis with their covariance, and what is left of the target.
#
# Every model here is linear in a basis: terms, kernels at points, or the leaves of a tree.

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


_NOTHING = 1e-24
"""A share of the target's variance that is rounding: residuals so small have no shape."""


def diagnose(fit: Fit, targets: Floats, matrix: Floats | None) -> Diagnostics:
    """Return the diagnostics of a model of one copy.

    Args:
        fit: the model.
        targets: n numbers.
        matrix: the terms of least squares, the constant first, n x (1 + k); None for other models.
    """
    centred = targets - targets.mean()
    total, rest = float(centred @ centred), float(fit.residuals @ fit.residuals)
    exact = rest <= _NOTHING * total
    r2 = 1 - rest / total
    adjusted = 1 - (1 - r2) * (fit.records - 1) / fit.rest
    shown = None if exact or matrix is None else matrix[:, 1:]
    distances = None if matrix is None or exact else cook_distances(fit)
    return Diagnostics(
        r2=r2,
        adjusted_r2=adjusted,
        residual_sd=float(np.sqrt(fit.variance)),
        aic=None if exact else aic(fit),
        normality=None if exact else jarque_bera(fit.residuals),
        even=None if shown is None else breusch_pagan(fit.residuals, shown),
        largest_leverage=None if fit.leverages is None else float(fit.leverages.max()),
        largest_distance=None if distances is None else float(distances.max()),
        influential=None if distances is None else int((distances > 4 / fit.records).sum()),
        condition=fit.condition,
    )


def aic(fit: Fit) -> float:
    """Return Akaike's criterion with normal errors; their variance counts as a parameter."""
    mean_square = float(fit.residuals @ fit.residuals) / fit.records
    likelihood = fit.records * (np.log(2 * np.pi * mean_square) + 1)
    return float(likelihood + 2 * (fit.freedom + 1))


def jarque_bera(residuals: Floats) -> Test:
    """Test whether residuals are normal, by their skewness and kurtosis (Jarque and Bera 1987)."""
    found = stats.jarque_bera(residuals)
    return Test(float(found.statistic), (2.0,), float(found.pvalue))


def breusch_pagan(residuals: Floats, terms: Floats) -> Test | None:
    """Test whether the residuals' variance depends on the terms.

    n R^2 of the regression of squared residuals on the k terms is chi-square with k (Breusch and
    Pagan 1979, studentized by Koenker 1981).

    Args:
        residuals: n numbers.
        terms: n x k, independent of each other and of the constant; k at least 1.

    Returns:
        the test; None where all squares are the same.
    """
    squares = np.square(residuals)
    centred = squares - squares.mean()
    if not centred.any():
        return None
    basis, _ = np.linalg.qr(terms - terms.mean(axis=0))
    share = float(np.square(basis.T @ centred).sum() / (centred @ centred))
    statistic, freedom = len(residuals) * share, terms.shape[1]
    return Test(statistic, (float(freedom),), float(stats.chi2.sf(statistic, freedom)))


def cook_distances(fit: Fit) -> Floats:
    """Return how far each record moves all fitted values (Cook 1977): n numbers.

    A record that decides its own fitted value alone has no distance, and gets 0.
    """
    leverages = np.zeros(fit.records) if fit.leverages is None else fit.leverages
    free = leverages < 1 - 1e-9
    outer = np.where(free, leverages / np.square(np.where(free, 1 - leverages, 1.0)), 0.0)
    found: Floats = np.square(fit.residuals) * outer / (fit.freedom * fit.variance)
    return found


def overall_test(fits: Sequence[Fit]) -> Test | None:
    """Test that all coefficients but the constant's are 0.

    With one copy it is the F test of least squares. With m of them it is that of Reiter (2005,
    "Significance tests for multi-component estimands from multiply imputed, synthetic microdata",
    section 2.2 for partially synthetic data): r is the share that copies add to the variance.

    Returns:
        the test; None without a term, or where nothing is left of the target.
    """
    copies, terms = len(fits), len(fits[0].weights) - 1
    rest = fits[0].rest
    within = np.mean([fit.covariance[1:, 1:] for fit in fits], axis=0)
    if not terms or not np.trace(within) > 0:
        return None
    weights = np.stack([fit.weights[1:] for fit in fits])
    mean = weights.mean(axis=0)
    statistic = float(mean @ np.linalg.solve(within, mean)) / terms
    freedom = rest
    if copies > 1:
        around = weights - mean
        between = around.T @ around / (copies - 1)
        added = float(np.trace(np.linalg.solve(within, between))) / (copies * terms)
        statistic /= 1 + added
        freedom = min(rest, _freedom(terms, copies, added))
    return Test(statistic, (float(terms), freedom), float(stats.f.sf(statistic, terms, freedom)))


def _freedom(terms: int, copies: int, added: float) -> float:
    """Return the degrees of freedom in the denominator of the test of m copies."""
    if added < 1e-9:
        return float("inf")
    t = terms * (copies - 1)
    if t > 4:
        return float(4 + (t - 4) * (1 + (1 - 2 / t) / added) ** 2)
    return float((terms + 1) * (copies - 1) * (1 + 1 / added) ** 2 / 2)


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
