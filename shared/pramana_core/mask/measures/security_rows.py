"""The measures of security as rows with a sentence each.

Also here:

* Self-influence: how far a record's masked value is made of its own true one.
* What of masked values is their records' own, as rows: by the method, which no measure can see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from pramana_core.kernel_regression.options import KernelOptions
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
    FOLDS,
    MOST,
    Canonical,
    Gain,
    Snooper,
    by_s_alone,
    canonical,
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
    "near-true-values",
    *NAMES,
    "leverage-largest-kernel",
    "leverage-mean-kernel",
    "leverage-largest-linear",
    "leverage-mean-linear",
    "canonical-correlation",
    "snooper-gain-lines-only",
)
"""As a custodian reads: what Y tells beyond S, whose values are known, and last what straight lines
alone would say."""
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
    by_s, masked_by_s = _by_s(data, data.true, rng), _by_s(data, data.masked, rng)
    on_step()
    curves = np.column_stack([data.told, by_s.fitted, masked_by_s.fitted])
    rows = [_canonical_row(canonical(data.true, data.masked, curves))]
    rows += _gain_rows(data, masked_by_s.fitted, rng, on_step)
    rows += _leverage_rows(data, by_s) if influence is None else own_weight_rows(influence, ALL)
    if data.alike:
        rows += _coincidence_rows(data, masked_by_s)
    on_step()
    return sorted(rows, key=lambda row: ORDER.index(row.name))


def _by_s(data: ComparedTables, columns: Floats, rng: Randomness) -> Expectation:
    landmarks = KernelOptions().landmarks
    return expectation("kernel", data.told, columns, rng, most=MOST, landmarks=landmarks)


def _gain_rows(
    data: ComparedTables, curves: Floats, rng: Randomness, on_step: Callable[[], None]
) -> Iterator[Measure]:
    told, true = data.told, data.true
    learned = by_s_alone("kernel", told, true, rng)
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


def _canonical_row(found: Canonical) -> Measure:
    name = "canonical-correlation"
    if not found.freedom:
        return _row(name, 0.0, None, NOTHING_LEFT)
    said = (
        "Beyond curves in S, the combination of columns that Y tells best correlates"
        f" {found.largest:.3f} with Y; chance exceeds {found.chance:.3f} once in twenty."
        f" {_verdict(found.p, found.largest**2)}"
    )
    alarm = found.p < SIGNIFICANT and found.largest**2 > SMALLEST
    return _row(name, found.largest, found.error, said, alarm=alarm)


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


def _share(value: float) -> str:
    return f"{100 * value + 0.0:.1f} per cent"
