"""The measures of security as rows with a sentence each.

Also here:

* Self-influence: how far a record's masked value is made of its own true one.
* Security indices: the share of what is confidential that a snooper does not know.
* What of masked values is their records' own, as rows: by the method, which no measure can see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from pramana_core.kernel_regression.options import KernelOptions
from pramana_core.mask.core.inputs import normal_scores
from pramana_core.mask.core.masked import Influence
from pramana_core.mask.core.noise import Randomness
from pramana_core.mask.measures.compared import (
    ComparedTables,
    Expectation,
    Measure,
    expectation,
    pieces_of,
)
from pramana_core.mask.measures.snooper import (
    ALIKE,
    FOLDS,
    MOST,
    Canonical,
    Gain,
    Linkage,
    Piecewise,
    Snooper,
    by_s_alone,
    canonical,
    linkage,
    linkage_among_alike,
    linkage_by_matching,
    mean_rank,
    nearest,
    piecewise,
    redrawn,
    snooper_gains,
)
from pramana_core.mixed import Floats, leverages
from pramana_core.ties import first_largest

# Self-influence: how far a record's masked value is made of its own true one.
#
# A record that stands alone in S decides its own expectation; its residual is then nearly 0, and
# its masked value nearly the true one, however independent the noise is.

NEAR = 0.01
"""Masked values this close to the true ones, in standard deviations, count as the same."""
FEWEST = 50
MOST_PIECES = 32


@dataclass(frozen=True)
class Coincidences:
    """How many masked values of a column are within 1 % of a standard deviation of the true ones.

    Attributes:
        place: the column's place.
        found: how many are.
        expected: how many would be if Y were drawn independently of X given S.
        error: the standard deviation of that number.
    """

    place: int
    found: int
    expected: float
    error: float

    @property
    def excess(self) -> float:
        """found - expected, in standard deviations of that number; at least one record's worth."""
        return (self.found - self.expected) / max(self.error, 1.0)


def coincidences(
    told: Floats, true: Floats, masked: Floats, expected: Floats, place: int, *, near: float = NEAR
) -> Coincidences:
    """Count the masked values of one column that are nearly the true ones.

    How many are expected follows from all pairs of records that are alike in S: the expectation of
    the one with the residual of the other. Where one value is that of many records, as 0 often is,
    residuals added to other expectations miss it; so values are paired as they are too, among
    records alike in S and in what is expected of them, and the larger number counts.

    Args:
        told: S standardized, n x p.
        true: X, n x q.
        masked: Y in the same units.
        expected: fitted E(Y|S), n x q.
        place: which column.
        near: what counts as the same, in standard deviations of the column of X.
    """
    width = near * float(true[:, place].std())
    gap = np.abs(masked[:, place] - true[:, place])
    by_residuals, as_they_are = np.zeros((2, len(true)))
    for rows in pieces_of(told, MOST_PIECES, FEWEST):
        centre, wanted, drawn = expected[rows, place], true[rows, place], masked[rows, place]
        by_residuals[rows] = _among_others(wanted - centre, drawn - centre, width)
        for group in _alike(centre):
            alike = rows[group]
            as_they_are[alike] = _among_others(wanted[group], drawn[group], width)
    ways = by_residuals, as_they_are
    chances = ways[first_largest([float(way.sum()) for way in ways])]
    spread = float(np.sqrt(np.sum(chances * (1 - chances))))
    return Coincidences(place, int(np.count_nonzero(gap <= width)), float(chances.sum()), spread)


def _among_others(wanted: Floats, drawn: Floats, width: float) -> Floats:
    """Return for each record the share of the other records' draws that are near what it wants."""
    order = np.sort(drawn)
    upper = np.searchsorted(order, wanted + width, side="right")
    within = upper - np.searchsorted(order, wanted - width, side="left")
    within = within - (np.abs(drawn - wanted) <= width)
    shares: Floats = np.maximum(within, 0) / max(len(wanted) - 1, 1)
    return shares


