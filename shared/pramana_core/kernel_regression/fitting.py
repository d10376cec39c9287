"""Ridge regression in a kernel's eigenvectors, tuned by exact leave-one-out errors.

The fit minimizes |y - b - f|^2 + n penalty |f|^2 over constants b and functions f of the kernel's
space: kernel ridge regression with a bias, which is the least-squares support vector machine
(Suykens et al. 2002) that AlAhmadi (III.2) learns conditional expectations with. In the
eigenvectors U of the centred kernel with eigenvalues d it is Hy, where
H = 11'/n + U d / (d + n penalty) U'. The fit without a record misses its value by
(y - Hy) / (1 - h), h its entry of H's diagonal: exactly, with landmarks as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pramana_core.errors import TableError
from pramana_core.kernel_regression.options import KernelOptions
from pramana_core.kernel_regression.tuning import (
    Permuting,
    Span,
    Spectrum,
    choose_landmarks,
    chunks,
    decomposed,
    spanned,
    tuned,
    tuned_penalties,
)
from pramana_core.mixed import Floats, residual, with_constant

LEADING = 1e-4
"""An eigenvector whose part of the targets shrinks to less than this is not a leading one."""

ALONE = 1e-9
"""A record whose leverage is nearer to 1 than this has no other that tells of it."""


@dataclass(frozen=True, eq=False)
class KernelFit:
    """A fitted kernel regression of q targets on k features.

    Attributes:
        fitted: the fitted targets of the n records, n x q.
        left_out: the same of each record by a fit without it, n x q.
        own: how much each record's own target weighs in its fitted one: n x q, 0 to 1.
        basis: the leading eigenvectors of the smoother, orthonormal: n x m; without the constant
            (and the features, if they are free of the penalty).
        shrinkage: what the ridge leaves of the targets' parts in the basis: m x q, 0 to 1.
        bandwidth: the Gaussian kernel's.
        penalties: the ridge's of each target, as a share of the records.
        approximation: the share of the kernel's trace that the landmarks lose; 0 if they are all
            distinct records.
        r2: of the leave-one-out fits, one number for each target.
    """

    fitted: Floats
    left_out: Floats
    own: Floats
    basis: Floats
    shrinkage: Floats
    bandwidth: float
    penalties: tuple[float, ...]
    approximation: float
    r2: Floats
    span: Span = field(repr=False)
    weights: Floats = field(repr=False)
    lines: Floats = field(repr=False)

    @property
    def leverages(self) -> Floats:
        """How much each record's own target weighs, in the target where it is most: n numbers."""
        found: Floats = self.own.max(axis=1)
        return found

    @property
    def penalty(self) -> float:
        """The smallest penalty."""
        return min(self.penalties)

    @property
    def freedom(self) -> float:
        """The effective number of parameters, of the target with most: the sum of its weights."""
        return float(self.own.sum(axis=0).max())

    def predict(self, features: Floats) -> Floats:
        """Return the expected targets of other records: n x q, of features n x k.

        Raises:
            TableError: the number of features is another than the fit's.
        """
        points = _matrix(features, "features")
        if points.shape[1] != self.span.landmarks.shape[1]:
            raise TableError(
                f"The fit is of {self.span.landmarks.shape[1]} features, not of {points.shape[1]}.",
                where="features",
            )
        straight = with_constant(points) if len(self.lines) > 1 else np.ones((len(points), 1))
        found: Floats = self.span.weighted(points, self.weights) + straight @ self.lines
        return found


