"""A centred Gaussian kernel over n records, and its bandwidth and penalty by leave-one-out errors.

The kernel is decomposed once per bandwidth of a grid: exactly, or spanned by landmarks (Nystrom).
With landmarks z the kernel K is taken for K_nz K_zz^(-1) K_zn (Williams and Seeger 2001), that is
for inner products of the features K_nz K_zz^(-1/2). If the landmarks are all distinct records, this
is the kernel itself. Memory is about 8 bytes for each record and landmark.

With many records the bandwidth is chosen on some of them, with fewer landmarks; the penalty is
chosen on all, for it depends on their number. Two guards against fits that memorize: records that
share their features with few others are left out together with these, so that a record that occurs
twice does not vouch for itself; and a fit with more freedom than a fifth of the records is not
considered, however small its errors. Where the smoothest fit is asked for, each
target has its own penalty.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pramana_core.errors import OptionError
from pramana_core.kernel_regression.options import KernelOptions
from pramana_core.kernel_regression.smoothest import PenaltyFits, smoothest
from pramana_core.mixed import Floats, basis_of, with_constant
from pramana_core.ties import FITTED_TIE, first_smallest

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


RECORDS = 4000
"""Bandwidths are compared on at most so many records."""

LANDMARKS = 200
"""And with at most so many landmarks."""

BANDWIDTHS = np.geomspace(0.1, 10.0, 9)
"""In standard deviations, times the square root of the number of features."""

PENALTIES = np.geomspace(1e-9, 1.0, 28)

TOGETHER = 5
"""Groups of records with the same features are left out together up to this size."""

FREEDOM = 0.2
"""The largest effective number of parameters, as a share of the records."""

FORBIDDEN = 1e6
"""Instead of the error of a fit that is not considered."""


SMOOTH = 0.1
"""The same where the smoothest fit is asked for."""


@dataclass(frozen=True)
class BestPenalty:
    """The penalty with the least leave-one-out error; the error is the mean over the targets, each
    in shares of its variance."""

    penalty: float
    error: float


def tuned(
    points: Floats, targets: Floats, options: KernelOptions, rng: Permuting | None
) -> tuple[float, tuple[float, ...] | None]:
    """Return the bandwidth, and each target's penalty.

    The penalties are None where they are to be chosen at this bandwidth on all the records.
    """
    n, q = targets.shape
    if n > RECORDS:
        some = np.linspace(0, n - 1, RECORDS).round().astype(np.intp)
        rows = some if rng is None else np.sort(rng.permutation(n)[:RECORDS])
        points, targets = points[rows], targets[rows]
    landmarks = choose_landmarks(points, min(LANDMARKS, options.landmarks), rng)
    grid = [float(b) for b in BANDWIDTHS * np.sqrt(max(1, points.shape[1]))]
    grid = grid if options.bandwidth is None else [options.bandwidth]
    penalties = given_penalties(options, q)
    if len(grid) > 1 or (options.smoothest and penalties is None and n <= RECORDS):
        bandwidth, found = _searched(grid, points, targets, landmarks, options)
        penalties = penalties or (found if n <= RECORDS else None)
    else:
        bandwidth = grid[0]
    return bandwidth, penalties


def _searched(
    grid: list[float], points: Floats, targets: Floats, landmarks: Floats, options: KernelOptions
) -> tuple[float, tuple[float, ...] | None]:
    """Return the best of several bandwidths, and each target's penalty if the smoothest is asked
    for."""
    spectra = (
        decomposed(points, spanned(landmarks, bandwidth), linear=options.linear)
        for bandwidth in grid
    )
    if options.smoothest:
        every = [tried(spectrum, points, targets, options) for spectrum in spectra]
        place, penalties = smoothest(every)
        return grid[place], penalties
    errors = [tuned_penalty(spectrum, points, targets, options).error for spectrum in spectra]
    return grid[first_smallest(errors, tie=FITTED_TIE)], None


def given_penalties(options: KernelOptions, targets: int) -> tuple[float, ...] | None:
    """Return the penalty given for each target; None if they are to be chosen.

    Raises:
        OptionError: another number of them is given.
    """
    if options.penalty is None:
        return None
    if not isinstance(options.penalty, tuple):
        return (float(options.penalty),) * targets
    if len(options.penalty) != targets:
        raise OptionError(
            f"There are {len(options.penalty)} penalties for {targets} targets.", where="penalty"
        )
    return tuple(float(penalty) for penalty in options.penalty)


def tuned_penalties(
    spectrum: Spectrum, points: Floats, targets: Floats, options: KernelOptions
) -> tuple[float, ...]:
    """Return each target's penalty: the one with the least error of all, or its smoothest fit's."""
    if options.smoothest:
        return smoothest([tried(spectrum, points, targets, options)])[1]
    penalty = tuned_penalty(spectrum, points, targets, options).penalty
    return tuple(penalty for _ in targets.T)


def tuned_penalty(
    spectrum: Spectrum, points: Floats, targets: Floats, options: KernelOptions
) -> BestPenalty:
    """Return the penalty with the least leave-one-out error of all targets.

    With penalties given, the error is that with the first of them.

    Args:
        spectrum: the kernel over the points.
        points: n x k.
        targets: n x q.
        options: with its penalty, if it is not to be chosen.
    """
    ways = tried(spectrum, points, targets, options)
    found = np.mean(ways.squares, axis=(0, 2))
    extra = ways.freedom - spectrum.free.shape[1]
    # Where none is allowed, the one with the least freedom.
    found = np.where(ways.allowed, found, FORBIDDEN * (1 + extra))
    # Of equal errors the larger penalty: where nothing is to be learned, nothing is fitted.
    best = len(found) - 1 - first_smallest(found[::-1], tie=FITTED_TIE)
    return BestPenalty(float(ways.penalties[best]), float(found[best]))


def tried(
    spectrum: Spectrum, points: Floats, targets: Floats, options: KernelOptions
) -> PenaltyFits:
    """Return the left-out errors of a ridge with each penalty of the grid, or the ones given."""
    n = len(points)
    given = given_penalties(options, targets.shape[1])
    grid = PENALTIES if given is None else np.array(given[:1])
    if given is None and options.smoothest:
        grid = np.append(grid, np.inf)
    shrinkage = spectrum.values[:, None] / (spectrum.values[:, None] + n * grid)
    errors, leverages = residuals(spectrum, targets, shrinkage)
    errors = left_out_errors(errors, leverages, groups_of(points))
    variances = np.mean((targets - targets.mean(axis=0)) ** 2, axis=0)
    errors **= 2
    errors /= np.where(variances > 0, variances, 1.0)
    extra = shrinkage.sum(axis=0)
    most = (SMOOTH if options.smoothest else FREEDOM) * n
    return PenaltyFits(grid, extra + spectrum.free.shape[1], extra <= most, errors)


def residuals(spectrum: Spectrum, targets: Floats, shrinkage: Floats) -> tuple[Floats, Floats]:
    """Return the residuals and leverages of several fits at once.

    Args:
        spectrum: the kernel over n records.
        targets: n x q.
        shrinkage: s x l: of each eigenvector, for each of l penalties.

    Returns:
        n x l x q, and n x l.
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
    """Return which records have the same features: n numbers of groups."""
    _, inverse = np.unique(points, axis=0, return_inverse=True)
    found: npt.NDArray[np.intp] = np.ravel(inverse)
    return found


def left_out_errors(left: Floats, leverages: Floats, groups: npt.NDArray[np.intp]) -> Floats:
    """Return the errors of records left out, together with those in a small group of theirs.

    Records of a group have one row h of the smoother in common; without c of them the error is
    r + c h / (1 - c h) mean(r), r the residuals of the group.

    Args:
        left: n x l x q residuals.
        leverages: n x l.
        groups: n.
    """
    sizes = np.bincount(groups)
    shared = (sizes[groups] > 1) & (sizes[groups] <= TOGETHER)
    found: Floats = left / np.maximum(1 - leverages, 1e-9)[:, :, None]
    if shared.any():
        _, inner = np.unique(groups[shared], return_inverse=True)
        count = sizes[groups[shared]][:, None]
        means = np.zeros((inner.max() + 1, *left.shape[1:]))
        np.add.at(means, inner, left[shared] / count[:, :, None])
        weight = count * leverages[shared]
        factor = weight / np.maximum(1 - weight, 1e-9)
        found[shared] = left[shared] + factor[:, :, None] * means[inner]
    return found