def _alike(expected: Floats) -> list[npt.NDArray[np.intp]]:
    """Return the places of records of which about the same is expected; ties stay together."""
    count = max(len(expected) // FEWEST, 1)
    edges = np.quantile(expected, np.arange(1, count) / count)
    group = np.searchsorted(edges, expected, side="right")
    return [np.flatnonzero(group == which) for which in np.unique(group)]


# Security indices: the share of what is confidential that a snooper does not know.


@dataclass(frozen=True)
class SecurityIndex:
    """The share of variability that is not known, of the combination of columns best known.

    1 - the largest squared canonical correlation of X with (S, Y) (Muralidhar, Parsa and Sarathy
    1999; AlAhmadi, list of symbols): of all linear combinations of the columns of X the one that
    a snooper with S and Y tells best.

    Attributes:
        value: with S and Y; 1 is nothing known, 0 all.
        without: with S alone, which no masking of X changes.
        error: the standard error of `value`.
    """

    value: float
    without: float
    error: float


def security_index(told: Floats, true: Floats, masked: Floats) -> SecurityIndex:
    """Return the security index of X (n x q) by S (n x p) and Y (n x k), all relations linear."""
    nothing = np.empty((len(true), 0))
    both = canonical(true, np.column_stack([told, masked]), nothing)
    alone = canonical(true, told, nothing)
    return SecurityIndex(
        1 - both.largest**2, 1 - alone.largest**2, 2 * both.largest * float(both.error)
    )


def variance_index(true: Floats, masked: Floats) -> Floats:
    """Return Var(X - Y) / Var(X) of each column: q numbers.

    The older index, for additive noise. It knows neither S nor that Y could be wrong by a constant
    factor: Y = 3 X has index 4 and tells everything.
    """
    found: Floats = np.var(true - masked, axis=0) / np.var(true, axis=0)
    return found


# What of masked values is their records' own, as rows: by the method, which no measure can see.

NAMES = ("told-largest", "told-mean", "own-weight-largest", "own-weight-mean", "noise-least")


def own_weight_rows(influence: Influence, about: str) -> Iterator[Measure]:
    """Yield a row for the most and for the mean of what is told, of own weights and of noise.

    Args:
        influence: the method's.
        about: how all columns of X are called.
    """
    named = int(np.count_nonzero(influence.exposed))
    told, own = influence.told, influence.weights.max(axis=1)
    noise = float(influence.noises.min())
    records = "one record is" if named == 1 else f"{named:,} records are"
    alone = (
        f"Of the record that stands most alone the masked value tells {_share(told.max())} of"
        f" what S leaves, to whoever knows all others; {records} named for it."
    )
    most = (
        f"The masked value that moves most with its own true one moves by {_share(own.max())}"
        f" of it; of records that are not named, by {_share(influence.stated)}."
    )
    values = (
        (float(told.max()), alone),
        (float(told.mean()), f"On average it tells {_share(told.mean())}."),
        (float(own.max()), most),
        (float(own.mean()), f"On average a masked value moves by {_share(own.mean())}."),
        (noise, f"The record with the least noise has {_share(noise)} of the usual."),
    )
    for name, (value, sentence) in zip(NAMES, values, strict=True):
        alarm = name == "told-largest" and named > 0
        yield Measure(name, "security", about, value, None, sentence, alarm)


ALL = "all columns"
SNOOPERS: tuple[Snooper, ...] = ("kernel", "linear", "lines-only")
ORDER = (
    "snooper-gain-kernel",
    "snooper-gain-linear",
    "linkage-among-alike",
    "linkage-y-alone",
    "linkage-by-matching",
    "linkage-mean-rank",
    "near-true-values",
    *NAMES,
    "linkage",
    "linkage-s-alone",
    "leverage-largest-kernel",
    "leverage-mean-kernel",
    "leverage-largest-linear",
    "leverage-mean-linear",
    "security-index",
    "security-index-without",
    "canonical-correlation",
    "canonical-correlation-piecewise",
    "security-index-variance",
    "snooper-gain-lines-only",
    "security-index-lines-only",
    "canonical-correlation-lines-only",
)
"""As a custodian reads: what Y tells beyond S, who is found, what S tells anyway, the papers'
measures, and last what straight lines alone would say."""
UNLIKELY = 1e-6
"""Coincidences are few, so they are judged by a Poisson law; they are none below this chance."""
NOTHING_LEFT = (
    "Given S, nothing of X or of Y is left to be correlated, or the records are too few to tell."
)
SMALLEST = 0.005
"""Shares of variance below this are less than kernels fitted to some of the records can tell."""
SIGNIFICANT = 0.001
"""A report has some twenty tests; below this probability chance is no explanation."""


def security_steps() -> int:
    """Return how many steps `security_rows` reports."""
    return len(SNOOPERS) * FOLDS + 2


def security_rows(
    data: ComparedTables,
    rng: Randomness,
    on_step: Callable[[], None],
    influence: Influence | None = None,
) -> list[Measure]:
    """Return all measures of security; those of single values only where Y has the columns of X.

    Where the method's own weights are not known, leverages of a line and of a kernel stand for
    them.
    """
    by_s = data.fits.of("by S", lambda: _by_s(data, data.true, rng))
    masked_by_s = _by_s(data, data.masked, rng)
    on_step()
    curves = np.column_stack([by_s.fitted, masked_by_s.fitted])
    both = np.column_stack([data.told, curves])
    rows = [
        _canonical_row(canonical(data.true, data.masked, both), lines=False),
        _piecewise_row(piecewise(data.told, data.true, data.masked, given=curves)),
        _canonical_row(canonical(data.true, data.masked, data.told), lines=True),
        *_index_rows(data, curves),
    ]
    rows += _gain_rows(data, masked_by_s.fitted, rng, on_step)
    rows += _leverage_rows(data, by_s) if influence is None else own_weight_rows(influence, ALL)
    if data.alike:
        rows += _coincidence_rows(data, masked_by_s)
        rows += _linkage_rows(data, rng)
    on_step()
    return sorted(rows, key=lambda row: ORDER.index(row.name))


def _by_s(data: ComparedTables, columns: Floats, rng: Randomness) -> Expectation:
    landmarks = KernelOptions().landmarks
    return expectation("kernel", data.told, columns, rng, most=MOST, landmarks=landmarks)


def _gain_rows(
    data: ComparedTables, curves: Floats, rng: Randomness, on_step: Callable[[], None]
) -> Iterator[Measure]:
    told, true = data.told, data.true
    learned = data.fits.of("snooper", lambda: by_s_alone("kernel", told, true, rng))
    for snooper in SNOOPERS:
        lines = snooper == "lines-only"
        gains = snooper_gains(
            snooper,
            told,
            true,
            data.masked,
            rng,
            by_s=None if lines else learned,
            expected=None if lines else curves,
            on_fold=on_step,
        )
        for gain in gains:
            yield _gain_row(data.labels[gain.place], snooper, gain)


def _row(
    name: str, value: float, error: float | None, said: str, *, alarm: bool = False, of: str = ALL
) -> Measure:
    return Measure(name, "security", of, value, error, said, alarm)


def _canonical_row(found: Canonical, *, lines: bool) -> Measure:
    name = "canonical-correlation" + ("-lines-only" if lines else "")
    if not found.freedom:
        return _row(name, 0.0, None, NOTHING_LEFT)
    said = (
        f"Beyond {'straight lines' if lines else 'curves'} in S, the combination of columns that Y"
        f" tells best correlates {found.largest:.3f} with Y; chance exceeds {found.chance:.3f} once"
        f" in twenty. {_hint(found.p) if lines else _verdict(found.p, found.largest**2)}"
    )
    alarm = found.p < SIGNIFICANT and not lines and found.largest**2 > SMALLEST
    return _row(name, found.largest, found.error, said, alarm=alarm)


def _piecewise_row(found: Piecewise) -> Measure:
    name, worst = "canonical-correlation-piecewise", found.largest
    if not worst.freedom:
        return _row(name, 0.0, None, NOTHING_LEFT)
    said = (
        f"Among records alike in S ({len(found.pieces)} groups), the largest correlation of X with"
        f" Y is {worst.largest:.3f}; chance exceeds {worst.chance:.3f} once in twenty."
        f" {_verdict(found.p)}"
    )
    return _row(name, worst.largest, worst.error, said, alarm=found.p < SIGNIFICANT)


def _index_rows(data: ComparedTables, curves: Floats) -> Iterator[Measure]:
    best = security_index(np.column_stack([data.told, curves]), data.true, data.masked)
    lines = security_index(data.told, data.true, data.masked)
    said = (
        "Of the combination of confidential columns that is told best,"
        f" {_share(best.value)} of the variance stays unknown to a snooper with Y and the curves"
        f" over S; without Y it is {_share(best.without)}."
    )
    yield _row("security-index", best.value, best.error, said)
    said = (
        f"The curves over S alone, which are released on purpose, leave {_share(best.without)} of"
        " it unknown."
    )
    yield _row("security-index-without", best.without, None, said)
    said = (
        f"With straight lines over S and Y and no curves, {_share(lines.value)} stays unknown; with"
        f" lines over S alone, {_share(lines.without)}. Curves over S that Y shows count here,"
        " though S alone tells them."
    )
    yield _row("security-index-lines-only", lines.value, lines.error, said)
    if not data.alike:
        return
    for label, value in zip(data.labels, variance_index(data.true, data.masked), strict=True):
        said = (
            f"Masked and true {label} differ with {value:.3f} times the variance of {label} (the"
            " older index Var(X - Y) / Var(X), which says nothing of snoopers)."
        )
        yield _row("security-index-variance", float(value), None, said, of=label)


GAINS: dict[Snooper, str] = {
    "kernel": "with curves of any shape",
    "linear": "with curves over S and straight lines over what Y adds",
    "lines-only": "with straight lines and no curves over S",
}


def _gain_row(label: str, snooper: Snooper, found: Gain) -> Measure:
    share = found.gain / max(1 - found.without, 1e-300)
    lines = snooper == "lines-only"
    said = (
        f"Predicting {label} {GAINS[snooper]}, a snooper explains {_share(found.without)} from S"
        f" and {_share(found.together)} from S and Y."
        f" {_hint(found.p) if lines else _verdict(found.p, share)}"
    )
    alarm = found.p < SIGNIFICANT and not lines and share > SMALLEST
    gain = found.gain + 0.0
    return _row(f"snooper-gain-{snooper}", gain, found.error, said, alarm=alarm, of=label)


def _leverage_rows(data: ComparedTables, by_s: Expectation) -> Iterator[Measure]:
    for word, own in (("linear", leverages(data.basis)), ("kernel", by_s.leverages)):
        own_fit = "" if word == "linear" else ", if the kernel is chosen by left-out errors"
        largest, mean = float(own.max()), float(own[own > 0].mean())
        said = (
            f"The record that stands most alone in S makes up {_share(largest)} of its own"
            f" {word} expectation{own_fit}; near 100 per cent its true value would be released."
        )
        yield _row(f"leverage-largest-{word}", largest, None, said)
        said = f"On average a record makes up {_share(mean)} of its own {word} expectation."
        yield _row(f"leverage-mean-{word}", mean, None, said)


def _coincidence_rows(data: ComparedTables, masked_by_s: Expectation) -> Iterator[Measure]:
    for place in data.numeric:
        label = data.labels[place]
        found = coincidences(data.told, data.true, data.masked, masked_by_s.fitted, place)
        more = "That is coincidence."
        chance = float(stats.poisson.sf(found.found - 1, found.expected))
        if chance < UNLIKELY:
            more = "That is more than coincidence: masked values follow the true ones."
        said = (
            f"{found.found:,} masked values of {label} are within 1 per cent of a standard"
            f" deviation of the true ones; drawn independently, {found.expected:,.1f} would be."
            f" {more}"
        )
        alarm, count = chance < UNLIKELY, float(found.found)
        yield _row("near-true-values", count, found.error, said, alarm=alarm, of=label)


def _scored(data: ComparedTables) -> tuple[Floats, Floats]:
    """Return X and Y in the scale that linking is done in.

    Numbers are normal scores of their ranks among those of X and Y together, so that no outlier
    decides what is near; indicators of categories count by their standard deviation.
    """
    both = np.concatenate([data.true, data.masked]) / np.tile(data.scales, (2 * data.records, 1))
    numeric = list(data.numeric)
    both[:, numeric] = normal_scores(both[:, numeric])
    return both[: data.records], both[data.records :]


def _linkage_rows(data: ComparedTables, rng: Randomness) -> Iterator[Measure]:
    true, masked = _scored(data)
    numeric = np.isin(np.arange(true.shape[1]), data.numeric)
    # Indicators stay indicators: a category is taken from another record as it is.
    by_s = expectation("kernel", data.told, masked, rng, most=MOST)
    expected = np.where(numeric, by_s.fitted, 0.0)
    instead = redrawn(data.told, masked, expected, rng)
    alike = linkage_among_alike(data.told, true, masked, expected, rng)
    said = (
        f"Among {min(ALIKE, data.records)} records alike in S, Y points to the right person"
        f" {_share(alike.rate)} of the time; guessing does {_share(alike.chance)} of the time."
    )
    yield _linkage_row("linkage-among-alike", alike, said)
    alone = linkage(true, masked, instead)
    said = (
        f"The masked values nearest to a person's true ones are that person's for"
        f" {_share(alone.rate, 2)} of all; if Y told only what S tells, {_share(alone.chance, 2)}."
    )
    yield _linkage_row("linkage-y-alone", alone, said)
    matched = linkage_by_matching(true, masked, instead, rng)
    said = (
        f"Pairing all of {matched.records} true and masked records at best, a snooper pairs"
        f" {_share(matched.rate)} rightly; {_share(matched.chance)} if Y told only what S tells."
    )
    yield _linkage_row("linkage-by-matching", matched, said)
    rank = mean_rank(true, masked, instead, rng)
    said = (
        f"A person's own masked values are nearer than those of {_share(rank.rate)} of all; if"
        f" Y told only what S tells, than those of {_share(rank.chance)}."
    )
    yield _linkage_row("linkage-mean-rank", rank, said)
    everyone = np.arange(data.records)
    full = np.column_stack([data.told, masked])
    both = float(nearest(np.column_stack([data.told, true]), full, everyone).mean())
    alone_s = float(nearest(data.told, data.told, everyone).mean())
    error = float(np.sqrt(both * (1 - both) / data.records))
    said = (
        f"Whoever knows S and X of a person finds the right record by S and Y for {_share(both)} of"
        f" all; by S alone, which is released as it is, for {_share(alone_s)}."
    )
    yield _row("linkage", both, error, said)
    said = f"S alone identifies {_share(alone_s)} of the records, whatever is done to X."
    yield _row("linkage-s-alone", alone_s, None, said)


def _linkage_row(name: str, found: Linkage, words: str) -> Measure:
    said = f"{words} {_verdict(found.p)}"
    return _row(name, found.rate, found.error, said, alarm=found.p < SIGNIFICANT)


def _hint(p: float) -> str:
    """Return the verdict of straight lines, to which a curve over S is news."""
    if p < SIGNIFICANT:
        return (
            "Curves over S that Y shows count here, though S alone tells them; the same measure"
            ' without "lines-only" in its name leaves them out.'
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
