"""Sampled blocks of several owners whose choices are one: a keyed coin says who reports what."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated

from annotated_types import Ge, Len, Lt

from pramana_core.channels.parameters import RESOLUTION
from pramana_core.channels.sampled import CHOICES, Sampled
from pramana_core.errors import ChannelError

COIN = 64
"""The length of a coin's name: a study plan's digest, SHA-256 in hexadecimal."""


@dataclass(frozen=True)
class Coordinated(Sampled):
    """One owner's part of a study plan: what it reports follows a coin that all owners share.

    The coin of a record is a uniform 32-bit number, a keyed function of its pseudonym and of the
    plan's digest `coin`; it looks at no data. The record reports choice i where its coin is in
    [`starts[i]`, `starts[i]` + weight), and nothing elsewhere. Together with the other owners'
    parts it is what `Plan.combine` makes of them. Alone, and restricted to some of its variables,
    it is a sampled channel: parts are combined whole.

    Raises:
        ChannelError: starts that are not one for each choice, ascending and without overlaps, or a
            coin's name that is no digest; and what `Sampled` raises.
    """

    family = "coordinated"
    starts: Annotated[tuple[Annotated[int, Ge(0), Lt(RESOLUTION)], ...], Len(1, CHOICES)] = field()
    coin: Annotated[str, Len(COIN, COIN)] = field()
    __hash__ = Sampled.__hash__

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.starts) != len(self.choices):
            raise ChannelError(
                f"There are {len(self.starts)} starts for {len(self.choices)} choices."
            )
        ends = [s + c.weight for s, c in zip(self.starts, self.choices, strict=True)]
        apart = all(end <= start for end, start in zip(ends, self.starts[1:], strict=False))
        if not apart or ends[-1] > RESOLUTION or min(self.starts) < 0:
            raise ChannelError("The choices' parts of the coin overlap or are not in order.")
        if len(self.coin) != COIN or set(self.coin) - set("0123456789abcdef"):
            raise ChannelError("The coin must be named by a study plan's digest (64 hex digits).")

    @cached_property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """[start, end) of each choice's part of the coin."""
        return tuple((s, s + c.weight) for s, c in zip(self.starts, self.choices, strict=True))

    def describe(self) -> str:
        return f"one of {len(self.choices)} parts by the study's coin"


def pieces(parts: Sequence[Coordinated]) -> list[tuple[int, tuple[int | None, ...]]]:
    """Return the joint choices of owners' parts: the weight of each and every owner's choice in it.

    The coin's range is cut at every end of a span; pieces in which nobody reports are left out.
    None: the owner reports nothing in the piece.
    """
    spans = [part.spans for part in parts]
    cuts = sorted({0, RESOLUTION, *itertools.chain(*itertools.chain(*spans))})
    held = [0] * len(spans)
    found: list[tuple[int, tuple[int | None, ...]]] = []
    for low, high in itertools.pairwise(cuts):
        chosen: list[int | None] = []
        for place, own in enumerate(spans):
            while held[place] < len(own) and own[held[place]][1] <= low:
                held[place] += 1
            inside = held[place] < len(own) and own[held[place]][0] <= low
            chosen.append(held[place] if inside else None)
        if any(c is not None for c in chosen):
            found.append((high - low, tuple(chosen)))
    return found
