"""Models fitted on the masked table and on the true one, and both asked at the true records.

AlAhmadi V.2 compares, for each confidential column and each set of columns that it may be predicted
from (table 2), how well a model predicts true records if it was fitted on masked ones.

Also here:

* Equivalence tests: what is shown is that two models agree, not merely that no difference is
  seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Annotated

import numpy as np
from annotated_types import Gt, Lt
from scipy import stats

from pramana_core.learn.common.options import require_limit
from pramana_core.mask.core.noise import Randomness
from pramana_core.mask.measures.core.compared import ComparedTables, Kind, expectation
from pramana_core.mixed.table import Floats

MOST_MODELS = 40
"""Up to so many models all sets of columns are taken; beyond it fewer, see `independents`."""


@dataclass(frozen=True, eq=False)
class ModelPair:
    """A model of one column fitted on the true table, and the same fitted on the masked one.

    Attributes:
        kind: "linear" or "kernel".
        dependent: the column that is predicted.
        independent: the columns that it is predicted from.
        true: the true column, n.
        by_true: what the model of the true table says of the n true records.
        left_out: the same, each by a fit without the record.
        by_masked: what the model of the masked table says of the same true records.
    """

    kind: Kind
    dependent: str
    independent: tuple[str, ...]
    true: Floats
    by_true: Floats
    left_out: Floats
    by_masked: Floats

    @property
    def about(self) -> str:
        """Such as "debt given age, gender"."""
        return f"{self.dependent} given {', '.join(self.independent)}"

    @property
    def strength(self) -> float:
        """R2 of the true model, left-out: what there is to be kept."""
        total = float(np.sum((self.true - self.true.mean()) ** 2))
        return 1 - float(np.sum((self.true - self.left_out) ** 2)) / total


@dataclass(frozen=True)
class MseRatio:
    """How much worse a model predicts true records for having been fitted on masked ones.

    Attributes:
        ratio: mean squared error of the masked model over that of the true one, left-out.
        error: its standard error over records, by the delta method.
        baseline: the same ratio of the column's mean alone: what knowing no model costs.
    """

    ratio: float
    error: float
    baseline: float


@dataclass(frozen=True)
class Relationship:
    """The masked relationship regressed on the true one, at the same records.

    Attributes:
        slope: of E(Y|.) on E(X|.); 1 if the relationship is kept, 0 if it is lost.
        r2: the share of variance explained; 1 if its shape is kept, whatever its size.
    """

    slope: float
    r2: float


def independents(data: ComparedTables, place: int) -> tuple[tuple[str, ...], ...]:
    """Return the sets of columns that one column of X is predicted from, smallest first.

    All sets of the other columns if that makes at most 40 models over all columns of X; else each
    of them alone if that does; and in any case S, the other columns of X, and all. In brief, S
    and all.
    """
    told = tuple(name for name in data.s.names if data.told_places(name))
    rest = tuple(
        name
        for name in data.x.names
        if data.true_places(name) and place not in data.true_places(name)
    )
    others = told + rest
    if data.brief:
        return tuple(dict.fromkeys(chosen for chosen in (told, others) if chosen))
    if len(data.labels) * (2 ** len(others) - 1) <= MOST_MODELS:
        sizes = range(1, len(others) + 1)
        return tuple(chain.from_iterable(combinations(others, size) for size in sizes))
    sets = [told, rest, others]
    if len(data.labels) * len(others) <= MOST_MODELS:
        sets = [*((name,) for name in others), *sets]
    return tuple(dict.fromkeys(chosen for chosen in sets if chosen))


def model_pair(
    data: ComparedTables, place: int, independent: Sequence[str], kind: Kind, rng: Randomness
) -> ModelPair:
    """Fit a model of one column of X on the true table and on the masked one.

    Args:
        data: S, X and Y; alike.
        place: which column of X.
        independent: the columns of S and X that it is predicted from.
        kind: "linear" or "kernel".
        rng: draws which records a kernel is made of.
    """
    told = [k for name in independent if name in data.s.names for k in data.told_places(name)]
    rest = [k for name in independent if name in data.x.names for k in data.true_places(name)]
    features = np.column_stack([data.told[:, told], data.true[:, rest]])
    released = np.column_stack([data.told[:, told], data.masked[:, rest]])
    target = data.true[:, [place]]
    key = (kind, place, tuple(independent))
    original = data.fits.of(key, lambda: expectation(kind, features, target, rng))
    masked = expectation(kind, released, data.masked[:, [place]], rng)
    return ModelPair(
        kind,
        data.labels[place],
        tuple(independent),
        target[:, 0],
        original.fitted[:, 0],
        original.left_out[:, 0],
        masked.predict(features)[:, 0],
    )


def mse_ratio(pair: ModelPair) -> MseRatio:
    """Return how much worse the masked model predicts the true records (AlAhmadi V.2)."""
    own = (pair.true - pair.left_out) ** 2
    other = (pair.true - pair.by_masked) ** 2
    base = float(own.mean())
    variance = float(pair.true.var())
    if base <= 1e-18 * variance:
        return MseRatio(math.nan, math.nan, math.nan)
    ratio = float(other.mean()) / base
    error = float(np.std(other - ratio * own, ddof=1) / np.sqrt(len(own))) / base
    return MseRatio(ratio, error, variance / base)


def relationship(pair: ModelPair) -> Relationship:
    """Return slope and R2 of the masked relationship on the true one (AlAhmadi V.2, VII.2)."""
    original = pair.by_true - pair.by_true.mean()
    masked = pair.by_masked - pair.by_masked.mean()
    size, other = float(original @ original), float(masked @ masked)
    if size <= 1e-18 * len(original) * float(pair.true.var()):
        return Relationship(math.nan, math.nan)
    both = float(original @ masked)
    r2 = both**2 / (size * other) if other > 1e-18 * size else 0.0
    return Relationship(both / size, min(r2, 1.0))


# Equivalence tests: what is shown is that two models agree, not merely that no difference is seen.
#
# The hypothesis is that they differ by more than a region allows; two one-sided t-tests reject it
# (TOST; Robinson and Froese 2004; with regression, Robinson, Duursma and Marshall 2005; AlAhmadi
# V.3). Both reject at level alpha exactly if the 1 - 2 alpha confidence interval lies inside the
# region, so the smallest region that passes is known without a search.

ALPHA = 0.05
"""The level of the thesis's tests."""

