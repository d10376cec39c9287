"""The measures of security: what a snooper gains, and what of each value is its record's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from pramana_core.kernel_regression.options import KernelOptions
from pramana_core.mask.core.influence import Influence
from pramana_core.mask.core.noise import Randomness
from pramana_core.mask.measures.compared import ComparedTables
from pramana_core.mask.measures.expectations import expectation
from pramana_core.mask.measures.measure import Measure, per_cent
from pramana_core.mask.measures.snooper import FOLDS, MOST, snooper_gains

SMALLEST = 0.005
"""Smaller shares of variance are beyond what kernels fitted to some of the records can tell."""

SIGNIFICANT = 0.001
"""A report has several tests; below this probability chance is no explanation."""


def security_steps() -> int:
    """Return how many steps `security_rows` reports."""
    return FOLDS + 1


def security_rows(
    data: ComparedTables,
    rng: Randomness,
    on_step: Callable[[], None],
    influence: Influence | None = None,
) -> list[Measure]:
    """Return all measures of security; those of own weights only if the method states them."""
    landmarks = KernelOptions().landmarks
    curves = expectation("kernel", data.told, data.masked, rng, most=MOST, landmarks=landmarks)
    on_step()
    rows: list[Measure] = []
    for found in snooper_gains(
        data.told, data.true, data.masked, rng, expected=curves.fitted, on_fold=on_step
    ):
        label = data.labels[found.place]
        share = found.gain / max(1 - found.without, 1e-300)
        said = (
            f"Predicting {label}, a snooper explains {per_cent(found.without)} from S and"
            f" {per_cent(found.together)} from S and Y. {_verdict(found.p, share)}"
        )
        alarm = found.p < SIGNIFICANT and share > SMALLEST
        gain = found.gain + 0.0
        rows.append(Measure("snooper-gain", "security", label, gain, found.error, said, alarm))
    return rows + ([] if influence is None else list(own_weight_rows(influence)))


def own_weight_rows(influence: Influence) -> Iterator[Measure]:
    """Yield the largest and the mean of what is told, of own weights, and the least noise."""
    named = int(np.count_nonzero(influence.exposed))
    told, own = influence.told, influence.weights.max(axis=1)
    noise = float(influence.noises.min())
    records = "one record is" if named == 1 else f"{named:,} records are"
    alone = (
        f"Of the record that stands most alone the masked value tells {per_cent(told.max())} of"
        f" what S leaves, to whoever knows all others; {records} named for it."
    )
    most = (
        f"The masked value that moves most with its own true one moves by {per_cent(own.max())} of"
        f" it; of records that are not named, by {per_cent(influence.stated)}."
    )
    mean = f"On average a masked value moves by {per_cent(own.mean())}."
    least = f"The record with the least noise has {per_cent(noise)} of the usual."
    for name, value, said in (
        ("told-largest", told.max(), alone),
        ("told-mean", told.mean(), f"On average it tells {per_cent(told.mean())}."),
        ("own-weight-largest", own.max(), most),
        ("own-weight-mean", own.mean(), mean),
        ("noise-least", noise, least),
    ):
        alarm = name == "told-largest" and named > 0
        yield Measure(name, "security", "all columns", float(value), None, said, alarm)


def _verdict(p: float, share: float) -> str:
    if p < SIGNIFICANT and share <= SMALLEST:
        return "That is less than such fits can tell apart."
    if p < SIGNIFICANT:
        return "Y gives something away."
    if p < 0.05:
        return "Chance does so in fewer than one table of twenty."
    return "That is no more than chance."
