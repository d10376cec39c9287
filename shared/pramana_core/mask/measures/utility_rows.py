"""The measures of utility as rows with a sentence each.

Also here:

* Correlation matrices of (S, X) and of (S, Y): Pearson's and Spearman's.
* Each column by itself: means, spreads, quantiles, distributions, means by category of S.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from scipy import stats

from pramana_core.mask.core.noise import Randomness
from pramana_core.mask.measures.core.compared import ComparedTables, Kind, Measure
from pramana_core.mask.measures.models import (
    ModelPair,
    Relationship,
    by_regression,
    independents,
    model_pair,
    mse_ratio,
    paired,
    relationship,
)
from pramana_core.mixed.table import CategoricalColumn, Floats
from pramana_core.ties import first_largest

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
