"""Choosing the bandwidth and the penalty of a centred Gaussian kernel by leave-one-out errors.

Landmarks span the kernel (Nystrom; Williams and Seeger 2001). Memory is about 8 bytes for each
record and landmark. Up to `TOGETHER` records with equal features are left out together, so that a
fit cannot memorize them. A `smooth` fit does not shrink lines (see `smoothest`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pramana_core.kernel_regression.smoothest import PenaltyFits, smoothest
from pramana_core.mixed import Floats, basis_of, with_constant
from pramana_core.ties import FITTED_TIE, first_smallest

ROWS = 4096
"""The number of records whose kernel values are computed at a time."""

RECORDS, FEWER_LANDMARKS = 4000, 200
"""The maximum numbers of records and landmarks that are used to compare bandwidths."""

BANDWIDTHS = np.geomspace(0.1, 10.0, 9)
"""The candidate bandwidths in standard deviations, before multiplication by sqrt(features)."""

PENALTIES = np.geomspace(1e-9, 1.0, 28)

TOGETHER = 5
"""The maximum size of a group of records with equal features that are left out together."""

FREEDOM, SMOOTH = 0.2, 0.1
"""The maximum effective number of parameters per record, for any fit and for a `smooth` fit."""

FORBIDDEN = 1e6
"""The error assigned to a fit that may not be chosen."""


class Permuting(Protocol):
    """The part of numpy's `Generator` that the drawing of landmarks uses."""

    def permutation(self, x: int) -> npt.NDArray[Any]:
        """Return the integers below `x` in uniformly random order."""
        ...


@dataclass(frozen=True, eq=False)
class Span:
    """The kernel functions of m landmarks, m x k; `root`, m x r, is K_zz^(-1/2) up to rotation."""

    landmarks: Floats
    bandwidth: float
    root: Floats

    @classmethod
    def of(cls, landmarks: Floats, bandwidth: float) -> Span:
        """Return the span of some landmarks with a bandwidth."""
        values, vectors = np.linalg.eigh(gaussian(landmarks, landmarks, bandwidth))
        kept = values > len(values) * np.finfo(float).eps * values[-1]
        return cls(landmarks, bandwidth, vectors[:, kept] / np.sqrt(values[kept]))

    def features(self, points: Floats) -> Floats:
        """Return the values of points in the span's own coordinates, n x r."""
        return self.weighted(points, self.root)

    def weighted(self, points: Floats, weights: Floats) -> Floats:
        """Return n x q sums of the landmarks' kernel functions at points, by weights m x q."""
        sums = np.empty((len(points), weights.shape[1]))
        for rows in chunks(len(points)):
            sums[rows] = gaussian(points[rows], self.landmarks, self.bandwidth) @ weights
        return sums


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The eigenvectors of the kernel over n records, orthogonal to the unpenalized columns.

    Attributes:
        span: the kernel functions of the landmarks.
        free: an orthonormal basis of the unpenalized columns, n x f.
        vectors, values: the s eigenvectors, n x s, and their eigenvalues, the largest first.
        turn: the combinations of features that give the eigenvectors, r x s.
        lost: the share of the kernel's trace that the landmarks do not span.
    """

    span: Span
    free: Floats
    vectors: Floats
    values: Floats
    turn: Floats
    lost: float


def gaussian(points: Floats, others: Floats, bandwidth: float) -> Floats:
    """Return exp(-|x - z|^2 / (2 bandwidth^2)) for all pairs of points, n x m."""
    squares = -2.0 * (points @ others.T)
    squares += np.einsum("ij,ij->i", points, points)[:, None]
    squares += np.einsum("ij,ij->i", others, others)[None, :]
    np.maximum(squares, 0.0, out=squares)
    squares *= -0.5 / bandwidth**2
    kernel: Floats = np.exp(squares, out=squares)
    return kernel


def chunks(n: int) -> Iterator[slice]:
    """Yield consecutive slices that together cover n rows."""
    for start in range(0, n, ROWS):
        yield slice(start, min(n, start + ROWS))


def choose_landmarks(points: Floats, most: int, rng: Permuting | None) -> Floats:
    """Return at most `most` distinct points, drawn by `rng` or evenly spaced in lexical order."""
    distinct = np.unique(points, axis=0)
    if len(distinct) <= most:
        return distinct
    if rng is None:
        chosen = np.linspace(0, len(distinct) - 1, most).round().astype(np.intp)
    else:
        chosen = np.sort(rng.permutation(len(distinct))[:most])
    return distinct[chosen]


def decompose(points: Floats, span: Span, *, smooth: bool) -> Spectrum:
    """Return the spectrum of the kernel over the points, n x k."""
    n = len(points)
    free = basis_of(with_constant(points)) if smooth else np.full((n, 1), 1 / np.sqrt(n))
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
    vectors = features[:, : len(values)]  # overwritten in place to save memory
    for rows in chunks(n):
        vectors[rows] = features[rows] @ (turn / np.sqrt(values))
    return Spectrum(span, free, vectors, values, turn, lost)


def tune(
    points: Floats, targets: Floats, most: int, rng: Permuting | None, *, smooth: bool
) -> tuple[float, tuple[float, ...] | None]:
    """Return the bandwidth and the penalties of the targets.

    The penalties are None if they must still be chosen with all records.
    """
    n = len(targets)
    some = n > RECORDS
    if some:
        rows = np.linspace(0, n - 1, RECORDS).round().astype(np.intp)
        rows = rows if rng is None else np.sort(rng.permutation(n)[:RECORDS])
        points, targets = points[rows], targets[rows]
    landmarks = choose_landmarks(points, min(FEWER_LANDMARKS, most), rng)
    grid = [float(b) for b in BANDWIDTHS * np.sqrt(max(1, points.shape[1]))]
    spectra = (decompose(points, Span.of(landmarks, b), smooth=smooth) for b in grid)
    fits = (_penalty_fits(one, points, targets, smooth=smooth) for one in spectra)
    if smooth:
        chosen, penalties = smoothest(list(fits))
        return grid[chosen], None if some else penalties
    errors = [_best(one)[1] for one in fits]
    return grid[first_smallest(errors, tie=FITTED_TIE)], None


def tune_penalties(
    spectrum: Spectrum, points: Floats, targets: Floats, *, smooth: bool
) -> tuple[float, ...]:
    """Return each target's penalty: of its smoothest fit if `smooth`, else of least error."""
    fits = _penalty_fits(spectrum, points, targets, smooth=smooth)
    if smooth:
        return smoothest([fits])[1]
    penalty, _ = _best(fits)
    return tuple(penalty for _ in targets.T)


