"""The measures of utility, which compare models fitted to the masked and to the true table.

Both models predict the true records (AlAhmadi V.2), and the measures compare these predictions.
Each confidential column is predicted from S, and from S with the other confidential columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from pramana_core.mask.core.inputs import Inputs
from pramana_core.mask.core.noise import Randomness
from pramana_core.mask.measures.expectations import Kind, expectation
from pramana_core.mask.measures.measure import Measure, per_cent
from pramana_core.mixed import Floats

WORDS: dict[Kind, str] = {"linear": "straight-line", "kernel": "kernel"}

WEAK = 10.0
"""The minimum of n times the left-out R2 of a relationship; slopes of weaker ones are noise."""

NOTHING = 1e-18
"""Smaller shares of the variance are rounding errors."""

Model = tuple[int, tuple[str, ...], Kind]
"""The index of a column of X, the columns of S and X that predict it, and the kind of the fit."""


def models_of(given: Inputs) -> Iterator[Model]:
    """Yield the models to compare; each predicts a column of X from S or from all other columns."""
    informative = tuple(name for name in given.s.names if _places(given, name))
    for place, label in enumerate(given.x.names):
        rest = tuple(name for name in given.x.names if name != label)
        for independent in dict.fromkeys(
            chosen for chosen in (informative, informative + rest) if chosen
        ):
            for kind in WORDS:
                yield place, independent, kind


def utility_rows(
    given: Inputs, masked: Floats, rng: Randomness, on_step: Callable[[], None]
) -> list[Measure]:
    """Return all measures of utility of a masked table."""
    rows = []
    for model in models_of(given):
        rows += model_rows(given, masked, model, rng)
        on_step()
    return rows


def model_rows(given: Inputs, masked: Floats, model: Model, rng: Randomness) -> list[Measure]:
    """Return the slope and the R2 of a model, fitted to the true and to the masked table."""
    place, independent, kind = model
    known = given.told[:, [k for name in independent for k in _places(given, name)]]
    rest = [given.x.names.index(name) for name in independent if name in given.x.names]
    features = np.column_stack([known, given.matrix[:, rest]])
    released = np.column_stack([known, masked[:, rest]])
    true = given.matrix[:, [place]]
    original = expectation(kind, features, true, rng)
    by_masked = expectation(kind, released, masked[:, [place]], rng).predict(features)
    variance = float(true.var())
    slope, r2 = relationship(original.fitted[:, 0], by_masked[:, 0], variance)
    strength = 1 - float(np.mean((true - original.left_out) ** 2)) / variance
    if strength * len(true) < WEAK or math.isnan(slope):
        slope = r2 = math.nan
        of_slope = of_r2 = "The true table has no such relationship that masking could keep."
    else:
        word = WORDS[kind]
        of_slope = (
            f"Where the {word} fit of the true table rises by 1, the fit of the masked table rises"
            f" by {slope:.3f}; 1 is ideal."
        )
        of_r2 = (
            f"The {word} fit of the masked table reproduces {per_cent(r2)} of the variation in the"
            " fit of the true table."
        )
    about = f"{given.x.names[place]} given {', '.join(independent)}"
    return [
        Measure(f"relationship-slope-{kind}", "utility", about, slope, None, of_slope),
        Measure(f"relationship-r2-{kind}", "utility", about, r2, None, of_r2),
    ]


def relationship(by_true: Floats, by_masked: Floats, variance: float) -> tuple[float, float]:
    """Return slope and R2 of n masked predictions against the true ones (AlAhmadi V.2, VII.2)."""
    original, masked = by_true - by_true.mean(), by_masked - by_masked.mean()
    size, other = float(original @ original), float(masked @ masked)
    if size <= NOTHING * len(original) * variance:
        return math.nan, math.nan
    both = float(original @ masked)
    r2 = both**2 / (size * other) if other > NOTHING * size else 0.0
    return both / size, min(r2, 1.0)


def _places(given: Inputs, name: str) -> list[int]:
    """Return the design matrix's columns that represent a column of S; none if it is redundant."""
    return [k for k, (source, _) in enumerate(given.design.sources) if source == name]
