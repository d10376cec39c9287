"""The measures of utility as rows with a sentence each.

Also here:

* Models fitted on the masked table and on the true one, and both asked at the true records.
  AlAhmadi V.2 compares, for each confidential column and each set of columns that it may be
  predicted from (table 2), how well a model predicts true records if it was fitted on masked ones.
* Equivalence tests: what is shown is that two models agree, not merely that no difference is
  seen.
* Correlation matrices of (S, X) and of (S, Y): Pearson's and Spearman's.
* Each column by itself: means, spreads, quantiles, distributions, means by category of S.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations
from typing import Annotated, Literal

import numpy as np
from annotated_types import Gt, Lt
from scipy import stats

from pramana_core.learn.common.options import require_limit
from pramana_core.mask.core.noise import Randomness
from pramana_core.mask.measures.compared import ComparedTables, Kind, Measure, expectation
from pramana_core.mixed import CategoricalColumn, Floats
from pramana_core.ties import first_largest

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


# Correlation matrices of (S, X) and of (S, Y): Pearson's and Spearman's.

Correlation = Literal["pearson", "spearman"]


@dataclass(frozen=True, eq=False)
class Correlations:
    """Two correlation matrices of the same columns.

    Attributes:
        kind: "pearson" or "spearman".
        labels: the columns, those of S first.
        told: how many of them are of S; their correlations with each other cannot change.
        original: of (S, X).
        masked: of (S, Y).
    """

    kind: Correlation
    labels: tuple[str, ...]
    told: int
    original: Floats
    masked: Floats

    @cached_property
    def differences(self) -> Floats:
        """masked - original of every pair with a confidential column, each pair once."""
        above = np.triu_indices(len(self.labels), 1)
        found: Floats = (self.masked - self.original)[above][above[1] >= self.told]
        return found

    @property
    def largest(self) -> float:
        """The largest absolute difference; 0 if there are no pairs."""
        return float(np.max(np.abs(self.differences), initial=0.0))

    @property
    def mean(self) -> float:
        """The mean absolute difference; 0 if there are no pairs."""
        return float(np.mean(np.abs(self.differences))) if len(self.differences) else 0.0


def correlations(data: ComparedTables, kind: Correlation) -> Correlations:
    """Return the correlation matrices of a true and a masked table; categories as indicators."""
    original = np.column_stack([data.told, data.true])
    masked = np.column_stack([data.told, data.masked])
    if kind == "spearman":
        original = np.apply_along_axis(stats.rankdata, 0, original)
        masked = np.apply_along_axis(stats.rankdata, 0, masked)
    labels = (*data.told_labels, *data.labels)
    return Correlations(kind, labels, data.told.shape[1], _matrix(original), _matrix(masked))


def _matrix(columns: Floats) -> Floats:
    """Return a correlation matrix; a column without variation correlates with nothing."""
    centred = columns - columns.mean(axis=0)
    size = np.linalg.norm(centred, axis=0)
    centred = centred / np.where(size > 0, size, 1.0)
    found: Floats = np.clip(centred.T @ centred, -1.0, 1.0)
    np.fill_diagonal(found, 1.0)
    return found


# Each column by itself: means, spreads, quantiles, distributions, means by category of S.

SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""The quantiles compared."""


@dataclass(frozen=True)
class Marginal:
    """How far a masked column's distribution is from the true one's.

    Attributes:
        mean: the difference of means, masked - true, in standard deviations of the true column.
        mean_error: its standard error over records, by their paired differences.
        spread: the masked standard deviation over the true one.
        quantile: the largest absolute difference of the quantiles at 5, 25, 50, 75 and 95 per
            cent, in standard deviations.
        distance: Kolmogorov and Smirnov's: the largest difference of the distribution functions.
    """

    mean: float
    mean_error: float
    spread: float
    quantile: float
    distance: float


