"""Canonical correlations of X with Y given S. Their test is the most sensitive to what Y tells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from pramana_core.mixed import Floats, basis_of, residual, with_constant


@dataclass(frozen=True)
class Canonical:
    """Canonical correlations and the test that all of them are zero.

    Attributes:
        correlations: from the largest down, 0 to 1; empty if X or Y has nothing left given S, or if
            there are so few records that some correlation would be 1 whatever Y is.
        statistic: Bartlett's of Wilks' lambda, chi-square if X and Y are independent given S.
        freedom: its degrees of freedom.
        p: the probability of a statistic at least as large by chance.
        error: the standard error of the largest correlation.
        chance: the largest correlation that chance reaches once in twenty.
        records: how many records it was computed on.
    """

    correlations: tuple[float, ...]
    statistic: float
    freedom: int
    p: float
    error: float
    chance: float
    records: int

    @property
    def largest(self) -> float:
        """The largest correlation; 0 if there is none."""
        return self.correlations[0] if self.correlations else 0.0


def canonical(true: Floats, masked: Floats, given: Floats) -> Canonical:
    """Return the canonical correlations of X and Y given some columns.

    Args:
        true: X, n x q.
        masked: Y, n x k.
        given: what both are regressed on first, besides the constant, n x p; p may be 0.
    """
    basis = basis_of(with_constant(given))
    left, right = _residual_basis(true, basis), _residual_basis(masked, basis)
    records = len(true)
    freedom = left.shape[1] * right.shape[1]
    weight = records - basis.shape[1] - (left.shape[1] + right.shape[1] + 1) / 2
    if not freedom or records - basis.shape[1] <= left.shape[1] + right.shape[1]:
        return Canonical((), 0.0, 0, 1.0, 0.0, 0.0, records)
    found = np.clip(np.linalg.svd(left.T @ right, compute_uv=False), 0.0, 1.0)
    unexplained = 1 - found**2
    unexplained[unexplained < 1e-12] = 0.0
    with np.errstate(divide="ignore"):
        statistic = float(-weight * np.log(unexplained).sum()) + 0.0
    bound = float(stats.chi2.isf(0.05, freedom))
    return Canonical(
        tuple(float(value) for value in found),
        statistic,
        freedom,
        float(stats.chi2.sf(statistic, freedom)),
        float(unexplained[0] / np.sqrt(records - basis.shape[1])),
        float(np.sqrt(-np.expm1(-bound / weight))),
        records,
    )


def _residual_basis(values: Floats, basis: Floats) -> Floats:
    """Return an orthonormal basis of what a basis leaves of columns that vary."""
    size = np.linalg.norm(values - values.mean(axis=0), axis=0)
    rest = residual(values, basis)
    kept = np.linalg.norm(rest, axis=0) > 1e-7 * np.where(size > 0, size, np.inf)
    return basis_of(rest[:, kept])
