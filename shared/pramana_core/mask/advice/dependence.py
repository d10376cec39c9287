"""What kind of dependence there is between columns: none, linear, monotonic, or neither.

Each fit's R2 is out of sample. A more flexible fit counts only if it explains more by `SURE`
standard errors of the difference and by a share of variance that matters; noise passes that rarely
(the tests count it).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import optimize, stats

from pramana_core.kernel_regression.fitting import fit_kernel
from pramana_core.kernel_regression.options import KernelOptions
from pramana_core.mask.core.inputs import normal_scores
from pramana_core.mask.core.noise import Randomness
from pramana_core.mixed.design import basis_of, leverages, residual, with_constant
from pramana_core.mixed.table import Floats
from pramana_core.ties import FITTED_TIE, exceeds, first_largest, reaches

# Predictions of each record by a fit without it: by lines, by monotonic curves, by any curve.

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


Kind = Literal["none", "linear", "monotonic", "non-monotonic"]
KINDS: tuple[Kind, ...] = ("none", "linear", "monotonic", "non-monotonic")

SURE = 3.0
"""Standard errors by which a more flexible fit must be better."""

MATTERS = 0.02
"""The share of a column's variance that it must explain beyond the simpler fit."""

MATTERS_OF_REST = 0.05
"""The same for what S leaves of columns and monotonic fits: of S a trace remains in the rest."""


@dataclass(frozen=True)
class Evidence:
    """How well a column is explained out of sample by others, by three kinds of fit.

    Attributes:
        about: which columns, such as "age, gender -> debt" or "x1 -> x2 given S".
        kind: the simplest kind of relationship that explains as much as any.
        linear: R2 of linear least squares, in the columns' units.
        curved: R2 of a kernel fit, in the columns' units.
        monotonic: R2 of the best monotonic fit, of the column's normal scores: lines in normal
            scores as a normal copula has them, sums of monotonic curves, and curves of sums.
        any_shape: R2 of a kernel fit in normal scores.
        beyond_linear: curved - linear, on the same records.
        beyond_monotonic: any_shape - monotonic.
    """

    about: str
    kind: Kind
    linear: ExplainedVariance
    curved: ExplainedVariance
    monotonic: ExplainedVariance
    any_shape: ExplainedVariance
    beyond_linear: ExplainedVariance
    beyond_monotonic: ExplainedVariance


@dataclass(frozen=True)
class Features:
    """What a column is explained by.

    Attributes:
        ordered: the numbers, n x k.
        others: indicators of categories, n x j.
        beside: columns that only the flexible fit may use, n x i: whether a relationship changes
            with them is then part of the question.
    """

    ordered: Floats
    others: Floats
    beside: Floats | None = None

    @property
    def matrix(self) -> Floats:
        """Numbers and indicators, n x (k + j)."""
        return np.column_stack([self.ordered, self.others])

    @property
    def flexible(self) -> Floats:
        """All that the flexible fit uses, n x (k + j + i)."""
        return self.matrix if self.beside is None else np.column_stack([self.matrix, self.beside])

    @property
    def scored(self) -> Features:
        """The same with normal scores in the place of numbers."""
        return Features(scores_of(self.ordered), self.others, self.beside)


def dependence(
    about: str, features: Features, target: Floats, rng: Randomness, *, least: float = MATTERS
) -> Evidence:
    """Return how a column depends on others.

    Args:
        about: how the evidence is called.
        features: of n records.
        target: the column, n.
        rng: draws folds and landmarks.
        least: the share of variance that a kernel must explain beyond monotonic fits.
    """
    scores = scores_of(target[:, None])[:, 0]
    lines = by_lines(features.matrix, target)
    curves = by_curves(features.flexible, target, rng)
    scored = features.scored
    score_lines = by_lines(scored.matrix, scores)
    rising = by_monotonic_curves(scored.ordered, scored.others, scores, rng)
    fits = (score_lines, *rising)
    shares = [explained(scores, fit).share for fit in fits]
    best = fits[first_largest(shares, scale=1.0, tie=FITTED_TIE)]
    free = by_curves(scored.flexible, scores, rng)
    beyond_linear = gained(target, lines, curves)
    beyond_monotonic = gained(scores, best, free)
    linear, curved = explained(target, lines), explained(target, curves)
    monotonic, any_shape = explained(scores, best), explained(scores, free)
    found = any(map(matters, (linear, curved, monotonic, any_shape)))
    kind = _kind(found, matters(beyond_linear), matters(beyond_monotonic, least))
    return Evidence(
        about, kind, linear, curved, monotonic, any_shape, beyond_linear, beyond_monotonic
    )


def matters(gain: ExplainedVariance, least: float = MATTERS) -> bool:
    """Whether a gain is neither chance nor too small to matter."""
    return reaches(gain.share, least) and exceeds(gain.share, SURE * gain.error)


def _kind(found: bool, beyond_linear: bool, beyond_monotonic: bool) -> Kind:
    if not found:
        return "none"
    if beyond_linear:
        return "non-monotonic" if beyond_monotonic else "monotonic"
    return "linear"


def scores_of(values: Floats) -> Floats:
    """Return normal scores of columns; there may be none."""
    return normal_scores(values) if values.shape[1] else values


# Whether a column's spread around its expectation depends on S, which masking does not keep.
#
# The test is that of Breusch and Pagan in Koenker's form (1981), of n R2 of squared residuals on S.
# In the place of squares stand normal scores of the residuals' sizes, so that heavy tails raise no
# alarm, and S has squares, so that a spread that is largest in the middle is seen.

FALSE_ALARM = 0.001
"""How often a spread that is the same everywhere is said to depend on S, for each column of X."""


@dataclass(frozen=True)
class Spread:
    """How much the size of a column's residuals depends on S.

    Attributes:
        about: which columns, such as "age, gender -> spread of debt".
        share: of the variance of the sizes' normal scores, what S and its squares explain, in
            sample.
        p: the probability of such a share by chance, where the spread is the same everywhere.
    """

    about: str
    share: float
    p: float

    @property
    def varies(self) -> bool:
        """Whether the dependence is neither chance nor too small to matter."""
        return exceeds(FALSE_ALARM, self.p) and reaches(self.share, MATTERS)


def spread(about: str, told: Features, target: Floats, rng: Randomness) -> Spread:
    """Return how the spread of a column around its left-out kernel fit depends on S.

    Args:
        about: how the row is called.
        told: S, of n records.
        target: the column, n, in the scale in which its spread should be the same everywhere.
        rng: draws landmarks.
    """
    size = np.abs(target - by_curves(told.matrix, target, rng))
    scores = scores_of(size[:, None])[:, 0]
    numbers = scores_of(told.ordered)
    basis = basis_of(with_constant(np.column_stack([numbers, numbers**2, told.others])))
    centred = scores - scores.mean()
    total = float(centred @ centred)
    freedom = basis.shape[1] - 1
    if total <= 0 or freedom < 1:
        return Spread(about, 0.0, 1.0)
    share = float(np.sum((basis.T @ centred) ** 2)) / total
    return Spread(about, share, float(stats.chi2.sf(len(target) * share, freedom)))
