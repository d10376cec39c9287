"""Predictions of each record by a fit without it: by lines, by monotonic curves, by any curve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import optimize

from pramana_core.kernel_regression.fitting import fit_kernel
from pramana_core.kernel_regression.options import KernelOptions
from pramana_core.mask.core.noise import Randomness
from pramana_core.mixed.design import basis_of, leverages, residual, with_constant
from pramana_core.mixed.table import Floats

FOLDS = 5
ROUNDS = 4
"""How often additive monotonic curves are fitted again, each given the others."""

CURVES = KernelOptions(landmarks=200)


@dataclass(frozen=True)
class ExplainedVariance:
    """A share of variance, out of sample, with its standard error over records."""

    share: float
    error: float


def explained(target: Floats, predicted: Floats) -> ExplainedVariance:
    """Return R2 = 1 - mean (y - f)^2 / mean (y - mean)^2 and its error by the delta method."""
    return _ratio(target, np.square(target - target.mean()) - np.square(target - predicted))


def gained(target: Floats, simple: Floats, flexible: Floats) -> ExplainedVariance:
    """Return by how much R2 of a flexible fit exceeds a simple one's, on the same records."""
    return _ratio(target, np.square(target - simple) - np.square(target - flexible))


def _ratio(target: Floats, better: Floats) -> ExplainedVariance:
    around = np.square(target - target.mean())
    mean = float(around.mean())
    if mean <= 0:
        return ExplainedVariance(0.0, 0.0)
    share = float(better.mean()) / mean
    influence = (better - share * around) / mean
    return ExplainedVariance(share, float(influence.std() / np.sqrt(len(target))))


def by_lines(features: Floats, target: Floats) -> Floats:
    """Return linear least-squares predictions, each record left out in turn: n."""
    basis = basis_of(with_constant(features))
    rest = residual(target[:, None], basis)[:, 0]
    found: Floats = target - rest / np.maximum(1 - leverages(basis), 1e-9)
    return found


def by_curves(features: Floats, target: Floats, rng: Randomness) -> Floats:
    """Return kernel predictions, each record left out in turn: n.

    Args:
        features: n x k, standardized here.
        target: n.
        rng: draws landmarks.
    """
    return fit_kernel(standardized(features), target, CURVES, rng).left_out[:, 0]


def by_monotonic_curves(
    ordered: Floats, others: Floats, target: Floats, rng: Randomness
) -> tuple[Floats, ...]:
    """Return predictions by three kinds of monotonic fit, out of fold: n each.

    The first is a sum of curves: each ordered feature has one of its own (isotonic least squares,
    rising or falling as the line of the feature does), fitted given the others' in turn; other
    features, indicators of categories, have lines. The second is a rising curve of that sum, the
    third a rising curve of a sum of lines, as a growth that saturates has.

    Args:
        ordered: n x k numbers.
        others: n x j indicators.
        target: n.
        rng: draws the folds.
    """
    n = len(target)
    fold = np.empty(n, dtype=np.intp)
    fold[rng.permutation(n)] = np.arange(n) % FOLDS
    found = np.empty((3, n))
    for number in range(FOLDS):
        asked = fold == number
        found[:, asked] = _additive(
            ordered[~asked], others[~asked], target[~asked], ordered[asked], others[asked]
        )
    return tuple(found)


def _additive(
    ordered: Floats, others: Floats, target: Floats, new_ordered: Floats, new_others: Floats
) -> Floats:
    """Fit a sum of monotonic curves and lines, and curves of sums; return them for new records."""
    design = with_constant(np.column_stack([ordered, others]))
    slopes = np.linalg.lstsq(design, target)[0]
    k = ordered.shape[1]
    inner = with_constant(others)
    new_inner = with_constant(new_others)
    curves, new_curves = ordered * slopes[1 : k + 1], new_ordered * slopes[1 : k + 1]
    weights = slopes[[0, *range(k + 1, design.shape[1])]]
    for _ in range(ROUNDS if k + others.shape[1] > 1 else 1):
        for place in range(k):
            rest = target - inner @ weights - curves.sum(axis=1) + curves[:, place]
            curves[:, place], new_curves[:, place] = _monotonic(
                ordered[:, place], rest, new_ordered[:, place], slopes[place + 1] >= 0
            )
        weights = np.linalg.lstsq(inner, target - curves.sum(axis=1))[0]
    new_sum = new_inner @ weights + new_curves.sum(axis=1)
    linked = _linked(inner @ weights + curves.sum(axis=1), target, new_sum)
    new_design = with_constant(np.column_stack([new_ordered, new_others]))
    return np.stack([new_sum, linked, _linked(design @ slopes, target, new_design @ slopes)])


def _linked(index: Floats, target: Floats, new: Floats) -> Floats:
    """Return a rising curve of an index, at new values of it."""
    found: Floats = _monotonic(index, target, new, True)[1] + target.mean()
    return found


def _monotonic(feature: Floats, target: Floats, new: Floats, rising: bool) -> tuple[Floats, Floats]:
    """Return an isotonic fit at the feature's values and, interpolated, at new ones; centred."""
    places, inverse = np.unique(feature, return_inverse=True)
    sizes = np.bincount(inverse)
    means = np.bincount(inverse, target) / sizes
    heights = optimize.isotonic_regression(means, weights=sizes, increasing=rising).x
    centre = float(np.average(heights, weights=sizes))
    return heights[inverse] - centre, np.interp(new, places, heights) - centre


def standardized(matrix: Floats) -> Floats:
    """Return columns with mean 0 and standard deviation 1; those without variation are 0."""
    scale = matrix.std(axis=0)
    found: npt.NDArray[np.float64] = (matrix - matrix.mean(axis=0)) / np.where(scale > 0, scale, 1)
    return found