def _best(fits: PenaltyFits) -> tuple[float, float]:
    # If no fit is allowed, take the fit with the least freedom.
    errors = np.where(fits.allowed, np.mean(fits.squares, axis=(0, 2)), FORBIDDEN * fits.freedom)
    # For equal errors take the larger penalty, so that pure noise is not fitted.
    best = len(errors) - 1 - first_smallest(errors[::-1], tie=FITTED_TIE)
    return float(fits.penalties[best]), float(errors[best])


def _penalty_fits(
    spectrum: Spectrum, points: Floats, targets: Floats, *, smooth: bool
) -> PenaltyFits:
    n = len(points)
    grid = np.append(PENALTIES, np.inf) if smooth else PENALTIES
    shrinkage = spectrum.values[:, None] / (spectrum.values[:, None] + n * grid)
    errors = left_out_errors(*residuals(spectrum, targets, shrinkage), groups_of(points))
    variances = np.mean((targets - targets.mean(axis=0)) ** 2, axis=0)
    errors **= 2
    errors /= np.where(variances > 0, variances, 1.0)
    extra = shrinkage.sum(axis=0)
    most = (SMOOTH if smooth else FREEDOM) * n
    return PenaltyFits(grid, extra + spectrum.free.shape[1], extra <= most, errors)


def residuals(spectrum: Spectrum, targets: Floats, shrinkage: Floats) -> tuple[Floats, Floats]:
    """Return residuals (n x l x q) and leverages (n x l) of fits to n x q targets.

    `shrinkage` has the shape s x l.
    """
    n, q = targets.shape
    count = shrinkage.shape[1]
    along = spectrum.vectors.T @ targets
    straight = spectrum.free.T @ targets
    weights = (shrinkage[:, :, None] * along[:, None, :]).reshape(len(along), count * q)
    left, leverages = np.empty((n, count, q)), np.empty((n, count))
    for rows in chunks(n):
        vectors, free = spectrum.vectors[rows], spectrum.free[rows]
        left[rows] = (targets[rows] - free @ straight)[:, None, :]
        left[rows] -= (vectors @ weights).reshape(-1, count, q)
        leverages[rows] = (vectors**2) @ shrinkage + np.sum(free**2, axis=1)[:, None]
    return left, leverages


def groups_of(points: Floats) -> npt.NDArray[np.intp]:
    """Return a group index for each record; records with equal features have the same index."""
    _, inverse = np.unique(points, axis=0, return_inverse=True)
    groups: npt.NDArray[np.intp] = np.ravel(inverse)
    return groups


def left_out_errors(left: Floats, leverages: Floats, groups: npt.NDArray[np.intp]) -> Floats:
    """Return leave-one-out errors; records of a small group are left out together.

    If c records of leverage h are left out together, the error of each is r + c h / (1 - c h)
    mean(r), where r are their residuals in `left`.
    """
    sizes = np.bincount(groups)
    shared = (sizes[groups] > 1) & (sizes[groups] <= TOGETHER)
    errors: Floats = left / np.maximum(1 - leverages, 1e-9)[:, :, None]
    if shared.any():
        _, inner = np.unique(groups[shared], return_inverse=True)
        count = sizes[groups[shared]][:, None]
        means = np.zeros((inner.max() + 1, *left.shape[1:]))
        np.add.at(means, inner, left[shared] / count[:, :, None])
        weight = count * leverages[shared]
        factor = weight / np.maximum(1 - weight, 1e-9)
        errors[shared] = left[shared] + factor[:, :, None] * means[inner]
    return errors
