"""A centred Gaussian kernel over n records, decomposed: exactly, or spanned by landmarks (Nystrom).

With landmarks z the kernel K is taken for K_nz K_zz^(-1) K_zn (Williams and Seeger 2001), that is
for inner products of the features K_nz K_zz^(-1/2). If the landmarks are all distinct records, this
is the kernel itself. Memory is about 8 bytes
for each record and landmark.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pramana_core.mixed.design import basis_of, with_constant
from pramana_core.mixed.table import Floats

ROWS = 4096
"""So many records' kernel values are held at a time."""


class Permuting(Protocol):
    """The part of numpy's `Generator` that draws landmarks."""

    def permutation(self, x: int) -> npt.NDArray[Any]:
        """Return the integers below `x` in uniformly random order."""
        ...


@dataclass(frozen=True, eq=False)
class Span:
    """The functions of which a fit is made: features of points, by landmarks and bandwidth.

    Attributes:
        landmarks: m points, m x k.
        bandwidth: the kernel's.
        root: K_zz^(-1/2) up to a rotation, m x r; directions lost in rounding are left out.
    """

    landmarks: Floats
    bandwidth: float
    root: Floats

    def features(self, points: Floats) -> Floats:
        """Return the features of points: n x r."""
        return self.weighted(points, self.root)

    def weighted(self, points: Floats, weights: Floats) -> Floats:
        """Return sums of the landmarks' kernel functions at points: n x q, of weights m x q."""
        found = np.empty((len(points), weights.shape[1]))
        for rows in chunks(len(points)):
            found[rows] = gaussian(points[rows], self.landmarks, self.bandwidth) @ weights
        return found


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The kernel over n records less what is free of the penalty, in its eigenvectors.

    Attributes:
        span: how points become features.
        free: an orthonormal basis of what no penalty shrinks: the constant, or the constant and
            the columns of the points; n x f.
        vectors: the eigenvectors, n x s, with the largest values first.
        values: their eigenvalues, s.
        turn: the features' combinations that the eigenvectors are, r x s.
        lost: the share of the kernel's trace that the landmarks do not span.
    """

    span: Span
    free: Floats
    vectors: Floats
    values: Floats
    turn: Floats
    lost: float


def gaussian(points: Floats, others: Floats, bandwidth: float) -> Floats:
    """Return exp(-|x - z|^2 / (2 bandwidth^2)) of all pairs: n x m."""
    squares = -2.0 * (points @ others.T)
    squares += np.einsum("ij,ij->i", points, points)[:, None]
    squares += np.einsum("ij,ij->i", others, others)[None, :]
    np.maximum(squares, 0.0, out=squares)
    squares *= -0.5 / bandwidth**2
    found: Floats = np.exp(squares, out=squares)
    return found


def choose_landmarks(points: Floats, most: int, rng: Permuting | None) -> Floats:
    """Return at most so many distinct points: all of them if they are few enough.

    Otherwise they are drawn by `rng`, or spread evenly over the points in lexical order.
    """
    distinct = np.unique(points, axis=0)
    if len(distinct) <= most:
        return distinct
    if rng is None:
        chosen = np.linspace(0, len(distinct) - 1, most).round().astype(np.intp)
    else:
        chosen = np.sort(rng.permutation(len(distinct))[:most])
    return distinct[chosen]


def spanned(landmarks: Floats, bandwidth: float) -> Span:
    """Return what landmarks span at a bandwidth."""
    values, vectors = np.linalg.eigh(gaussian(landmarks, landmarks, bandwidth))
    kept = values > len(values) * np.finfo(float).eps * values[-1]
    return Span(landmarks, bandwidth, vectors[:, kept] / np.sqrt(values[kept]))


def decomposed(points: Floats, span: Span, *, linear: bool) -> Spectrum:
    """Return the kernel over points, less its free part, in eigenvectors.

    Args:
        points: n x k.
        span: landmarks and bandwidth.
        linear: whether the points' columns are free of the penalty beside the constant.
    """
    n = len(points)
    free = basis_of(with_constant(points)) if linear else np.full((n, 1), 1 / np.sqrt(n))
    features = span.features(points)
    lost = max(0.0, 1.0 - float(np.einsum("ij,ij->", features, features)) / n)
    inside = free.T @ features
    gram = np.zeros((features.shape[1],) * 2)
    for rows in chunks(n):
        features[rows] -= free[rows] @ inside
        gram += features[rows].T @ features[rows]
    values, turn = np.linalg.eigh(gram)
    values, turn = values[::-1], turn[:, ::-1]
    kept = values > n * len(values) * np.finfo(float).eps
    values, turn = values[kept], turn[:, kept]
    vectors = features[:, : len(values)]  # in their place, for memory
    for rows in chunks(n):
        vectors[rows] = features[rows] @ (turn / np.sqrt(values))
    return Spectrum(span, free, vectors, values, turn, lost)


def chunks(n: int) -> Iterator[slice]:
    """Yield slices of rows that together are all."""
    for start in range(0, n, ROWS):
        yield slice(start, min(n, start + ROWS))
