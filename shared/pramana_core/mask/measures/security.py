"""The measures of security: what a snooper gains, and what of each value is its record's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from pramana_core.kernel_regression.fitting import LANDMARKS
from pramana_core.mask.core.influence import Influence
from pramana_core.mask.core.inputs import Inputs
from pramana_core.mask.core.noise import Randomness
from pramana_core.mask.measures.expectations import expectation
from pramana_core.mask.measures.measure import Measure, per_cent
from pramana_core.mask.measures.snooper import FOLDS, MOST, snooper_gains
from pramana_core.mixed import Floats

SMALLEST = 0.005
"""Smaller shares of variance are beyond what kernels fitted to some of the records can tell."""

SIGNIFICANT = 0.001
"""A report has several tests; below this probability chance is no explanation."""

SECURITY_STEPS = FOLDS + 1
"""The steps that `security_rows` reports."""


def security_rows(
    given: Inputs,
    masked: Floats,
    rng: Randomness,
    on_step: Callable[[], None],
    influence: Influence | None = None,
) -> list[Measure]:
    """Return all measures of security; those of own weights only if the method states them."""
    curves = expectation("kernel", given.told, masked, rng, most=MOST, landmarks=LANDMARKS)
    on_step()
    rows: list[Measure] = []
    gains = snooper_gains(
        given.told, given.matrix, masked, rng, expected=curves.fitted, on_fold=on_step
    )
    for label, found in zip(given.x.names, gains, strict=True):
        share = found.gain / max(1 - found.without, 1e-300)
        said = (
            f"Predicting {label}, a snooper explains {per_cent(found.without)} from S and"
            f" {per_cent(found.together)} from S and Y. {_verdict(found.p, share)}"
        )
        alarm = found.p < SIGNIFICANT and share > SMALLEST
        gain = found.gain + 0.0
        rows.append(Measure("snooper-gain", "security", label, gain, found.error, said, alarm))
    return rows + ([] if influence is None else list(_own_weight_rows(influence)))


def _own_weight_rows(influence: Influence) -> Iterator[Measure]:
    """Yield the most that is told of a record, and the largest own weight."""
    named = int(np.count_nonzero(influence.exposed))
    told, own = float(influence.told.max()), float(influence.weights.max())
    records = "one record is" if named == 1 else f"{named:,} records are"
    alone = (
        f"Of the record that stands most alone the masked value tells {per_cent(told)} of what S"
        f" leaves, to whoever knows all others; {records} named for it."
    )
    most = (
        f"The masked value that moves most with its own true one moves by {per_cent(own)} of it; of"
        f" records that are not named, by {per_cent(influence.stated)}."
    )
    yield Measure("told-largest", "security", "all columns", told, None, alone, named > 0)
    yield Measure("own-weight-largest", "security", "all columns", own, None, most)


def _verdict(p: float, share: float) -> str:
    if p < SIGNIFICANT and share <= SMALLEST:
        return "That is less than such fits can tell apart."
    if p < SIGNIFICANT:
        return "Y gives something away."
    if p < 0.05:
        return "Chance does so in fewer than one table of twenty."
    return "That is no more than chance."
