"""The measures of security: the gain of a snooper, and the weight of records' own values."""

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
"""Smaller shares of variance cannot be resolved by kernels fitted to a sample of records."""

SIGNIFICANT = 0.001
"""The significance level of the tests; it is small because a report has several tests."""

SECURITY_STEPS = FOLDS + 1
"""The number of steps that `security_rows` reports to `on_step`."""


def security_rows(
    given: Inputs,
    masked: Floats,
    rng: Randomness,
    on_step: Callable[[], None],
    influence: Influence | None = None,
) -> list[Measure]:
    """Return all measures of security, with own weights if the method reports its `influence`."""
    curves = expectation("kernel", given.told, masked, rng, most=MOST, landmarks=LANDMARKS)
    on_step()
    rows: list[Measure] = []
    gains = snooper_gains(
        given.told, given.matrix, masked, rng, expected=curves.fitted, on_fold=on_step
    )
    for label, result in zip(given.x.names, gains, strict=True):
        share = result.gain / max(1 - result.without, 1e-300)
        sentence = (
            f"A snooper who predicts {label} explains {per_cent(result.without)} of its variance"
            f" from S, and {per_cent(result.together)} from S and Y. {_verdict(result.p, share)}"
        )
        alarm = result.p < SIGNIFICANT and share > SMALLEST
        gain = result.gain + 0.0
        rows.append(Measure("snooper-gain", "security", label, gain, result.error, sentence, alarm))
    return rows + ([] if influence is None else list(_own_weight_rows(influence)))


def _own_weight_rows(influence: Influence) -> Iterator[Measure]:
    named = int(np.count_nonzero(influence.exposed))
    revealed, own = float(influence.told.max()), float(influence.weights.max())
    records = "one record is" if named == 1 else f"{named:,} records are"
    alone = (
        "To a reader who knows all other records, the masked value of the most exposed record"
        f" reveals {per_cent(revealed)} of the variance that S does not explain; {records} reported"
        " as exposed."
    )
    most = (
        f"At most, a masked value moves by {per_cent(own)} of a change in its own true value; among"
        f" records not reported as exposed, by {per_cent(influence.stated)}."
    )
    yield Measure("told-largest", "security", "all columns", revealed, None, alone, named > 0)
    yield Measure("own-weight-largest", "security", "all columns", own, None, most)


def _verdict(p: float, share: float) -> str:
    if p < SIGNIFICANT and share <= SMALLEST:
        return "The difference is below the resolution of such fits."
    if p < SIGNIFICANT:
        return "Y reveals something about X."
    if p < 0.05:
        return "By chance this happens in fewer than one table of twenty."
    return "The difference can be chance."
