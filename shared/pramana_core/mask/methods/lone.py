"""Protection of records that stand alone in S.

Their own values get lower weights, and their noise gets a minimum."""

from __future__ import annotations

import numpy as np

from pramana_core.kernel_regression.fitting import KernelFit
from pramana_core.mixed import Floats, leverages, residual

TAKEN = 0.7
"""The largest share of a record's noise variance that is lost because noise is orthogonal."""

LONE_ATTEMPTS = 30
"""The number of attempts to shorten the rows of lone records, before eigenvectors are dropped."""

LONE_MARGIN = 0.9
"""A factor below 1, by which rows are shortened a little more than needed."""

SMALLEST = 1e-10
"""Directions with a smaller sum of squares are left out."""

CLOSE = 0.5
"""A direction whose cosine with the fixed basis is larger is left out, because it differs from the
basis only in lone records."""

ALONE = 1e-6
"""If other records have less weight than this in a record's fit, they cannot predict the record."""


def with_vectors(base: Floats, vectors: Floats) -> Floats:
    """Return an orthonormal basis for the noise to be orthogonal to. Each record keeps some noise.

    The basis spans the base, n x b, and the vectors, n x m. The row of a lone record in the vectors
    is shortened until the record loses at most the share `TAKEN` of its noise variance.
    """
    fixed = leverages(base)
    shares = np.ones(len(base))
    for _ in range(LONE_ATTEMPTS):
        found = _beside(base, _directions(vectors * shares[:, None]))
        taken = leverages(found)
        over = (taken > TAKEN) & (fixed <= TAKEN)
        if not over.any():
            return found
        rest = np.maximum(1 - taken, 0.0)
        fewer = np.sqrt(LONE_MARGIN * rest * TAKEN / ((1 - TAKEN) * taken))
        shares = np.where(over, shares * fewer, shares)
    return with_vectors(base, vectors[:, : vectors.shape[1] // 2])


def _beside(base: Floats, directions: Floats) -> Floats:
    _, cosines, turn = np.linalg.svd(base.T @ directions)
    new = np.ones(directions.shape[1], dtype=np.bool_)
    new[: len(cosines)] = cosines <= CLOSE
    beyond = residual(directions @ turn[new].T, base)
    return np.column_stack([base, np.linalg.qr(beyond)[0]])


def _directions(columns: Floats) -> Floats:
    """Return nearly orthonormal columns with the same span, without rounding errors."""
    values, turn = np.linalg.eigh(columns.T @ columns)
    kept = values > SMALLEST
    found: Floats = columns @ (turn[:, kept] / np.sqrt(values[kept]))
    return found


def own_weights(fit: KernelFit, target: int, kept: Floats, free: Floats, shares: Floats) -> Floats:
    """Return the weights of records' own values in VKV'y, n numbers.

    V are the leading eigenvectors of the fit, K = diag(`kept`), and `free` is an orthonormal basis
    of the space that the ridge does not shrink, n x f. y mixes true values, in proportion `shares`,
    with left-out predictions of the ridge. A larger penalty would also lower the weights, but it
    would smooth away the relationship among all records because of a few lone ones.
    """
    vectors = fit.basis[:, : len(kept)]
    found: Floats = shares * np.einsum("ij,ij,j->i", vectors, vectors, kept)
    lone = np.flatnonzero(shares < 1)
    if len(lone):
        # A record also weighs in its own fit through the predictions of lone records near it.
        hat = free[lone] @ free.T + (fit.basis[lone] * fit.shrinkage[:, target]) @ fit.basis.T
        factor = (1 - shares[lone]) / np.maximum(1 - fit.own[lone, target], ALONE)
        through = ((vectors[lone] * kept) @ vectors.T) * hat * factor[:, None]
        through[np.arange(len(lone)), lone] = 0.0
        found += through.sum(axis=0)
    return found
