"""The measures of security as rows with a sentence each."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy import stats

from pramana_core.kernel_regression.options import KernelOptions
from pramana_core.mask.core.influence import Influence
from pramana_core.mask.core.noise import Randomness
from pramana_core.mask.measures.canonical import canonical
from pramana_core.mask.measures.coincidences import coincidences
from pramana_core.mask.measures.compared import ComparedTables
from pramana_core.mask.measures.expectations import Kind, expectation
from pramana_core.mask.measures.measure import Measure, per_cent
from pramana_core.mask.measures.snooper import FOLDS, MOST, by_s_alone, snooper_gains
from pramana_core.mixed import Floats

ALL = "all columns"

SNOOPERS: dict[Kind, str] = {
    "kernel": "with curves of any shape",
    "linear": "with curves over S and straight lines over what Y adds",
}
"""Each snooper, and how he predicts."""

ORDER = (
    "snooper-gain-kernel",
    "snooper-gain-linear",
    "near-true-values",
    "told-largest",
    "told-mean",
    "own-weight-largest",
    "own-weight-mean",
    "noise-least",
    "canonical-correlation",
)
"""As a custodian reads: what Y tells beyond S, then whose values are known."""

UNLIKELY = 1e-6
"""Coincidences are few, so they are judged by a Poisson law; they are none below this chance."""

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
    """Return all measures of security; those of own weights only where the method states them."""
    by_s, masked_by_s = (_by_s(data, columns, rng) for columns in (data.true, data.masked))
    on_step()
    curves = np.column_stack([data.told, by_s, masked_by_s])
    rows = [_canonical_row(data, curves), *_gain_rows(data, masked_by_s, rng, on_step)]
    rows += [] if influence is None else own_weight_rows(influence)
    rows += _coincidence_rows(data, masked_by_s)
    on_step()
    return sorted(rows, key=lambda row: ORDER.index(row.name))


def _by_s(data: ComparedTables, columns: Floats, rng: Randomness) -> Floats:
    landmarks = KernelOptions().landmarks
    return expectation("kernel", data.told, columns, rng, most=MOST, landmarks=landmarks).fitted


def _row(
    name: str, value: float, error: float | None, said: str, *, alarm: bool = False, of: str = ALL
) -> Measure:
    return Measure(name, "security", of, value, error, said, alarm)


def _gain_rows(
    data: ComparedTables, curves: Floats, rng: Randomness, on_step: Callable[[], None]
) -> Iterator[Measure]:
    learned = by_s_alone(data.told, data.true, rng)
    for kind, how in SNOOPERS.items():
        gains = snooper_gains(
            kind,
            data.told,
            data.true,
            data.masked,
            rng,
            by_s=learned,
            expected=curves,
            on_fold=on_step,
        )
        for found in gains:
            label = data.labels[found.place]
            share = found.gain / max(1 - found.without, 1e-300)
            said = (
                f"Predicting {label} {how}, a snooper explains {per_cent(found.without)} from S and"
                f" {per_cent(found.together)} from S and Y. {_verdict(found.p, share)}"
            )
            alarm = found.p < SIGNIFICANT and share > SMALLEST
            name = f"snooper-gain-{kind}"
            yield _row(name, found.gain + 0.0, found.error, said, alarm=alarm, of=label)


def _canonical_row(data: ComparedTables, curves: Floats) -> Measure:
    found = canonical(data.true, data.masked, curves)
    said = (
        "Given S, nothing of X or of Y is left to be correlated, or the records are too few to"
        " tell."
    )
    if found.freedom:
        said = (
            "Beyond curves in S, the combination of columns that Y tells best correlates"
            f" {found.largest:.3f} with Y; chance exceeds {found.chance:.3f} once in twenty."
            f" {_verdict(found.p, found.largest**2)}"
        )
    alarm = found.p < SIGNIFICANT and found.largest**2 > SMALLEST
    error = found.error if found.freedom else None
    return _row("canonical-correlation", found.largest, error, said, alarm=alarm)


def own_weight_rows(influence: Influence) -> Iterator[Measure]:
    """Yield a row for the most and for the mean of what is told, of own weights and of noise."""
    named = int(np.count_nonzero(influence.exposed))
    told, own = influence.told, influence.weights.max(axis=1)
    noise = float(influence.noises.min())
    records = "one record is" if named == 1 else f"{named:,} records are"
    yield _row(
        "told-largest",
        float(told.max()),
        None,
        f"Of the record that stands most alone the masked value tells {per_cent(told.max())} of"
        f" what S leaves, to whoever knows all others; {records} named for it.",
        alarm=named > 0,
    )
    yield _row(
        "told-mean", float(told.mean()), None, f"On average it tells {per_cent(told.mean())}."
    )
    yield _row(
        "own-weight-largest",
        float(own.max()),
        None,
        f"The masked value that moves most with its own true one moves by {per_cent(own.max())} of"
        f" it; of records that are not named, by {per_cent(influence.stated)}.",
    )
    said = f"On average a masked value moves by {per_cent(own.mean())}."
    yield _row("own-weight-mean", float(own.mean()), None, said)
    said = f"The record with the least noise has {per_cent(noise)} of the usual."
    yield _row("noise-least", noise, None, said)


def _coincidence_rows(data: ComparedTables, expected: Floats) -> Iterator[Measure]:
    for place, label in enumerate(data.labels):
        found = coincidences(data.told, data.true, data.masked, expected, place)
        alarm = float(stats.poisson.sf(found.found - 1, found.expected)) < UNLIKELY
        more = "That is coincidence."
        if alarm:
            more = "That is more than coincidence: masked values follow the true ones."
        said = (
            f"{found.found:,} masked values of {label} are within 1 per cent of a standard"
            f" deviation of the true ones; drawn independently, {found.expected:,.1f} would be."
            f" {more}"
        )
        count = float(found.found)
        yield _row("near-true-values", count, found.error, said, alarm=alarm, of=label)


def _verdict(p: float, share: float) -> str:
    if p < SIGNIFICANT and share <= SMALLEST:
        return "That is less than such fits can tell apart."
    if p < SIGNIFICANT:
        return "Y gives something away."
    if p < 0.05:
        return "Chance does so in fewer than one table of twenty."
    return "That is no more than chance."
