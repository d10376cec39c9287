"""Gains of moves that are known only between bounds, and the choice of the largest gain.

The bounds can be sharpened. Gains that differ by less than `LEAST_GAIN` count as equal.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from pramana_core.ties import TIE, first_largest

LEAST_GAIN: Final = 1e-3
"""Smaller gains, in nats, count as zero, because maximization or rounding may cause them."""

_SCALE = LEAST_GAIN / TIE
"""At gains above this size, in nats, rounding exceeds `LEAST_GAIN`."""

ChoiceT = TypeVar("ChoiceT")


class Gain(Protocol):
    """The gain of a move in nats, known to be between two bounds."""

    @property
    def upper(self) -> float:
        """The upper bound on the gain."""

    @property
    def lower(self) -> float:
        """The lower bound on the gain."""

    def sharpen(self) -> None:
        """Bring the bounds closer together; after sufficiently many calls they are equal."""


def value_of(gain: Gain) -> float:
    """Return the exact value of a gain, by sharpening its bounds until they are equal."""
    while gain.lower < gain.upper:
        gain.sharpen()
    return gain.upper


@dataclass(frozen=True)
class FixedGain:
    """A gain whose value is known."""

    upper: float

    @property
    def lower(self) -> float:
        """The lower bound, which equals the upper bound."""
        return self.upper

    def sharpen(self) -> None:
        """Do nothing, because the value is known."""


@dataclass(frozen=True)
class NetGain:
    """The gain of a move that removes one link and adds another."""

    dropped: Gain
    added: Gain = FixedGain(0.0)

    @property
    def upper(self) -> float:
        """The upper bound on the gain."""
        return self.added.upper - self.dropped.lower

    @property
    def lower(self) -> float:
        """The lower bound on the gain."""
        return self.added.lower - self.dropped.upper

    def sharpen(self) -> None:
        """Sharpen the bounds of one of the two gains."""
        (self.added if self.added.lower < self.added.upper else self.dropped).sharpen()


def best(
    candidates: Sequence[tuple[Gain, ChoiceT]],
    tick: Callable[[], None] = lambda: None,
    floor: float = LEAST_GAIN,
) -> ChoiceT | None:
    """Return the first choice with the largest gain, or None if no gain exceeds `floor`."""
    heap = [(-gain.upper, index) for index, (gain, _) in enumerate(candidates)]
    heapq.heapify(heap)
    while heap:
        bound, index = heap[0]
        gain, _ = candidates[index]
        if -bound <= floor:
            return None
        # A gain shared with another candidate may have been sharpened since.
        if gain.upper == -bound:
            if gain.lower == gain.upper:
                return _first_equal(candidates[: index + 1], floor, tick)
            tick()
            gain.sharpen()
        heapq.heapreplace(heap, (-gain.upper, index))
    return None


def _first_equal(
    candidates: Sequence[tuple[Gain, ChoiceT]], floor: float, tick: Callable[[], None]
) -> ChoiceT:
    most = candidates[-1][0].upper
    for gain, choice in candidates:
        while gain.lower < gain.upper and first_of([gain.upper, most]) == 0:
            tick()
            gain.sharpen()
        if gain.upper > floor and first_of([gain.upper, most]) == 0:
            return choice
    return candidates[-1][1]


def first_of(gains: Sequence[float]) -> int:
    """Return the index of the first gain that equals the largest gain."""
    return first_largest(gains, scale=_SCALE)
