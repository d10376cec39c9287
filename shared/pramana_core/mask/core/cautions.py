"""Sentences that a custodian must read, and how grave they are: the gravest come first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from typing import Self

import numpy as np
import numpy.typing as npt

from pramana_core.mask.core.inputs import Inputs
from pramana_core.mixed import Floats


class Gravity(IntEnum):
    """What a caution is about, the gravest first."""

    GRAVE = 0
    """Single true values may be found out."""
    WARNING = 1
    """Masked values lie near the true ones, or mislead an analyst."""
    NOTE = 2
    """Something was left out, or is kept less exactly."""


class Caution(str):
    """A sentence with its `gravity`; it names columns and never values."""

    __slots__ = ("gravity",)
    gravity: Gravity

    def __new__(cls, sentence: str, gravity: Gravity = Gravity.WARNING) -> Self:
        """Return a sentence of a gravity."""
        made = super().__new__(cls, sentence)
        made.gravity = gravity
        return made


def gravity_of(sentence: str) -> Gravity:
    """Return how grave a sentence is; one that does not say so is a warning."""
    return sentence.gravity if isinstance(sentence, Caution) else Gravity.WARNING


def gravest_first(sentences: Iterable[str]) -> tuple[str, ...]:
    """Return sentences by their gravity, each once; equally grave ones stay in their order."""
    return tuple(sorted(dict.fromkeys(sentences), key=gravity_of))


DOMINANT = 0.9
"""One value with more than this share of a column's sum of squares dominates the column."""

NEARLY_TOLD = 0.95
"""With a larger R^2 of a column on S, its masked values are close to the true ones."""

SPARE = 20
"""With fewer records beyond the columns, exact moments narrow the true values down."""

DIGITS = 45
"""Bits that an equation on the true values tells of them, about, to rounding."""

OFFSET = 1e6
"""A column whose mean is this many standard deviations loses digits of its moments to rounding."""


def cautions(
    given: Inputs, scored: Inputs | None = None, *, predicting: bool = True
) -> tuple[Caution, ...]:
    """Return sentences on what is unusual about S and X; they name columns and never values.

    `scored` stands for them where noise is made by scores; `predicting`: X is predicted from S.
    """
    used = given if scored is None else scored
    shares = np.max(given.standard**2, axis=0) / given.records
    explained = 1 - np.mean(used.standard_residuals**2, axis=0)
    offsets = np.abs(given.centres) / given.scales
    found = []
    if same := [column.name for column in given.s.columns if column.is_constant]:
        said = f"Columns {same} of S have the same value in every record and were left out."
        found.append(Caution(said, Gravity.NOTE))
    if names := _where(given, shares > DOMINANT):
        effect = (
            "the noise of all records is of its size, and whose it is may be seen"
            if scored is None
            else "it may be recognized in what is released"
        )
        said = (
            f"One value holds more than {DOMINANT:.0%} of the variation of {names}: {effect}. Cut"
            " it off, take logarithms or leave its record out before masking."
        )
        found.append(Caution(said, Gravity.GRAVE))
    if predicting and (names := _where(given, explained > NEARLY_TOLD)):
        said = (
            f"S tells more than {NEARLY_TOLD:.0%} of the variation of {names}: masked values lie"
            " close to the true ones, as everybody's prediction from S does."
        )
        found.append(Caution(said))
    if predicting and scored is None and (names := _where(given, offsets > OFFSET)):
        said = (
            f"The mean is more than {OFFSET:g} standard deviations from 0 in {names}: moments are"
            " kept only up to the rounding of such numbers. Subtract a constant before masking."
        )
        found.append(Caution(said, Gravity.NOTE))
    if predicting and (names := _where(given, _solvable(given))):
        said = (
            f"There are so few records, or so few different values, in {names} that the exact"
            " equations of methods whose noise is orthogonal to X (egadp, nmegadp) can single out"
            " the true values, by trying. Mask more records, or use gadp or ipso."
        )
        found.append(Caution(said, Gravity.GRAVE))
    spare = given.records - used.both.shape[1]
    if predicting and spare < SPARE:
        said = (
            f"There are only {spare} more records than columns of S and X together: what is exact"
            " in the masked values narrows down the true ones. Mask more records or fewer columns."
        )
        found.append(Caution(said, Gravity.GRAVE))
    return tuple(found)


def _solvable(given: Inputs) -> npt.NDArray[np.bool_]:
    """Return which columns have so few equal steps that the equations on them determine them."""
    bits = []
    for column in given.matrix.T:
        # Numbers far apart on the finest of steps overflow: they are in no equal steps.
        with np.errstate(over="ignore", invalid="ignore"):
            steps = (column - column.min()) / np.diff(np.unique(column)).min()
            equal = np.abs(steps - np.round(steps)).max() < 1e-6
        bits.append(given.records * np.log2(1 + steps.max()) if equal else np.inf)
    return np.array(bits) < DIGITS * given.columns


def _where(given: Inputs, chosen: npt.NDArray[np.bool_]) -> str:
    """Return in words which columns of X are chosen; nothing if none is."""
    names = [name for name, one in zip(given.x.names, chosen, strict=True) if one]
    return f"column{'s' if len(names) > 1 else ''} {', '.join(map(repr, names))}" if names else ""


def below_zero(names: Sequence[str], true: Floats, masked: Floats) -> Iterator[str]:
    """Say in which columns, of n x q, masked values but no true one are below 0."""
    for name, values, released in zip(names, true.T, masked.T, strict=True):
        count = int(np.count_nonzero(released < 0))
        if count and not np.any(values < 0):
            many = f"{count:,} masked values of {name!r} are"
            one = f"1 masked value of {name!r} is"
            yield f"{one if count == 1 else many} below 0, and no true one is"