@dataclass(frozen=True)
class GroupMean:
    """The category of a column of S whose mean of a confidential column moved most.

    Attributes:
        column: the column of S.
        category: its category.
        difference: masked - true mean, in standard deviations of the true column.
        error: its standard error over the category's records.
        records: how many the category has.
    """

    column: str
    category: str
    difference: float
    error: float
    records: int


def marginal(true: Floats, masked: Floats) -> Marginal:
    """Compare the distributions of one column, n true and n masked values."""
    scale = float(true.std())
    gap = (masked - true) / scale
    quantiles = np.quantile(masked, SHARES) - np.quantile(true, SHARES)
    every = np.concatenate([true, masked])
    below = np.searchsorted(np.sort(true), every, side="right") / len(true)
    others = np.searchsorted(np.sort(masked), every, side="right") / len(masked)
    return Marginal(
        float(gap.mean()),
        float(gap.std(ddof=1) / np.sqrt(len(gap))),
        float(masked.std()) / scale,
        float(np.max(np.abs(quantiles))) / scale,
        float(np.max(np.abs(below - others))),
    )


def group_means(data: ComparedTables, place: int, *, fewest: int = 5) -> tuple[GroupMean, ...]:
    """Return for each categorical column of S the category whose mean moved most.

    Args:
        data: S, X and Y.
        place: which column of X.
        fewest: categories with fewer records are left out.
    """
    gap = (data.masked[:, place] - data.true[:, place]) / data.scales[place]
    found = []
    for column in data.s.columns:
        if not isinstance(column, CategoricalColumn):
            continue
        moved = []
        for code, category in enumerate(column.categories):
            own = gap[column.codes == code]
            if len(own) >= fewest:
                error = float(own.std(ddof=1) / np.sqrt(len(own)))
                moved.append(GroupMean(column.name, category, float(own.mean()), error, len(own)))
        if moved:
            found.append(moved[first_largest([abs(group.difference) for group in moved])])
    return tuple(found)


KINDS: tuple[Kind, ...] = ("linear", "kernel")
WORDS = {"linear": "straight-line", "kernel": "kernel"}
WEAK = 10.0
"""A relationship whose left-out R2 times n is less than this is none: slopes on noise are noise."""


def utility_steps(data: ComparedTables) -> int:
    """Return how many steps `utility_rows` reports."""
    return len(KINDS) * sum(len(independents(data, place)) for place in range(len(data.labels)))


def utility_rows(
    data: ComparedTables, rng: Randomness, on_step: Callable[[], None]
) -> list[Measure]:
    """Return all measures of utility of a masked table whose columns are those of X."""
    pairs = []
    for place in range(len(data.labels)):
        for independent in independents(data, place):
            for kind in KINDS:
                pairs.append(model_pair(data, place, independent, kind, rng))
                on_step()
    rows = list(_marginal_rows(data))
    kinds: tuple[Correlation, ...] = ("pearson", "spearman")
    for correlation in kinds:
        rows += _correlation_rows(data, correlation)
    for pair in pairs:
        rows += pair_rows(pair)
    return rows


def pair_rows(pair: ModelPair) -> list[Measure]:
    """Return the measures of one model fitted on both tables: slope, R2, MSE ratio, equivalence."""
    kind, about, word = pair.kind, pair.about, WORDS[pair.kind]
    line, ratio = relationship(pair), mse_ratio(pair)
    weak = pair.strength * len(pair.true) < WEAK
    if weak or math.isnan(line.slope):
        line = Relationship(math.nan, math.nan)
        words = "The true table shows no such relationship, so there is none to keep."
        slope_words = r2_words = words
    else:
        slope_words = (
            f"Where the true table's {word} fit rises by 1, the masked table's rises by"
            f" {line.slope:.3f}; 1 is right."
        )
        r2_words = (
            f"The masked table's {word} fit follows {_share(line.r2)} of the ups and downs of"
            f" the true one's."
        )
    ratio_words = "The true model makes no errors, so there is no ratio."
    if not math.isnan(ratio.ratio):
        ratio_words = (
            f"A {word} model fitted on the masked table predicts true records with"
            f" {ratio.ratio:.2f} times the squared error of one fitted on true records; the mean"
            f" alone has {ratio.baseline:.2f} times."
        )
    error = None if math.isnan(ratio.error) else ratio.error
    return [
        Measure(f"relationship-slope-{kind}", "utility", about, line.slope, None, slope_words),
        Measure(f"relationship-r2-{kind}", "utility", about, line.r2, None, r2_words),
        Measure(f"mse-ratio-{kind}", "utility", about, ratio.ratio, error, ratio_words),
        *_equivalence_rows(pair, weak),
    ]


