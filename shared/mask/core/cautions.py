"""What a custodian must know of S and X before masked values leave."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shared.mask.core.inputs import NOTABLE_LEVERAGE, Inputs
from shared.mixed.table import Floats

DOMINANT = 0.9
"""One value that holds more than this share of a column's sum of squares dominates the column."""

NEARLY_TOLD = 0.95
"""With a larger R^2 of a column on S, its masked values are close to the true ones."""

SPARE = 20
"""With fewer records beyond the columns, what is exact about the noise narrows the truth down."""

DIGITS = 45
"""Bits: about so much an equation on the true values tells of them, to rounding."""

OFFSET = 1e6
"""A column whose mean is so many standard deviations loses digits of its moments to rounding."""


def cautions(
    given: Inputs, scored: Inputs | None = None, *, predicting: bool = True
) -> tuple[str, ...]:
    """Return sentences on what is unusual about S and X; they name columns and never values.

    Args:
        given: S and X.
        scored: what is predicted in their place, such as their normal scores; then the size of
            single values does not matter to the noise.
        predicting: whether X is predicted from S, and the noise made to fit.
    """
    used = given if scored is None else scored
    shares = np.max(given.standard**2, axis=0) / given.records
    explained = 1 - np.mean(used.standard_residuals**2, axis=0)
    offsets = np.abs(given.centres) / given.scales
    found = []
    if same := [column.name for column in given.s.columns if column.is_constant]:
        found.append(f"Columns {same} of S have the same value in every record and were left out.")
    if names := _where(given, shares > DOMINANT):
        effect = (
            "the noise of all records is of its size, and whose it is may be seen"
            if scored is None
            else "it may be recognized in what is released"
        )
        found.append(
            f"One value holds more than {DOMINANT:.0%} of the variation of {names}: {effect}. Cut"
            " it off, take logarithms or leave its record out before masking."
        )
    if predicting and (names := _where(given, explained > NEARLY_TOLD)):
        found.append(
            f"S tells more than {NEARLY_TOLD:.0%} of the variation of {names}: masked values lie"
            " close to the true ones, as everybody's prediction from S does."
        )
    if predicting and scored is None and (names := _where(given, offsets > OFFSET)):
        found.append(
            f"The mean is more than {OFFSET:g} standard deviations from 0 in {names}: moments are"
            " kept only up to the rounding of such numbers. Subtract a constant before masking."
        )
    if predicting and (names := _where(given, _solvable(given))):
        found.append(
            f"There are so few records, or so few different values, in {names} that the exact"
            " equations of methods whose noise is orthogonal to X (egadp, nmegadp) can single out"
            " the true values, by trying. Mask more records, or use gadp or ipso."
        )
    spare = given.records - used.both.shape[1]
    if predicting and spare < SPARE:
        found.append(
            f"There are only {spare} more records than columns of S and X together: what is exact"
            " in the masked values narrows down the true ones. Mask more records or fewer columns."
        )
    if predicting and (caution := lone_records(used.leverages)):
        found.append(caution)
    return tuple(found)


def lone_records(leverages: Floats) -> str:
    """Return a sentence on records whose own value decides most of their prediction; or nothing.

    Args:
        leverages: how much each record's own value weighs in its prediction: n numbers.
    """
    lone = leverages[leverages > NOTABLE_LEVERAGE]
    if not len(lone):
        return ""
    one = len(lone) == 1
    return (
        f"{len(lone)} record{' stands' if one else 's stand'} nearly alone in S:"
        f" {'its' if one else 'their'} own true value makes up {NOTABLE_LEVERAGE:.0%} to"
        f" {lone.max():.0%} of what S predicts of {'it' if one else 'them'}, so the masked"
        f" value{'' if one else 's'} may lie close to the true one{'' if one else 's'}. Leave"
        f" {'it' if one else 'them'} out, merge rare categories or lower max_leverage."
    )


def _solvable(given: Inputs) -> npt.NDArray[np.bool_]:
    """Return which columns take fewer bits to write down than the equations on them tell.

    Only values in equal steps, such as whole numbers, are few enough to be tried.
    """
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


def facts(given: Inputs) -> dict[str, Any]:
    """Return what every method tells of S and X: the largest leverage, and columns left out."""
    return {
        "records": given.records,
        "largest_leverage": float(np.max(given.leverages)),
        "left_out": (*given.design.constant, *given.design.redundant),
    }
