"""The measures of security as rows with a sentence each."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from shared.kernel_regression.options import KernelOptions
from shared.mask.core.randomness import Randomness
from shared.mask.core.ranks import normal_scores
from shared.mask.measures.core.compared import Compared
from shared.mask.measures.core.expectations import Expectation, Kind, expectation
from shared.mask.measures.core.measure import Measure
from shared.mask.measures.security.canonical import Canonical, Piecewise, canonical, piecewise
from shared.mask.measures.security.index import security_index, variance_index
from shared.mask.measures.security.influence import coincidences
from shared.mask.measures.security.linkage import (
    ALIKE,
    Linkage,
    linkage,
    linkage_among_alike,
    linkage_by_matching,
    mean_rank,
    nearest,
    redrawn,
)
from shared.mask.measures.security.snooper import FOLDS, MOST, Gain, snooper_gains
from shared.mixed.design import leverages
from shared.mixed.table import Floats

ALL = "all columns"
KINDS: tuple[Kind, ...] = ("linear", "kernel")
UNLIKELY = 4.0
"""More coincidences than expected by so many standard deviations are none."""
NOTHING_LEFT = (
    "Given S, nothing of X or of Y is left to be correlated, or the records are too few to tell."
)
SMALLEST = 0.005
"""Shares of variance below this are less than kernels fitted to some of the records can tell."""
SIGNIFICANT = 0.001
"""A report has some twenty tests; below this probability chance is no explanation."""


def security_steps() -> int:
    """Return how many steps `security_rows` reports."""
    return len(KINDS) * FOLDS + 2


def security_rows(data: Compared, rng: Randomness, on_step: Callable[[], None]) -> list[Measure]:
    """Return all measures of security; those of single values only where Y has the columns of X."""
    by_s, masked_by_s = (
        expectation(
            "kernel",
            data.told,
            columns,
            rng,
            most=MOST,
            landmarks=KernelOptions().landmarks,
        )
        for columns in (data.true, data.masked)
    )
    on_step()
    curves = np.column_stack([by_s.fitted, masked_by_s.fitted])
    rows = [*_canonical_rows(data, curves), *_index_rows(data, curves)]
    for kind in KINDS:
        gains = snooper_gains(kind, data.told, data.true, data.masked, rng, on_fold=on_step)
        rows += [_gain_row(data.labels[gain.place], kind, gain) for gain in gains]
    rows += _leverage_rows(data, by_s)
    if data.alike:
        rows += _coincidence_rows(data, masked_by_s)
        rows += _linkage_rows(data, rng)
    on_step()
    return rows


def _canonical_rows(data: Compared, curves: Floats) -> Iterator[Measure]:
    both = np.column_stack([data.told, curves])
    yield _canonical_row("", canonical(data.true, data.masked, data.told))
    yield _canonical_row("-kernel", canonical(data.true, data.masked, both))
    yield _piecewise_row(piecewise(data.told, data.true, data.masked, given=curves))


def _canonical_row(suffix: str, found: Canonical) -> Measure:
    given = "curves in S" if suffix else "straight lines in S"
    if not found.freedom:
        return Measure(f"canonical-correlation{suffix}", "security", ALL, 0.0, None, NOTHING_LEFT)
    return Measure(
        f"canonical-correlation{suffix}",
        "security",
        ALL,
        found.largest,
        found.error,
        f"Beyond {given}, the combination of columns that Y tells best correlates"
        f" {found.largest:.3f} with Y; chance exceeds {found.chance:.3f} once in twenty."
        f" {_verdict(found.p, found.largest**2) if suffix else _hint(found.p)}",
        found.p < SIGNIFICANT and bool(suffix) and found.largest**2 > SMALLEST,
    )


def _piecewise_row(found: Piecewise) -> Measure:
    worst = found.largest
    if not worst.freedom:
        return Measure("canonical-correlation-piecewise", "security", ALL, 0.0, None, NOTHING_LEFT)
    return Measure(
        "canonical-correlation-piecewise",
        "security",
        ALL,
        worst.largest,
        worst.error,
        f"Among records alike in S ({len(found.pieces)} groups), the largest correlation of X with"
        f" Y is {worst.largest:.3f}; chance exceeds {worst.chance:.3f} once in twenty."
        f" {_verdict(found.p)}",
        found.p < SIGNIFICANT,
    )


def _index_rows(data: Compared, curves: Floats) -> Iterator[Measure]:
    found = security_index(data.told, data.true, data.masked)
    best = security_index(np.column_stack([data.told, curves]), data.true, data.masked)
    yield Measure(
        "security-index",
        "security",
        ALL,
        found.value,
        found.error,
        "Of the combination of confidential columns that straight lines tell best,"
        f" {_share(found.value)} of the variance stays unknown to a snooper with S and Y; with S"
        f" alone it is {_share(found.without)}. Curves over S that Y shows count as told by Y.",
    )
    yield Measure(
        "security-index-kernel",
        "security",
        ALL,
        best.value,
        best.error,
        "Of the combination of confidential columns that curves tell best,"
        f" {_share(best.value)} of the variance stays unknown to a snooper with S and Y; with S"
        f" alone it is {_share(best.without)}.",
    )
    yield Measure(
        "security-index-without",
        "security",
        ALL,
        found.without,
        None,
        f"By straight lines in S alone, {_share(found.without)} of it stays unknown, whatever is"
        " done to X.",
    )
    if not data.alike:
        return
    for label, value in zip(data.labels, variance_index(data.true, data.masked), strict=True):
        yield Measure(
            "security-index-variance",
            "security",
            label,
            float(value),
            None,
            f"Masked and true {label} differ with {value:.3f} times the variance of {label} (the"
            " older index Var(X - Y) / Var(X), which says nothing of snoopers).",
        )


def _gain_row(label: str, kind: Kind, found: Gain) -> Measure:
    words = "by straight lines" if kind == "linear" else "by curves of any shape"
    share = found.gain / max(1 - found.without, 1e-300)
    verdict = _hint(found.p) if kind == "linear" else _verdict(found.p, share)
    return Measure(
        f"snooper-gain-{kind}",
        "security",
        label,
        found.gain + 0.0,
        found.error,
        f"Predicting {label} {words}, a snooper explains {_share(found.without)} from S and"
        f" {_share(found.together)} from S and Y. {verdict}",
        found.p < SIGNIFICANT and kind == "kernel" and share > SMALLEST,
    )


def _leverage_rows(data: Compared, by_s: Expectation) -> Iterator[Measure]:
    for word, own in (("linear", leverages(data.basis)), ("kernel", by_s.leverages)):
        own_fit = "" if word == "linear" else ", if the kernel is chosen by left-out errors"
        largest, mean = float(own.max()), float(own[own > 0].mean())
        yield Measure(
            f"leverage-largest-{word}",
            "security",
            ALL,
            largest,
            None,
            f"The record that stands most alone in S makes up {_share(largest)} of its own"
            f" {word} expectation{own_fit}; near 100 per cent its true value would be released.",
        )
        yield Measure(
            f"leverage-mean-{word}",
            "security",
            ALL,
            mean,
            None,
            f"On average a record makes up {_share(mean)} of its own {word} expectation.",
        )


def _coincidence_rows(data: Compared, masked_by_s: Expectation) -> Iterator[Measure]:
    for place in data.numeric:
        label = data.labels[place]
        found = coincidences(data.told, data.true, data.masked, masked_by_s.fitted, place)
        more = "That is coincidence."
        if found.excess > UNLIKELY:
            more = "That is more than coincidence: masked values follow the true ones."
        yield Measure(
            "near-true-values",
            "security",
            label,
            float(found.found),
            found.error,
            f"{found.found} masked values of {label} are within 1 per cent of a standard deviation"
            f" of the true ones; drawn independently, {found.expected:.1f} would be. {more}",
            found.excess > UNLIKELY,
        )


def _scored(data: Compared) -> tuple[Floats, Floats]:
    """Return X and Y in the scale that linking is done in.

    Numbers are normal scores of their ranks among those of X and Y together, so that no outlier
    decides what is near; indicators of categories count by their standard deviation.
    """
    both = np.concatenate([data.true, data.masked]) / np.tile(data.scales, (2 * data.records, 1))
    numeric = list(data.numeric)
    both[:, numeric] = normal_scores(both[:, numeric])
    return both[: data.records], both[data.records :]


def _linkage_rows(data: Compared, rng: Randomness) -> Iterator[Measure]:
    true, masked = _scored(data)
    numeric = np.isin(np.arange(true.shape[1]), data.numeric)
    # Indicators stay indicators: a category is taken from another record as it is.
    by_s = expectation("kernel", data.told, masked, rng, most=MOST)
    expected = np.where(numeric, by_s.fitted, 0.0)
    instead = redrawn(data.told, masked, expected, rng)
    alike = linkage_among_alike(data.told, true, masked, expected, rng)
    count = min(ALIKE, data.records)
    yield _linkage_row(
        "linkage-among-alike",
        alike,
        f"Among {count} records alike in S, Y points to the right person {_share(alike.rate)} of"
        f" the time; guessing does {_share(alike.chance)} of the time.",
    )
    alone = linkage(true, masked, instead)
    yield _linkage_row(
        "linkage-y-alone",
        alone,
        f"The masked values nearest to a person's true ones are that person's for"
        f" {_share(alone.rate, 2)} of all; if Y told only what S tells, {_share(alone.chance, 2)}.",
    )
    matched = linkage_by_matching(true, masked, instead, rng)
    yield _linkage_row(
        "linkage-by-matching",
        matched,
        f"Pairing all of {matched.records} true and masked records at best, a snooper pairs"
        f" {_share(matched.rate)} rightly; {_share(matched.chance)} if Y told only what S tells.",
    )
    rank = mean_rank(true, masked, instead, rng)
    yield _linkage_row(
        "linkage-mean-rank",
        rank,
        f"A person's own masked values are nearer than those of {_share(rank.rate)} of all; if"
        f" Y told only what S tells, than those of {_share(rank.chance)}.",
    )
    everyone = np.arange(data.records)
    full = np.column_stack([data.told, masked])
    both = float(nearest(np.column_stack([data.told, true]), full, everyone).mean())
    alone_s = float(nearest(data.told, data.told, everyone).mean())
    error = float(np.sqrt(both * (1 - both) / data.records))
    yield Measure(
        "linkage",
        "security",
        ALL,
        both,
        error,
        f"Whoever knows S and X of a person finds the right record by S and Y for {_share(both)} of"
        f" all; by S alone, which is released as it is, for {_share(alone_s)}.",
    )
    yield Measure(
        "linkage-s-alone",
        "security",
        ALL,
        alone_s,
        None,
        f"S alone identifies {_share(alone_s)} of the records, whatever is done to X.",
    )


def _linkage_row(name: str, found: Linkage, words: str) -> Measure:
    sentence = f"{words} {_verdict(found.p)}"
    alarm = found.p < SIGNIFICANT
    return Measure(name, "security", ALL, found.rate, found.error, sentence, alarm)


def _hint(p: float) -> str:
    """Return the verdict of straight lines, to which a curve over S is news."""
    if p < SIGNIFICANT:
        return (
            "Curves over S that Y shows count here, though S alone tells them; the row for curves"
            " leaves them out."
        )
    return _verdict(p)


def _verdict(p: float, share: float = 1.0) -> str:
    if p < SIGNIFICANT and share <= SMALLEST:
        return "That is less than such fits can tell apart."
    if p < SIGNIFICANT:
        return "Y gives something away."
    if p < 0.05:
        return "Chance does so in fewer than one table of twenty."
    return "That is no more than chance."


def _share(value: float, digits: int = 1) -> str:
    return f"{100 * value + 0.0:.{digits}f} per cent"
