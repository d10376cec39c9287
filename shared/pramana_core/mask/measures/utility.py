"""The measures of utility: models fitted on the masked table and on the true one.

Both predict the true records (AlAhmadi V.2): how closely the masked relationship follows the true
one, and how well a model fitted on masked records predicts true ones. Each confidential column is
predicted from S, and from S with the other confidential columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from pramana_core.mask.core.noise import Randomness
from pramana_core.mask.measures.compared import ComparedTables
from pramana_core.mask.measures.expectations import Kind, expectation
from pramana_core.mask.measures.measure import Measure, per_cent
from pramana_core.mixed import Floats

WORDS: dict[Kind, str] = {"linear": "straight-line", "kernel": "kernel"}

WEAK = 10.0
"""The least left-out R2 times n of a relationship: slopes on noise are noise."""

NOTHING = 1e-18
"""A share of the variance that is rounding."""


def independents(data: ComparedTables, place: int) -> tuple[tuple[str, ...], ...]:
    """Return the sets of columns that one column of X is predicted from: S, and all others."""
    told = data.told_names
    rest = tuple(name for name in data.labels if name != data.labels[place])
    return tuple(dict.fromkeys(chosen for chosen in (told, told + rest) if chosen))


def utility_steps(data: ComparedTables) -> int:
    """Return how many steps `utility_rows` reports."""
    return len(WORDS) * sum(len(independents(data, place)) for place in range(len(data.labels)))


def utility_rows(
    data: ComparedTables, rng: Randomness, on_step: Callable[[], None]
) -> list[Measure]:
    """Return all measures of utility."""
    rows = []
    for place in range(len(data.labels)):
        for independent in independents(data, place):
            for kind in WORDS:
                rows += model_rows(data, place, independent, kind, rng)
                on_step()
    return rows


def model_rows(
    data: ComparedTables, place: int, independent: Sequence[str], kind: Kind, rng: Randomness
) -> list[Measure]:
    """Return slope, R2 and error ratio of a model of one column fitted on both tables.

    Args:
        data: S, X and Y.
        place: the index of the column in X.
        independent: the columns of S and X that it is predicted from.
        kind: how models are fitted.
        rng: draws the records that a kernel is made of.
    """
    told = [k for name in independent for k in data.told_places(name)]
    rest = [data.labels.index(name) for name in independent if name in data.labels]
    features = np.column_stack([data.told[:, told], data.true[:, rest]])
    released = np.column_stack([data.told[:, told], data.masked[:, rest]])
    true = data.true[:, place]
    original = expectation(kind, features, true[:, None], rng)
    masked = expectation(kind, released, data.masked[:, [place]], rng)
    by_masked, left_out = masked.predict(features)[:, 0], original.left_out[:, 0]
    slope, r2 = relationship(original.fitted[:, 0], by_masked, float(true.var()))
    ratio, error, baseline = error_ratio(true, left_out, by_masked)
    word = WORDS[kind]
    strength = 1 - float(np.mean((true - left_out) ** 2)) / float(true.var())
    none = "The true table shows no such relationship, so there is none to keep."
    if strength * len(true) < WEAK or math.isnan(slope):
        slope = r2 = math.nan
    slope_words = (
        f"Where the true table's {word} fit rises by 1, the masked table's rises by {slope:.3f}; 1"
        " is right."
    )
    r2_words = (
        f"The masked table's {word} fit follows {per_cent(r2)} of the ups and downs of the true"
        " one's."
    )
    ratio_words = (
        f"A {word} model fitted on the masked table predicts true records with {ratio:.2f} times"
        f" the squared error of one fitted on true records; the mean alone has {baseline:.2f}"
        " times."
    )
    about = f"{data.labels[place]} given {', '.join(independent)}"
    return [
        Measure(f"{name}-{kind}", "utility", about, value, stated, missing if lacks else words)
        for name, value, stated, lacks, missing, words in (
            ("relationship-slope", slope, None, math.isnan(slope), none, slope_words),
            ("relationship-r2", r2, None, math.isnan(slope), none, r2_words),
            (
                "mse-ratio",
                ratio,
                None if math.isnan(error) else error,
                math.isnan(ratio),
                "The true model makes no errors, so there is no ratio.",
                ratio_words,
            ),
        )
    ]


def error_ratio(true: Floats, left_out: Floats, by_masked: Floats) -> tuple[float, float, float]:
    """Return how much worse the masked model predicts the true records (AlAhmadi V.2).

    Args:
        true: n numbers.
        left_out: the predictions of the true model, each without the record itself.
        by_masked: those of the masked model.

    Returns:
        the ratio of mean squared errors, its standard error over records by the delta method, and
        the same ratio of the column's mean alone; NaN if the true model makes no errors.
    """
    own, other = (true - left_out) ** 2, (true - by_masked) ** 2
    base, variance = float(own.mean()), float(true.var())
    if base <= NOTHING * variance:
        return math.nan, math.nan, math.nan
    ratio = float(other.mean()) / base
    error = float(np.std(other - ratio * own, ddof=1) / np.sqrt(len(own))) / base
    return ratio, error, variance / base


def relationship(by_true: Floats, by_masked: Floats, variance: float) -> tuple[float, float]:
    """Return slope and R2 of the masked relationship on the true one (AlAhmadi V.2, VII.2).

    Args:
        by_true: the predictions of the true model, n.
        by_masked: those of the masked one.
        variance: of the column; a true relationship that is rounding beside it has neither.
    """
    original, masked = by_true - by_true.mean(), by_masked - by_masked.mean()
    size, other = float(original @ original), float(masked @ masked)
    if size <= NOTHING * len(original) * variance:
        return math.nan, math.nan
    both = float(original @ masked)
    r2 = both**2 / (size * other) if other > NOTHING * size else 0.0
    return both / size, min(r2, 1.0)