def fit_kernel(
    features: Floats,
    targets: Floats,
    options: KernelOptions | None = None,
    rng: Permuting | None = None,
) -> KernelFit:
    """Fit a Gaussian-kernel ridge regression; bandwidth and penalty by leave-one-out errors.

    Args:
        features: n x k, standardized; k may be 0, then the means are fitted.
        targets: n x q, or n numbers, in any units.
        options: bandwidth, penalty, landmarks.
        rng: draws the landmarks, if there are more distinct records; without it they are spread.

    Raises:
        TableError: the numbers of records differ, there are none, or values are not finite.
    """
    options = options or KernelOptions()
    points, values = _matrix(features, "features"), _matrix(targets, "targets")
    if len(points) != len(values) or not len(points):
        raise TableError(
            f"There are {len(points)} records of features and {len(values)} of targets.",
            where="features",
        )
    centres = values.mean(axis=0)
    landmarks = choose_landmarks(points, options.landmarks, rng)
    bandwidth, penalties = tuned(points, values - centres, options, rng)
    spectrum = decomposed(points, spanned(landmarks, bandwidth), linear=options.linear)
    penalties = penalties or tuned_penalties(spectrum, points, values - centres, options)
    n = len(points)
    ridge = n * np.array(penalties)
    shrinkage = spectrum.values[:, None] / (spectrum.values[:, None] + ridge)
    along = spectrum.vectors.T @ values
    straight = spectrum.free.T @ values
    fitted = spectrum.free @ straight + spectrum.vectors @ (shrinkage * along)
    own = np.empty(values.shape)
    for rows in chunks(n):
        own[rows] = spectrum.vectors[rows] ** 2 @ shrinkage
        own[rows] += np.sum(spectrum.free[rows] ** 2, axis=1)[:, None]
    left_out = leave_one_out(values, fitted, own)
    weights = _weights(spectrum, points, values, ridge)
    design = with_constant(points) if options.linear else np.ones((n, 1))
    line = fitted - spectrum.span.weighted(points, weights)
    lines = np.asarray(np.linalg.lstsq(design, line)[0], dtype=np.float64)
    leading = int(np.count_nonzero(shrinkage.max(axis=1) > LEADING))
    return KernelFit(
        fitted=fitted,
        left_out=left_out,
        own=own,
        basis=spectrum.vectors[:, :leading].copy(),  # lets go of the others
        shrinkage=shrinkage[:leading],
        bandwidth=bandwidth,
        penalties=penalties,
        approximation=spectrum.lost,
        r2=explained(values, left_out),
        span=spectrum.span,
        weights=weights,
        lines=lines,
    )


def _weights(spectrum: Spectrum, points: Floats, values: Floats, ridge: Floats) -> Floats:
    """Return the weights of the landmarks' kernel functions in the fit: m x q."""
    span, vectors, along = spectrum.span, spectrum.vectors, spectrum.vectors.T @ values
    distinct, places = np.unique(points, axis=0, return_inverse=True)
    if len(distinct) > len(span.landmarks):
        scaled = np.sqrt(spectrum.values)[:, None] / (spectrum.values[:, None] + ridge)
        found: Floats = span.root @ (spectrum.turn @ (scaled * along))
        return found
    # All of the kernel is spanned, also what is lost in its root by rounding: the weights are those
    # of the support vectors, residuals divided by the ridge.
    rest = residual(residual(values, spectrum.free), vectors)
    support = vectors @ (along / (spectrum.values[:, None] + ridge)) + rest / ridge
    found = np.zeros((len(distinct), values.shape[1]))
    np.add.at(found, np.ravel(places), support)
    return found


def leave_one_out(values: Floats, fitted: Floats, own: Floats) -> Floats:
    """Return each record's fitted value by a fit without it: n x q; `own` as of `KernelFit`.

    A record that no other tells anything of (its leverage is 1) is told the mean of the others.
    """
    free = 1 - own
    alone = free < ALONE
    left_out = values - (values - fitted) / np.where(alone, 1.0, free)
    others = (values.sum(axis=0) - values) / max(1, len(values) - 1)
    found: Floats = np.where(alone, others, left_out)
    return found


def explained(values: Floats, predicted: Floats) -> Floats:
    """Return the share of each column's variance that predictions explain; 0 for constants."""
    variance = np.mean((values - values.mean(axis=0)) ** 2, axis=0)
    lost = np.mean((values - predicted) ** 2, axis=0)
    found: Floats = np.where(variance > 0, 1 - lost / np.where(variance > 0, variance, 1.0), 0.0)
    return found


def _matrix(values: Floats, what: str) -> Floats:
    found = np.asarray(values, dtype=np.float64)
    found = found[:, None] if found.ndim == 1 else found
    if found.ndim != 2 or not np.isfinite(found).all():
        raise TableError(f"The {what} must be a matrix of finite numbers.", where=what)
    return found
