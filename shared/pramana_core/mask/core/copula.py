"""Ranks, normal scores, and the normal copula behind them.

A column with ties is regarded as a step function of a latent normal variable. The copula has the
correlations of these latent variables.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import optimize, special, stats

from pramana_core.mask.core.inputs import Inputs
from pramana_core.mixed import Floats, standardized


def reordered(values: Floats, like: Floats) -> Floats:
    """Return `values`, n x q, with each column in the rank order of the column in `like`.

    Each column keeps its numbers, so its distribution does not change.
    """
    found = np.empty_like(values)
    for place in range(values.shape[1]):
        found[np.argsort(like[:, place], kind="stable"), place] = np.sort(values[:, place])
    return found


def normal_scores(values: Floats) -> Floats:
    """Return the normal scores of columns, n x k; tied values get the score of their mean rank."""
    found = np.empty(values.shape)
    for place in range(values.shape[1]):
        found[:, place] = special.ndtri(stats.rankdata(values[:, place]) / (len(values) + 1))
    return found


def from_normal_scores(scores: Floats, values: Floats) -> Floats:
    """Return the numbers, n x k, with the normal scores `scores`, by interpolation of `values`."""
    n = len(values)
    places = special.ndtr(scores) * (n + 1)
    steps = np.arange(1, n + 1)
    columns = (np.interp(p, steps, np.sort(v)) for p, v in zip(places.T, values.T, strict=True))
    return np.column_stack(list(columns))


TERMS = 80
"""The number of terms in the Hermite series of a step function; 0.9^80 is 2e-4."""

ROUNDING = 1e-12
"""A remaining variance below this share of the largest is rounding error."""

STRONGEST = 0.9999
"""The largest correlation allowed between two latent variables."""


def copula_correlations(scored: Inputs, *, by_ranks: bool = False) -> Floats:
    """Return the correlations of S and of the normal variables behind X, (p + q) x (p + q).

    Correlations of S with X are divided by the correlation of X's scores with their normal
    variable. With ties, correlations within X solve sum_k a_k b_k rho^k = covariance, where a and b
    are the Hermite coefficients of their steps (Mehler). With `by_ranks`, correlations of columns
    without ties are 2 sin(pi r / 6), where r are rank correlations (Pearson 1907).
    """
    p = scored.told.shape[1]
    columns = np.column_stack([scored.told, scored.standard])
    found = columns.T @ columns / len(columns)
    tied = np.array([len(np.unique(column)) < len(column) for column in columns.T])
    if by_ranks and np.any(~tied):
        ranks = standardized(np.apply_along_axis(stats.rankdata, 0, columns[:, ~tied]))[0]
        found[np.ix_(~tied, ~tied)] = 2 * np.sin(np.pi / 6 * (ranks.T @ ranks) / len(ranks))
    steps = {p + j: _hermite(columns[:, p + j]) for j in range(scored.columns) if tied[p + j]}
    for j, coefficients in steps.items():
        others = np.array([k not in steps for k in range(len(found))])
        found[j, others] = np.clip(found[j, others] / coefficients[0], -STRONGEST, STRONGEST)
        found[others, j] = found[j, others]
        for k in steps:
            if k < j:
                found[j, k] = found[k, j] = _correlation(found[j, k], coefficients * steps[k])
    return _possible(found)


def conditional(
    scored: Inputs, correlations: Floats, smallest: float = 1e-8
) -> tuple[Floats, Floats]:
    """Return the prediction of X's latent normal variables from S, and a root of its covariance.

    The prediction is n x q, and the root of the residual covariance q x q. Eigenvalues of S's
    correlations below `smallest` count as 0.
    """
    p = scored.told.shape[1]
    between = correlations[:p, p:]
    coefficients = np.linalg.pinv(correlations[:p, :p], rcond=smallest, hermitian=True) @ between
    values, vectors = np.linalg.eigh(correlations[p:, p:] - between.T @ coefficients)
    # The root of a rounding error would be far larger than the error.
    left = np.where(values > ROUNDING * values[-1], values, 0.0)
    root: Floats = (vectors * np.sqrt(left)) @ vectors.T
    return scored.told @ coefficients, root


def _hermite(column: Floats) -> Floats:
    """Return the Hermite coefficients of a column as a step function of a normal variable."""
    levels, counts = np.unique(column, return_counts=True)
    ends = special.ndtri(np.cumsum(counts)[:-1] / len(column))
    density = np.exp(-(ends**2) / 2) / np.sqrt(2 * np.pi)
    found = np.empty(TERMS)
    before, now = np.zeros_like(ends), np.ones_like(ends)
    for k in range(1, TERMS + 1):
        found[k - 1] = np.sum(np.diff(levels) * density * now) / np.sqrt(k)
        before, now = now, (ends * now - np.sqrt(k - 1) * before) / np.sqrt(k)
    return found


def _correlation(covariance: float, terms: Floats) -> float:
    """Return the rho that solves sum_k terms_k rho^k = covariance, or the closest possible rho."""
    powers = np.concatenate([[0.0], terms])

    def gap(rho: float) -> float:
        return float(np.polynomial.polynomial.polyval(rho, powers)) - covariance

    if gap(-STRONGEST) >= 0:
        return -STRONGEST
    if gap(STRONGEST) <= 0:
        return STRONGEST
    return float(optimize.brentq(gap, -STRONGEST, STRONGEST, xtol=1e-12))


def _possible(correlations: Floats) -> Floats:
    values, vectors = np.linalg.eigh(correlations)
    if values[0] < 0:
        correlations = (vectors * np.maximum(values, 0.0)) @ vectors.T
    lengths = np.sqrt(np.diag(correlations))
    found: npt.NDArray[np.float64] = correlations / np.outer(lengths, lengths)
    return found
