"""Cautions for a custodian, sorted by severity, the most severe first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from typing import Self

import numpy as np
import numpy.typing as npt

from pramana_core.mask.core.inputs import Inputs
from pramana_core.mixed import Floats


class Gravity(IntEnum):
    """The severity of a caution, named by its subject, the most severe first."""

    GRAVE = 0
    """Readers of the release may find single true values."""
    WARNING = 1
    """Masked values are near the true values, or they mislead an analyst."""
    NOTE = 2
    """Something was left out, or is kept less exactly than promised."""


class Caution(str):
    """A sentence with its severity, `gravity`. It names columns but never values."""

    __slots__ = ("gravity",)
    gravity: Gravity

    def __new__(cls, sentence: str, gravity: Gravity = Gravity.WARNING) -> Self:
        """Return a caution with this sentence and severity."""
        made = super().__new__(cls, sentence)
        made.gravity = gravity
        return made


def gravity_of(sentence: str) -> Gravity:
    """Return the severity of a sentence. A plain string counts as a warning."""
    return sentence.gravity if isinstance(sentence, Caution) else Gravity.WARNING


def gravest_first(sentences: Iterable[str]) -> tuple[str, ...]:
    """Return distinct sentences, the most severe first. Equally severe ones stay in order."""
    return tuple(sorted(dict.fromkeys(sentences), key=gravity_of))


DOMINANT = 0.9
"""A value with more than this share of its column's sum of squares dominates the column."""

NEARLY_TOLD = 0.95
"""If S explains more of a column's variance, masked values are near the true values."""

SPARE = 20
"""If n exceeds the number of columns by less, exact moments narrow down the true values."""

DIGITS = 45
"""The approximate information, in bits, that one exact equation gives about the true values."""

OFFSET = 1e6
"""If a mean is farther from 0 than this, in standard deviations, moments lose digits."""


def cautions(
    given: Inputs, scored: Inputs | None = None, *, predicting: bool = True
) -> tuple[Caution, ...]:
    """Return cautions about unusual S and X; they name columns but never values.

    If noise is generated from scores, `scored` has the scores of `given`. With `predicting`, the
    method predicts X from S.
    """
    used = given if scored is None else scored
    shares = np.max(given.standard**2, axis=0) / given.records
    explained = 1 - np.mean(used.standard_residuals**2, axis=0)
    offsets = np.abs(given.centres) / given.scales
    found = []
    if same := [column.name for column in given.s.columns if column.is_constant]:
        sentence = f"Columns {same} of S have the same value in every record and were omitted."
        found.append(Caution(sentence, Gravity.NOTE))
    if names := _where(given, shares > DOMINANT):
        effect = (
            "it sets the size of the noise in all records, so its record may be recognizable"
            if scored is None
            else "it may be recognizable in the release"
        )
        sentence = (
            f"One value causes more than {DOMINANT:.0%} of the variance of {names}: {effect}. Cut"
            " it off, take logarithms or remove its record before masking."
        )
        found.append(Caution(sentence, Gravity.GRAVE))
    if predicting and (names := _where(given, explained > NEARLY_TOLD)):
        sentence = (
            f"S explains more than {NEARLY_TOLD:.0%} of the variance of {names}, so masked values"
            " are close to the true ones, and so is any prediction from S."
        )
        found.append(Caution(sentence))
    if predicting and scored is None and (names := _where(given, offsets > OFFSET)):
        sentence = (
            f"The mean is more than {OFFSET:g} standard deviations from 0 in {names}: moments are"
            " kept only up to the rounding of such numbers. Subtract a constant before masking."
        )
        found.append(Caution(sentence, Gravity.NOTE))
    if predicting and (names := _where(given, _solvable(given))):
        sentence = (
            f"There are too few records or distinct values in {names}. Methods whose noise is"
            " orthogonal to X (egadp, nmegadp) satisfy exact equations, from which a search can"
            " find the true values. Mask more records, or use gadp or ipso."
        )
        found.append(Caution(sentence, Gravity.GRAVE))
    spare = given.records - used.both.shape[1]
    if predicting and spare < SPARE:
        sentence = (
            f"There are only {spare} more records than columns of S and X together, so exact"
            " moments of the masked values narrow down the true ones. Mask more records or fewer"
            " columns."
        )
        found.append(Caution(sentence, Gravity.GRAVE))
    return tuple(found)


def _solvable(given: Inputs) -> npt.NDArray[np.bool_]:
    """Return which columns have so few, equally spaced values that equations can reveal them."""
    bits = []
    for column in given.matrix.T:
        # Numbers that overflow when divided by the finest step are not in equal steps.
        with np.errstate(over="ignore", invalid="ignore"):
            steps = (column - column.min()) / np.diff(np.unique(column)).min()
            equal = np.abs(steps - np.round(steps)).max() < 1e-6
        bits.append(given.records * np.log2(1 + steps.max()) if equal else np.inf)
    return np.array(bits) < DIGITS * given.columns


def _where(given: Inputs, chosen: npt.NDArray[np.bool_]) -> str:
    names = [name for name, one in zip(given.x.names, chosen, strict=True) if one]
    return f"column{'s' if len(names) > 1 else ''} {', '.join(map(repr, names))}" if names else ""


def below_zero(names: Sequence[str], true: Floats, masked: Floats) -> Iterator[str]:
    """Yield a sentence for each column with negative masked but no negative true values."""
    for name, values, released in zip(names, true.T, masked.T, strict=True):
        count = int(np.count_nonzero(released < 0))
        if count and not np.any(values < 0):
            many = f"{count:,} masked values of {name!r} are"
            one = f"1 masked value of {name!r} is"
            yield f"{one if count == 1 else many} below 0, although all true values are not"
