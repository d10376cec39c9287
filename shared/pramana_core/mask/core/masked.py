"""What a masking method gives back, made of what it predicted and the noise that it added."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pramana_core.mask.core.caution import gravest_first
from pramana_core.mask.core.cautions import cautions, facts
from pramana_core.mask.core.influence import Influence
from pramana_core.mask.core.inputs import Inputs
from pramana_core.mixed.table import Floats


@dataclass(frozen=True, eq=False)
class Masked:
    """Masked values Y in the place of X; `values` alone may leave the owner.

    Attributes:
        method: the method's name.
        values: Y in the form that X was given in: a vector, an n x q array or a frame.
        matrix: Y as n x q numbers.
        expectation: what of Y is a function of S, n x q; None where Y was not made so.
        noise: what was added: e = Y - expectation, or Y - X where there is no expectation; n x q,
            None where values were reordered. With it Y gives X away.
        details: what was chosen on the way, by name: numbers and words that hold no record.
        warnings: sentences on what the custodian must know before this leaves.
        influence: what of Y is its records' own, before values were reordered; None where Y is not
            made of a prediction and noise.
    """

    method: str
    values: Any
    matrix: Floats = field(repr=False)
    expectation: Floats | None = field(default=None, repr=False)
    noise: Floats | None = field(default=None, repr=False)
    details: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    influence: Influence | None = field(default=None, repr=False)


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
