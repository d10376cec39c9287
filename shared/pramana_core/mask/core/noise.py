"""Noise: with a covariance in expectation, or with exactly the wanted one (EGADP's).

Also here:

* Where the noise comes from: a generator that is passed in.
* The normal copula behind scores: correlations of the normal variables that X is a function of.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy import optimize, special, stats

from pramana_core.errors import OptionError
from pramana_core.mask.core.inputs import Inputs
from pramana_core.mixed import Floats, residual, standardized

# Where the noise comes from: a generator that is passed in.
#
# Experiments pass numpy's `Generator`; an owner passes a keyed one, so that the same table is never
# masked twice in different ways (`owner_agent.release.masked`).


class Randomness(Protocol):
    """The part of numpy's `Generator` that masking uses."""

    def standard_normal(self, size: Any = None) -> npt.NDArray[Any]:
        """Return independent standard normal numbers of a shape."""
        ...

    def random(self, size: Any = None) -> npt.NDArray[Any]:
        """Return independent uniform numbers in [0, 1) of a shape."""
        ...

    def permutation(self, x: int) -> npt.NDArray[Any]:
        """Return the integers below `x` in uniformly random order."""
        ...


def require_randomness(rng: Any) -> None:
    """Check that something can serve as the randomness.

    Raises:
        OptionError: it is a seed, None or anything else.
    """
    if not hasattr(rng, "standard_normal") or not hasattr(rng, "permutation"):
        raise OptionError(
            f"rng must be a random generator such as numpy's, not {type(rng).__name__}.",
            where="rng",
        )


def normal_noise(rng: Randomness, records: int, root: Floats) -> Floats:
    """Return independent normal records whose expected covariance is root'root: n x q.

    Args:
        rng: the randomness.
        records: n.
        root: a square root of the covariance, m x q, such as `symmetric_root` gives.
    """
    found: Floats = rng.standard_normal((records, len(root))) @ root
    return found


def exact_noise(rng: Randomness, basis: Floats, like: Floats) -> Floats:
    """Return noise e that is orthogonal to a basis and has the same cross products as `like`.

    e = b Sb^(-1/2) Sr^(1/2), where b are the residuals of random V regressed on the basis
    (AlAhmadi, list of symbols; Muralidhar and Sarathy 2005).

    Args:
        rng: the randomness.
        basis: orthonormal columns, the constant among those they tell: n x k.
        like: what the cross products are copied from, m x q: residuals r (then e'e = r'r) or any
            square root of the wanted e'e. n is at least k + q.

    Returns:
        n x q.
    """
    return made_exact(rng.standard_normal((len(basis), like.shape[1])), basis, like)


def made_exact(drawn: Floats, basis: Floats, like: Floats) -> Floats:
    """Return noise that was drawn, changed into what `exact_noise` promises.

    Args:
        drawn: n x q; where it nearly has the cross products of `like`, it is changed little.
        basis: orthonormal columns, n x k.
        like: what the cross products are copied from, m x q.

    Returns:
        n x q.
    """
    # Columns of very different scales share one root: each is taken in units of its own length.
    scale = _lengths(like)
    white = residual(drawn / _lengths(drawn), basis)
    # Whitened twice: the second time mends the rounding of the first.
    white = _orthonormal(residual(_orthonormal(white / _lengths(white)), basis))
    found: Floats = (white @ symmetric_root(like / scale)) * scale
    return found


def symmetric_root(like: Floats) -> Floats:
    """Return the symmetric square root of like'like, q x q.

    By singular values of `like` itself: those of like'like would lose half of the digits, and
    columns that are multiples of one another would come out different.
    """
    _, values, vectors = np.linalg.svd(np.linalg.qr(like, mode="r"), full_matrices=False)
    found: Floats = (vectors.T * values) @ vectors
    return found


