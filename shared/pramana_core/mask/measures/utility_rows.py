"""The measures of utility: models fitted on the masked table and on the true one.

Both are asked at the true records (AlAhmadi V.2): how far the masked relationship follows the true
one, and how well a model predicts true records if it was fitted on masked ones. Each confidential
column is predicted from S, and from S with the other confidential columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pramana_core.mask.core.noise import Randomness
from pramana_core.mask.measures.compared import ComparedTables, Kind, Measure, expectation
from pramana_core.mixed import Floats


@dataclass(frozen=True, eq=False)
class ModelPair:
    """A model of one column fitted on the true table, and the same fitted on the masked one.

    Attributes:
        kind: "linear" or "kernel".
        dependent: the column that is predicted.
        independent: the columns that it is predicted from.
        true: the true column, n.
        by_true: what the model of the true table says of the n true records.
        left_out: the same, each by a fit without the record.
        by_masked: what the model of the masked table says of the same true records.
    """

    kind: Kind
    dependent: str
    independent: tuple[str, ...]
    true: Floats
    by_true: Floats
    left_out: Floats
    by_masked: Floats

    @property
    def about(self) -> str:
        """Such as "debt given age, gender"."""
        return f"{self.dependent} given {', '.join(self.independent)}"

    @property
    def strength(self) -> float:
        """R2 of the true model, left-out: what there is to be kept."""
        total = float(np.sum((self.true - self.true.mean()) ** 2))
        return 1 - float(np.sum((self.true - self.left_out) ** 2)) / total


@dataclass(frozen=True)
class MseRatio:
    """How much worse a model predicts true records for having been fitted on masked ones.

    Attributes:
        ratio: mean squared error of the masked model over that of the true one, left-out.
        error: its standard error over records, by the delta method.
        baseline: the same ratio of the column's mean alone: what knowing no model costs.
    """

    ratio: float
    error: float
    baseline: float


@dataclass(frozen=True)
class Relationship:
    """The masked relationship regressed on the true one, at the same records.

    Attributes:
        slope: of E(Y|.) on E(X|.); 1 if the relationship is kept, 0 if it is lost.
        r2: the share of variance explained; 1 if its shape is kept, whatever its size.
    """

    slope: float
    r2: float


def independents(data: ComparedTables, place: int) -> tuple[tuple[str, ...], ...]:
    """Return the sets of columns that one column of X is predicted from: S, and all others."""
    told = tuple(name for name in data.s.names if data.told_places(name))
    rest = tuple(
        name
        for name in data.x.names
        if data.true_places(name) and place not in data.true_places(name)
    )
    return tuple(dict.fromkeys(chosen for chosen in (told, told + rest) if chosen))


def model_pair(
    data: ComparedTables, place: int, independent: Sequence[str], kind: Kind, rng: Randomness
) -> ModelPair:
    """Fit a model of one column of X on the true table and on the masked one.

    Args:
        data: S, X and Y; alike.
        place: which column of X.
        independent: the columns of S and X that it is predicted from.
        kind: "linear" or "kernel".
        rng: draws which records a kernel is made of.
    """
    told = [k for name in independent if name in data.s.names for k in data.told_places(name)]
    rest = [k for name in independent if name in data.x.names for k in data.true_places(name)]
    features = np.column_stack([data.told[:, told], data.true[:, rest]])
    released = np.column_stack([data.told[:, told], data.masked[:, rest]])
    target = data.true[:, [place]]
    original = expectation(kind, features, target, rng)
    masked = expectation(kind, released, data.masked[:, [place]], rng)
    return ModelPair(
        kind,
        data.labels[place],
        tuple(independent),
        target[:, 0],
        original.fitted[:, 0],
        original.left_out[:, 0],
        masked.predict(features)[:, 0],
    )


def mse_ratio(pair: ModelPair) -> MseRatio:
    """Return how much worse the masked model predicts the true records (AlAhmadi V.2)."""
    own = (pair.true - pair.left_out) ** 2
    other = (pair.true - pair.by_masked) ** 2
    base = float(own.mean())
    variance = float(pair.true.var())
    if base <= 1e-18 * variance:
        return MseRatio(math.nan, math.nan, math.nan)
    ratio = float(other.mean()) / base
    error = float(np.std(other - ratio * own, ddof=1) / np.sqrt(len(own))) / base
    return MseRatio(ratio, error, variance / base)


def relationship(pair: ModelPair) -> Relationship:
    """Return slope and R2 of the masked relationship on the true one (AlAhmadi V.2, VII.2)."""
    original = pair.by_true - pair.by_true.mean()
    masked = pair.by_masked - pair.by_masked.mean()
    size, other = float(original @ original), float(masked @ masked)
    if size <= 1e-18 * len(original) * float(pair.true.var()):
        return Relationship(math.nan, math.nan)
    both = float(original @ masked)
    r2 = both**2 / (size * other) if other > 1e-18 * size else 0.0
    return Relationship(both / size, min(r2, 1.0))


KINDS: tuple[Kind, ...] = ("linear", "kernel")
WORDS = {"linear": "straight-line", "kernel": "kernel"}
WEAK = 10.0
"""A relationship whose left-out R2 times n is less than this is none: slopes on noise are noise."""


def utility_steps(data: ComparedTables) -> int:
    """Return how many steps `utility_rows` reports."""
    return len(KINDS) * sum(len(independents(data, place)) for place in range(len(data.labels)))


def utility_rows(
    data: ComparedTables, rng: Randomness, on_step: Callable[[], None]
) -> list[Measure]:
    """Return all measures of utility of a masked table whose columns are those of X."""
    pairs = []
    for place in range(len(data.labels)):
        for independent in independents(data, place):
            for kind in KINDS:
                pairs.append(model_pair(data, place, independent, kind, rng))
                on_step()
    return [row for pair in pairs for row in pair_rows(pair)]


def pair_rows(pair: ModelPair) -> list[Measure]:
    """Return the measures of one model fitted on both tables: slope, R2, MSE ratio."""
    kind, about, word = pair.kind, pair.about, WORDS[pair.kind]
    line, ratio = relationship(pair), mse_ratio(pair)
    weak = pair.strength * len(pair.true) < WEAK
    if weak or math.isnan(line.slope):
        line = Relationship(math.nan, math.nan)
        words = "The true table shows no such relationship, so there is none to keep."
        slope_words = r2_words = words
    else:
        slope_words = (
            f"Where the true table's {word} fit rises by 1, the masked table's rises by"
            f" {line.slope:.3f}; 1 is right."
        )
        r2_words = (
            f"The masked table's {word} fit follows {_share(line.r2)} of the ups and downs of"
            f" the true one's."
        )
    ratio_words = "The true model makes no errors, so there is no ratio."
    if not math.isnan(ratio.ratio):
        ratio_words = (
            f"A {word} model fitted on the masked table predicts true records with"
            f" {ratio.ratio:.2f} times the squared error of one fitted on true records; the mean"
            f" alone has {ratio.baseline:.2f} times."
        )
    error = None if math.isnan(ratio.error) else ratio.error
    return [
        Measure(f"relationship-slope-{kind}", "utility", about, line.slope, None, slope_words),
        Measure(f"relationship-r2-{kind}", "utility", about, line.r2, None, r2_words),
        Measure(f"mse-ratio-{kind}", "utility", about, ratio.ratio, error, ratio_words),
    ]


def _share(value: float) -> str:
    return f"{100 * value:.1f} per cent"
