"""Several owners' reports of one record as one channel, drawn independently or by a shared coin."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated

import numpy as np
from annotated_types import Ge, Le, Len, Lt

from pramana_core.channels.base import RESOLUTION, ComposedTransition, Tensor, Transition
from pramana_core.channels.sampled import CHOICES, Sampled
from pramana_core.domain import VARIABLES
from pramana_core.errors import ChannelError

_NAMED = 2
"""The maximum number of channels that a description lists individually."""

_Width = Annotated[int, Ge(1), Le(VARIABLES)]


@dataclass(frozen=True)
class Product(ComposedTransition):
    """Channels that randomize consecutive variables independently.

    `widths` has the number of variables of each channel, in the order of the product. The gammas of
    the channels multiply (Ma 7.1.3).

    Raises:
        ChannelError: the widths and the channels differ in number.
    """

    family = "product"
    widths: Annotated[tuple[_Width, ...], Len(1, VARIABLES)]
    channels: Annotated[tuple[Transition, ...], Len(1, VARIABLES)]

    def __post_init__(self) -> None:
        if len(self.widths) != len(self.channels) or not self.channels:
            raise ChannelError(
                f"A product needs one width for each channel; there are {len(self.channels)}"
                f" channels and {len(self.widths)} widths."
            )

    @cached_property
    def factors(self) -> tuple[tuple[slice, Transition], ...]:
        ends = itertools.accumulate(self.widths, initial=0)
        places = itertools.starmap(slice, itertools.pairwise(ends))
        return tuple(zip(places, self.channels, strict=True))

    @property
    def shape(self) -> tuple[int, int]:
        return (
            math.prod(c.shape[0] for c in self.channels),
            math.prod(c.shape[1] for c in self.channels),
        )

    def report_sizes(self, sizes: Sequence[int]) -> tuple[int, ...] | None:
        parts = self._split(sizes)
        if parts is None:
            return None
        found: list[int] = []
        for channel, part in zip(self.channels, parts, strict=True):
            reported = channel.report_sizes(part)
            if reported is None:
                return None
            found += reported
        return tuple(found)

    def _split(self, sizes: Sequence[int]) -> list[tuple[int, ...]] | None:
        if sum(self.widths) != len(sizes):
            return None
        parts = [tuple(sizes[places]) for places, _ in self.factors]
        fits = all(math.prod(p) == c.shape[0] for p, c in zip(parts, self.channels, strict=True))
        return parts if fits else None

    def _act(self, turn: str, tensor: Tensor, axis: int) -> Tensor:
        given = 0 if turn in {"apply", "solve_adjoint"} else 1
        moved = np.moveaxis(tensor, axis, 0)
        rest = moved.shape[1:]
        made = moved.reshape(*(c.shape[given] for c in self.channels), *rest)
        for place, channel in enumerate(self.channels):
            made = getattr(channel, turn)(made, place)
        return np.moveaxis(made.reshape(-1, *rest), 0, axis)

    @cached_property
    def condition_number(self) -> float:
        return math.prod(c.condition_number for c in self.channels)

    def restrict(self, sizes: Sequence[int], kept: Sequence[bool]) -> Transition | None:
        parts = self._split(sizes)
        if parts is None:
            return None
        widths: list[int] = []
        channels: list[Transition] = []
        for (places, channel), part in zip(self.factors, parts, strict=True):
            inside = [bool(k) for k in kept[places]]
            if not any(inside):
                continue
            left = channel if all(inside) else channel.restrict(part, inside)
            if left is None:
                return None
            widths.append(sum(inside))
            channels.append(left)
        return channels[0] if len(channels) == 1 else Product(tuple(widths), tuple(channels))

    @property
    def is_identity(self) -> bool:
        return all(c.is_identity for c in self.channels)

    @property
    def deterministic(self) -> bool:
        return all(c.deterministic for c in self.channels)

    @property
    def normalized(self) -> bool:
        return all(c.normalized for c in self.channels)

    @property
    def listed_rows(self) -> int:
        return max(c.listed_rows for c in self.channels)

    def share_reported(self, axis: int) -> float:
        for places, channel in self.factors:
            if axis < places.stop:
                return channel.share_reported(axis - places.start)
        raise ChannelError(f"A product over {sum(self.widths)} variables has no axis {axis}.")

    def describe(self) -> str:
        if len(self.channels) > _NAMED:
            return f"{len(self.channels)} independent channels"
        return " x ".join(c.describe() for c in self.channels)


COIN = 64
"""The length of a coin's name: a study plan's digest, SHA-256 in hexadecimal."""


@dataclass(frozen=True)
class Coordinated(Sampled):
    """One owner's part of a study plan, whose reports follow a coin that all owners share.

    The coin of a record is a uniform 32-bit number: a keyed function of its pseudonym and of the
    plan's digest `coin`, independent of the data. The record reports choice i if its coin is in
    [`starts[i]`, `starts[i]` + weight), and nothing outside these ranges. `Plan.combine` joins the
    owners' parts. A part alone, or restricted to some variables, is a sampled channel; only
    complete parts are joined.

    Raises:
        ChannelError: there is not one start for each choice, the starts are not ascending or
            overlap, or `coin` is not a digest. Also the errors of `Sampled`.
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
            raise ChannelError("The choices' ranges of the coin overlap or are not ascending.")
        if len(self.coin) != COIN or set(self.coin) - set("0123456789abcdef"):
            raise ChannelError("The coin's name must be a study plan's digest (64 hex digits).")

    @cached_property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """The range [start, end) of the coin for each choice."""
        return tuple((s, s + c.weight) for s, c in zip(self.starts, self.choices, strict=True))

    def describe(self) -> str:
        return f"one of {len(self.choices)} parts by coin"


def pieces(
    spans: Sequence[Sequence[tuple[int, int]]],
) -> list[tuple[int, tuple[int | None, ...]]]:
    """Return the joint choices of the owners' parts: each weight, and every owner's choice.

    `spans` are the ranges [start, end) of each owner's choices, ascending. The coin's range is cut
    at all their ends; pieces in which no owner reports are omitted. None marks an owner that
    reports nothing in a piece.
    """
    cuts = sorted({0, RESOLUTION, *itertools.chain(*itertools.chain(*spans))})
    places = [0] * len(spans)
    found: list[tuple[int, tuple[int | None, ...]]] = []
    for low, high in itertools.pairwise(cuts):
        chosen: list[int | None] = []
        for owner, own in enumerate(spans):
            while places[owner] < len(own) and own[places[owner]][1] <= low:
                places[owner] += 1
            inside = places[owner] < len(own) and own[places[owner]][0] <= low
            chosen.append(places[owner] if inside else None)
        if any(c is not None for c in chosen):
            found.append((high - low, tuple(chosen)))
    return found