ROUNDING = 1e-9
"""A mean that is a smaller share of the values' size is 0: nothing can be per cent of it."""


@dataclass(frozen=True)
class Equivalence:
    """Two one-sided t-tests that a quantity is near zero.

    Attributes:
        difference: the estimate: 0 if both are the same.
        error: its standard error.
        freedom: the degrees of freedom of t.
        whole: what 100 per cent of a region is: the mean (0 if it is only rounding), or the
            slope 1.
        alpha: the level of each of the two tests.
    """

    difference: float
    error: float
    freedom: int
    whole: float
    alpha: float

    @property
    def percent(self) -> float:
        """The smallest region that passes at level alpha, +- per cent; NaN of a mean of 0."""
        if self.whole == 0:
            return math.nan
        quantile = float(stats.t.ppf(1 - self.alpha, self.freedom))
        return 100 * (abs(self.difference) + quantile * self.error) / abs(self.whole)

    def p(self, percent: float) -> float:
        """Return the p-value of equivalence within a region: the larger of both tests."""
        margin = abs(self.whole) * percent / 100
        if self.error == 0:
            return 0.0 if abs(self.difference) < margin else 1.0
        return float(stats.t.sf((margin - abs(self.difference)) / self.error, self.freedom))

    def passes(self, percent: float) -> bool:
        """Return whether equivalence within a region is shown at level alpha."""
        return self.p(percent) <= self.alpha


def paired(original: Floats, masked: Floats, alpha: float = ALPHA) -> Equivalence:
    """Return the paired t-test for equivalence of means of n fitted values.

    Regions are in per cent of the mean of `original`. Raises OptionError: alpha is not between 0
    and 1/2.
    """
    require_limit(alpha, Annotated[float, Gt(0), Lt(0.5)], "alpha")
    gap = masked - original
    n = len(gap)
    error = float(gap.std(ddof=1) / np.sqrt(n))
    return Equivalence(float(gap.mean()), error, n - 1, _whole(original), alpha)


def by_regression(
    original: Floats, masked: Floats, alpha: float = ALPHA
) -> tuple[Equivalence, Equivalence]:
    """Return the tests of intercept and slope of masked fitted values on the original ones.

    The originals are centred at their mean, where intercept and slope are independent. The
    intercept is equivalent if it is near that mean (regions in per cent of it), the slope if it is
    near 1 (in per cent of 1). Raises as `paired`.
    """
    require_limit(alpha, Annotated[float, Gt(0), Lt(0.5)], "alpha")
    n = len(original)
    mean = float(original.mean())
    centred = original - mean
    size = float(centred @ centred)
    level = Equivalence(float(masked.mean()) - mean, math.nan, n - 2, _whole(original), alpha)
    if size == 0:
        return level, Equivalence(math.nan, math.nan, n - 2, 1.0, alpha)
    slope = float(centred @ masked) / size
    rest = masked - masked.mean() - slope * centred
    spread = math.sqrt(float(rest @ rest) / (n - 2))
    return (
        Equivalence(level.difference, spread / math.sqrt(n), n - 2, level.whole, alpha),
        Equivalence(slope - 1, spread / math.sqrt(size), n - 2, 1.0, alpha),
    )


def _whole(original: Floats) -> float:
    """Return the mean that regions are per cent of; 0 if the values were centred at 0."""
    mean, size = float(original.mean()), float(np.max(np.abs(original)))
    return mean if abs(mean) > ROUNDING * size else 0.0
