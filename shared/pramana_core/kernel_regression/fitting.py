"""Kernel ridge regression with a bias, tuned by exact leave-one-out errors.

The method is the least-squares support vector machine (Suykens et al. 2002) of AlAhmadi III.2. With
the eigenvectors U and eigenvalues d of the centred kernel, the fit is Hy, where H = 11'/n + U d /
(d + n penalty) U'. The leave-one-out error of a record is (y - Hy) / (1 - h), where h is the
diagonal entry of H for the record.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pramana_core.errors import TableError
from pramana_core.kernel_regression.tuning import (
    Permuting,
    Span,
    Spectrum,
    choose_landmarks,
    chunks,
    decompose,
    tune,
    tune_penalties,
)
from pramana_core.mixed import Floats, residual, with_constant

LEADING = 1e-4
"""An eigenvector is leading if its factor in the ridge is at least this."""

LANDMARKS = 600
"""The default number of landmarks, the points that span a kernel."""

ALONE = 1e-9
"""If a record's leverage is this close to 1, other records cannot predict its target."""


@dataclass(frozen=True, eq=False)
class KernelFit:
    """A fitted kernel regression of q targets on k features.

    Attributes:
        fitted, left_out: targets predicted by the fit and by fits without the record, n x q.
        own: the weight of each record's own target in its fitted value: n x q, 0 to 1.
        basis: the leading eigenvectors of the smoother, n x m, without unpenalized columns.
        shrinkage: the ridge's factor, 0 to 1, for each component in the basis: m x q.
        bandwidth: the bandwidth of the Gaussian kernel.
        penalties: the penalty of each target, divided by the number of records.
        approximation: the share of the kernel's trace that is lost by using landmarks.
        r2: R^2 of the leave-one-out fits, one per target.
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
    _span: Span = field(repr=False)
    _weights: Floats = field(repr=False)
    _lines: Floats = field(repr=False)

    def predict(self, features: Floats) -> Floats:
        """Return the expected targets, n x q, for features n x k. Raises TableError."""
        points = _matrix(features, "features")
        if points.shape[1] != self._span.landmarks.shape[1]:
            raise TableError(
                f"The fit has {self._span.landmarks.shape[1]} features, not {points.shape[1]}.",
                where="features",
            )
        straight = with_constant(points) if len(self._lines) > 1 else np.ones((len(points), 1))
        found: Floats = self._span.weighted(points, self._weights) + straight @ self._lines
        return found


def fit_kernel(
    features: Floats,
    targets: Floats,
    rng: Permuting | None = None,
    *,
    landmarks: int = LANDMARKS,
    smooth: bool = False,
    ridge: tuple[float, tuple[float, ...]] | None = None,
) -> KernelFit:
    """Fit n x q targets by a Gaussian-kernel ridge regression on n x k standardized features.

    At most `landmarks` records span the kernel (Nystrom). They are drawn by `rng` or, without it,
    evenly spaced. Bandwidth and penalties are `ridge` or, without it, chosen by leave-one-out
    errors. The module `tuning` explains `smooth`. Raises TableError: features and targets have
    different numbers of records or no records, or a value is not finite.
    """
    points, values = _matrix(features, "features"), _matrix(targets, "targets")
    if len(points) != len(values) or not len(points):
        raise TableError(
            f"The features have {len(points)} records, the targets {len(values)}; they must have"
            " the same number, at least 1.",
            where="features",
        )
    centred = values - values.mean(axis=0)
    chosen = choose_landmarks(points, landmarks, rng)
    bandwidth, penalties = ridge or tune(points, centred, landmarks, rng, smooth=smooth)
    spectrum = decompose(points, Span.of(chosen, bandwidth), smooth=smooth)
    penalties = penalties or tune_penalties(spectrum, points, centred, smooth=smooth)
    n = len(points)
    added = n * np.array(penalties)
    shrinkage = spectrum.values[:, None] / (spectrum.values[:, None] + added)
    fitted = spectrum.free @ (spectrum.free.T @ values)
    fitted += spectrum.vectors @ (shrinkage * (spectrum.vectors.T @ values))
    own = np.empty(values.shape)
    for rows in chunks(n):
        own[rows] = spectrum.vectors[rows] ** 2 @ shrinkage
        own[rows] += np.sum(spectrum.free[rows] ** 2, axis=1)[:, None]
    left_out = leave_one_out(values, fitted, own)
    weights = _weights(spectrum, points, values, added)
    design = with_constant(points) if smooth else np.ones((n, 1))
    line = fitted - spectrum.span.weighted(points, weights)
    leading = int(np.count_nonzero(shrinkage.max(axis=1) > LEADING))
    return KernelFit(
        fitted=fitted,
        left_out=left_out,
        own=own,
        basis=spectrum.vectors[:, :leading].copy(),  # releases the memory of the others
        shrinkage=shrinkage[:leading],
        bandwidth=bandwidth,
        penalties=penalties,
        approximation=spectrum.lost,
        r2=explained(values, left_out),
        _span=spectrum.span,
        _weights=weights,
        _lines=np.asarray(np.linalg.lstsq(design, line)[0], dtype=np.float64),
    )


def _weights(spectrum: Spectrum, points: Floats, values: Floats, ridge: Floats) -> Floats:
    span, vectors, along = spectrum.span, spectrum.vectors, spectrum.vectors.T @ values
    distinct, places = np.unique(points, axis=0, return_inverse=True)
    if len(distinct) > len(span.landmarks):
        scaled = np.sqrt(spectrum.values)[:, None] / (spectrum.values[:, None] + ridge)
        found: Floats = span.root @ (spectrum.turn @ (scaled * along))
        return found
    # The landmarks span the whole kernel, including the part that its root loses by rounding. The
    # weights are those of the support vectors: residuals divided by the ridge.
    rest = residual(residual(values, spectrum.free), vectors)
    support = vectors @ (along / (spectrum.values[:, None] + ridge)) + rest / ridge
    found = np.zeros((len(distinct), values.shape[1]))
    np.add.at(found, np.ravel(places), support)
    return found


def leave_one_out(values: Floats, fitted: Floats, own: Floats) -> Floats:
    """Return the prediction of each record by a fit without that record, n x q.

    If the record's leverage is 1, its prediction is the mean of the other records.
    """
    free = 1 - own
    alone = free < ALONE
    left_out = values - (values - fitted) / np.where(alone, 1.0, free)
    others = (values.sum(axis=0) - values) / max(1, len(values) - 1)
    fits: Floats = np.where(alone, others, left_out)
    return fits


def explained(values: Floats, predicted: Floats) -> Floats:
    """Return each column's share of variance that predictions explain; 0 for constant columns."""
    variance = np.mean((values - values.mean(axis=0)) ** 2, axis=0)
    lost = np.mean((values - predicted) ** 2, axis=0)
    share: Floats = np.where(variance > 0, 1 - lost / np.where(variance > 0, variance, 1.0), 0.0)
    return share


def _matrix(values: Floats, what: str) -> Floats:
    matrix = np.asarray(values, dtype=np.float64)
    matrix = matrix[:, None] if matrix.ndim == 1 else matrix
    if matrix.ndim != 2 or not np.isfinite(matrix).all():
        raise TableError(f"The {what} must be a matrix of finite numbers.", where=what)
    return matrix