def _lengths(values: Floats) -> Floats:
    """Return the lengths of columns, 1 of those that are 0; squares stay in the range of floats."""
    largest = np.max(np.abs(values), axis=0, initial=0.0)
    largest = np.where(largest > 0, largest, 1.0)
    lengths = np.linalg.norm(values / largest, axis=0)
    found: Floats = largest * np.where(lengths > 0, lengths, 1.0)
    return found


def _orthonormal(values: Floats) -> Floats:
    """Return values (values'values)^(-1/2), n x q: the polar factor, by singular values."""
    q, r = np.linalg.qr(values)
    left, _, right = np.linalg.svd(r)
    found: Floats = q @ (left @ right)
    return found


# The normal copula behind scores: correlations of the normal variables that X is a function of.
#
# Without ties these are the scores' own. Equal values of X share one score, which weakens its
# correlations: a column that is 0 in nine records of ten is a step of a normal variable, and it is
# that variable whose correlations must be used, or masked values lose a good part of them.

TERMS = 80
"""Terms of the Hermite series of a step function; the 80th power of .9 is 2e-4."""

ROUNDING = 1e-12
"""Smaller shares of the largest variance that is left are nothing."""

STRONGEST = 0.9999
"""No two latent variables are taken to be closer than this."""


def copula_correlations(scored: Inputs, *, by_ranks: bool = False) -> Floats:
    """Return the correlations of S and of the normal variables behind X, (p + q) x (p + q).

    S-S: of the columns as they are. S-X: divided by the correlation of X's scores with the normal
    variable that they are a step function of, which is exact where S is normal. X-X: where both
    have ties, the rho with sum_k a_k b_k rho^k = their covariance, a and b the Hermite
    coefficients of their steps (Mehler's formula).

    Args:
        scored: S and X by their scores.
        by_ranks: take 2 sin(pi r / 6) of the rank correlation r (Pearson 1907) wherever two columns
            have no ties and are no indicators.
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
    """Return what S tells of the normal variables behind X, and a root of what is left.

    Args:
        scored: S and X by their scores.
        correlations: those of `copula_correlations`.
        smallest: eigenvalues of S's correlations below it count as 0.

    Returns:
        The prediction, n x q, and a q x q root of the covariance of the rest.
    """
    p = scored.told.shape[1]
    between = correlations[:p, p:]
    coefficients = np.linalg.pinv(correlations[:p, :p], rcond=smallest, hermitian=True) @ between
    values, vectors = np.linalg.eigh(correlations[p:, p:] - between.T @ coefficients)
    # A rounding error of nothing left would have a root of half the digits.
    left = np.where(values > ROUNDING * values[-1], values, 0.0)
    root: Floats = (vectors * np.sqrt(left)) @ vectors.T
    return scored.told @ coefficients, root


def _hermite(column: Floats) -> Floats:
    """Return the coefficients of a standardized column as a step function of a normal variable.

    On the interval from z to z' of a step the k-th normalized Hermite polynomial integrates to
    (phi h_(k-1))(z) - (phi h_(k-1))(z') over sqrt(k).
    """
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
    """Return the rho at which sum_k terms_k rho^k is a covariance, or the closest that may be."""
    powers = np.concatenate([[0.0], terms])

    def gap(rho: float) -> float:
        return float(np.polynomial.polynomial.polyval(rho, powers)) - covariance

    if gap(-STRONGEST) >= 0:
        return -STRONGEST
    if gap(STRONGEST) <= 0:
        return STRONGEST
    return float(optimize.brentq(gap, -STRONGEST, STRONGEST, xtol=1e-12))


def _possible(correlations: Floats) -> Floats:
    """Return correlations that fit together: those found pair by pair need not."""
    values, vectors = np.linalg.eigh(correlations)
    if values[0] < 0:
        correlations = (vectors * np.maximum(values, 0.0)) @ vectors.T
    lengths = np.sqrt(np.diag(correlations))
    found: npt.NDArray[np.float64] = correlations / np.outer(lengths, lengths)
    return found
