"""The one strength that some families of channels have: the probability of replacing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch

from pramana_core.channels import (
    Grouped,
    StructuralZeros,
    Symmetric,
    Transition,
    UnitTransition,
)

DRAWN_CELLS = 4096
"""Above so many combinations a record is almost always replaced, and p says nothing."""


@dataclass(frozen=True)
class Strength:
    """The probability `p` of replacing a category, and the channel of any other p up to `most`."""

    p: float
    most: float
    at: Callable[[float], UnitTransition]


@singledispatch
def strength(channel: Transition) -> Strength | str:
    """Return the strength of a channel of one parameter, or why there is none."""
    if channel.replaced is not None:
        return _replacing(channel.shape[0], channel.replaced)
    return f"Its strength is not one number p ({channel.describe()})."


@strength.register
def _(channel: Grouped) -> Strength | str:
    parts = [part for part in channel.channels if part is not None]
    moves = [part.replaced for part in parts if part.replaced is not None]
    # Rounding to 2^-32 moves each group's p by less than its number of categories over 2^32.
    if len(moves) < len(parts) or not moves or max(moves) - min(moves) > channel.shape[0] / 2**31:
        return "Its groups are randomized in different ways."
    smallest = min(len(group) for group in channel.groups if len(group) > 1)
    return Strength(
        moves[0],
        (smallest - 1) / smallest,
        lambda p: Grouped.from_probability(channel.groups, p),
    )


@strength.register
def _(channel: StructuralZeros) -> Strength | str:
    inner = strength(channel.channel)
    if isinstance(inner, str):
        return inner
    return Strength(
        inner.p,
        inner.most,
        lambda p: StructuralZeros(channel.size, channel.impossible, inner.at(p)),
    )


def _replacing(size: int, p: float) -> Strength | str:
    if size > DRAWN_CELLS:
        return f"Over {size:,} combinations p is next to 1 for any protection."
    return Strength(p, (size - 1) / size, lambda q: Symmetric.from_probability(size, q))
