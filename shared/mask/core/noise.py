"""Noise whose sample covariance and orthogonality are exact (Muralidhar and Sarathy's EGADP)."""

from __future__ import annotations

import numpy as np

from shared.mask.core.randomness import Randomness
from shared.mixed.design import residual
from shared.mixed.table import Floats


def exact_noise(rng: Randomness, basis: Floats, like: Floats) -> Floats:
    """Return noise e that is orthogonal to a basis and has the same cross products as `like`.

    e = b Sb^(-1/2) Sr^(1/2), where b are the residuals of random V regressed on the basis
    (AlAhmadi, list of symbols).

    Args:
        rng: the randomness.
        basis: orthonormal columns, the constant among those they tell: n x k.
        like: residuals r whose cross products r'r are copied, n x q; n is at least k + q.

    Returns:
        n x q.
    """
    scale = np.sqrt(np.mean(like**2, axis=0))
    scale[scale == 0] = 1.0
    drawn = residual(rng.standard_normal(like.shape), basis)
    # Whitened twice: the second time mends the rounding of the first.
    white = drawn @ _power(drawn.T @ drawn, -0.5)
    white = residual(white, basis)
    white = white @ _power(white.T @ white, -0.5)
    standard = like / scale
    found: Floats = (white @ _power(standard.T @ standard, 0.5)) * scale
    return found


def _power(matrix: Floats, exponent: float) -> Floats:
    """Return a power of a symmetric matrix without negative eigenvalues; of 0 it is 0."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    positive = values > len(values) * np.finfo(float).eps * max(values[-1], 0.0)
    powers = np.zeros_like(values)
    powers[positive] = values[positive] ** exponent
    found: Floats = (vectors * powers) @ vectors.T
    return found