def _equivalence_rows(pair: ModelPair, weak: bool) -> Iterator[Measure]:
    level, slope = by_regression(pair.by_true, pair.by_masked)
    tests = (
        ("paired", "mean of the fitted values (paired test)", paired(pair.by_true, pair.by_masked)),
        ("mean", "mean of the fitted values (by regression)", level),
        ("slope", "slope of the masked on the true fitted values", slope),
    )
    for name, words, test in tests:
        region = math.nan if weak and name == "slope" else test.percent
        if math.isnan(region):
            sentence = (
                f"The {words} cannot be tested: there is nothing that it could be a share of."
            )
        else:
            sentence = (
                f"The {words} is shown to be right to within {_region(region)} per cent"
                " (level 0.05)."
            )
        # The region is a bound and holds the error already.
        yield Measure(
            f"equivalence-{name}-{pair.kind}", "utility", pair.about, region, None, sentence
        )


def _marginal_rows(data: ComparedTables) -> Iterator[Measure]:
    for place, label in enumerate(data.labels):
        found = marginal(data.true[:, place], data.masked[:, place])
        said = f"The mean of {label} moved by {_signed(found.mean)} standard deviations."
        yield Measure("mean-difference", "utility", label, found.mean, found.mean_error, said)
        said = f"The standard deviation of {label} is {found.spread:.3f} times the true one."
        yield Measure("spread-ratio", "utility", label, found.spread, None, said)
        said = (
            f"Of the quantiles of {label} (5, 25, 50, 75, 95 per cent) the worst moved by"
            f" {found.quantile:.3f} standard deviations."
        )
        yield Measure("quantile-difference", "utility", label, found.quantile, None, said)
        said = (
            f"The share of records below any value of {label} is right to within"
            f" {found.distance:.3f} (Kolmogorov-Smirnov)."
        )
        yield Measure("distribution-distance", "utility", label, found.distance, None, said)
        for group in group_means(data, place):
            about, moved = f"{label} by {group.column}", group.difference
            said = (
                f"By {group.column}, the mean of {label} moved most in {group.category!r}"
                f" ({group.records} records): by {_signed(moved)} standard deviations."
            )
            yield Measure("group-mean-difference", "utility", about, moved, group.error, said)


def _correlation_rows(data: ComparedTables, kind: Correlation) -> Iterator[Measure]:
    found = correlations(data, kind)
    if not len(found.differences):
        return
    word = "Pearson" if kind == "pearson" else "Spearman (rank)"
    said = (
        f"Of the {len(found.differences)} {word} correlations of confidential columns the worst"
        f" moved by {found.largest:.3f}."
    )
    yield Measure(f"{kind}-largest", "utility", "all columns", found.largest, None, said)
    said = f"The {word} correlations of confidential columns moved by {found.mean:.3f} on average."
    yield Measure(f"{kind}-mean", "utility", "all columns", found.mean, None, said)


def _share(value: float) -> str:
    return f"{100 * value:.1f} per cent"


def _signed(value: float) -> str:
    return f"{value + 0.0:+.3f}" if abs(value) >= 0.0005 else "0.000"


def _region(percent: float) -> str:
    return f"{percent:.3g}" if percent >= 0.001 else "0.001"
