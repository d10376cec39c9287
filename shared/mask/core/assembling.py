"""From standardized columns to masked ones: what the methods that predict and add noise share."""

from __future__ import annotations

from shared.mask.core.caution import gravest_first
from shared.mask.core.cautions import cautions, facts
from shared.mask.core.influence import Influence
from shared.mask.core.inputs import Inputs
from shared.mask.core.masked import Masked
from shared.mixed.table import Floats


def predicted_and_noise(
    method: str, given: Inputs, prediction: Floats, noise: Floats, influence: Influence
) -> Masked:
    """Return Y = prediction from S + noise, both of the standardized X: n x q."""
    values = given.in_units(prediction + noise)
    return Masked(
        method,
        given.restore(values),
        values,
        given.in_units(prediction),
        noise * given.scales,
        facts(given),
        gravest_first((*influence.warnings, *cautions(given))),
        influence,
    )
