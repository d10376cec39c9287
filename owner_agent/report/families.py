"""Families of channels in words, and the one strength that some of them have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch

from shared.channels import (
    RESOLUTION,
    CutAndPaste,
    Dense,
    Grouped,
    Identity,
    Mixture,
    OneHot,
    RandomSymmetric,
    Sampled,
    StructuralZeros,
    Symmetric,
    Transition,
    UnitTransition,
    Withheld,
)

DRAWN_CELLS = 4096
"""Above so many combinations a record is almost always replaced, and p says nothing."""


@singledispatch
def describe(channel: Transition) -> str:
    """Return a channel's family and strength in a few words."""
    return type(channel).__name__.lower()


@describe.register
def _(channel: Identity) -> str:  # noqa: ARG001 - chosen by its class
    return "none"


@describe.register
def _(channel: Symmetric) -> str:
    return f"symmetric, kept {channel.keep_units / RESOLUTION:.3g}"


@describe.register
def _(channel: RandomSymmetric) -> str:
    kept = channel.keep_units / RESOLUTION
    return f"symmetric, random per record, kept {kept:.3g} ± {channel.alpha:.3g}"


@describe.register
def _(channel: Mixture) -> str:
    return f"gamma-diagonal, record kept {channel.kept:.3g}"


@describe.register
def _(channel: Withheld) -> str:  # noqa: ARG001 - chosen by its class
    return "not reported"


@describe.register
def _(channel: Grouped) -> str:
    return f"grouped in {len(channel.groups)}"


@describe.register
def _(channel: StructuralZeros) -> str:
    return f"{describe(channel.channel)}, {len(channel.impossible)} impossible"


@describe.register
def _(channel: Dense) -> str:
    return f"matrix {channel.shape[0]} x {channel.shape[1]}"


@describe.register
def _(channel: OneHot) -> str:
    return f"items, each flipped {channel.flip_units / RESOLUTION:.3g}"


@describe.register
def _(channel: CutAndPaste) -> str:
    return f"cut and paste, K {channel.cut}, rho {channel.rho:.3g}"


@describe.register
def _(channel: Sampled) -> str:
    return f"one of {len(channel.choices)} parts sampled"


@dataclass(frozen=True)
class Strength:
    """The probability `p` of replacing a category, and the channel of any other p up to `most`."""

    p: float
    most: float
    at: Callable[[float], UnitTransition]


@singledispatch
def strength(channel: Transition) -> Strength | str:
    """Return the strength of a channel of one parameter, or why there is none."""
    return f"Its strength is not one number p ({describe(channel)})."


@strength.register
def _(channel: Symmetric) -> Strength | str:
    return _replacing(channel.size, 1 - channel.keep_units / RESOLUTION)


@strength.register
def _(channel: Mixture) -> Strength | str:
    return _replacing(channel.size, (1 - channel.kept) * (1 - 1 / channel.size))


@strength.register
def _(channel: Grouped) -> Strength | str:
    parts = [part for part in channel.channels if part is not None]
    moves = [1 - p.keep_units / RESOLUTION for p in parts if isinstance(p, Symmetric)]
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
