"""The measures of utility as rows with a sentence each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from pramana_core.mask.core.randomness import Randomness
from pramana_core.mask.measures.core.compared import Compared
from pramana_core.mask.measures.core.expectations import Kind
from pramana_core.mask.measures.core.measure import Measure
from pramana_core.mask.measures.utility.correlations import Kind as Correlation
from pramana_core.mask.measures.utility.correlations import correlations
from pramana_core.mask.measures.utility.equivalence import by_regression, paired
from pramana_core.mask.measures.utility.marginals import group_means, marginal
from pramana_core.mask.measures.utility.models import (
    ModelPair,
    Relationship,
    independents,
    model_pair,
    mse_ratio,
    relationship,
)

KINDS: tuple[Kind, ...] = ("linear", "kernel")
WORDS = {"linear": "straight-line", "kernel": "kernel"}
WEAK = 10.0
"""A relationship whose left-out R2 times n is less than this is none: slopes on noise are noise."""


def utility_steps(data: Compared) -> int:
    """Return how many steps `utility_rows` reports."""
    return len(KINDS) * sum(len(independents(data, place)) for place in range(len(data.labels)))


def utility_rows(data: Compared, rng: Randomness, on_step: Callable[[], None]) -> list[Measure]:
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


def _marginal_rows(data: Compared) -> Iterator[Measure]:
    for place, label in enumerate(data.labels):
        found = marginal(data.true[:, place], data.masked[:, place])
        yield Measure(
            "mean-difference",
            "utility",
            label,
            found.mean,
            found.mean_error,
            f"The mean of {label} moved by {_signed(found.mean)} standard deviations.",
        )
        yield Measure(
            "spread-ratio",
            "utility",
            label,
            found.spread,
            None,
            f"The standard deviation of {label} is {found.spread:.3f} times the true one.",
        )
        yield Measure(
            "quantile-difference",
            "utility",
            label,
            found.quantile,
            None,
            f"Of the quantiles of {label} (5, 25, 50, 75, 95 per cent) the worst moved by"
            f" {found.quantile:.3f} standard deviations.",
        )
        yield Measure(
            "distribution-distance",
            "utility",
            label,
            found.distance,
            None,
            f"The share of records below any value of {label} is right to within"
            f" {found.distance:.3f} (Kolmogorov-Smirnov).",
        )
        for group in group_means(data, place):
            yield Measure(
                "group-mean-difference",
                "utility",
                f"{label} by {group.column}",
                group.difference,
                group.error,
                f"By {group.column}, the mean of {label} moved most in {group.category!r}"
                f" ({group.records} records): by {_signed(group.difference)} standard deviations.",
            )


def _correlation_rows(data: Compared, kind: Correlation) -> Iterator[Measure]:
    found = correlations(data, kind)
    if not len(found.differences):
        return
    word = "Pearson" if kind == "pearson" else "Spearman (rank)"
    yield Measure(
        f"{kind}-largest",
        "utility",
        "all columns",
        found.largest,
        None,
        f"Of the {len(found.differences)} {word} correlations of confidential columns the worst"
        f" moved by {found.largest:.3f}.",
    )
    yield Measure(
        f"{kind}-mean",
        "utility",
        "all columns",
        found.mean,
        None,
        f"The {word} correlations of confidential columns moved by {found.mean:.3f} on average.",
    )


def _share(value: float) -> str:
    return f"{100 * value:.1f} per cent"


def _signed(value: float) -> str:
    return f"{value + 0.0:+.3f}" if abs(value) >= 0.0005 else "0.000"


def _region(percent: float) -> str:
    return f"{percent:.3g}" if percent >= 0.001 else "0.001"
