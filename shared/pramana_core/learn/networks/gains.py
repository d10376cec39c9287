"""Gains of moves, known by bounds that can be sharpened, and the choice of the largest gain.

Gains that differ by less than `LEAST_GAIN` count as equal, because maxima depend on the processor.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from pramana_core.ties import TIE, first_largest

LEAST_GAIN: Final = 1e-3
"""Smaller gains, in nats, may come from maximization and rounding, and count as zero."""

_SCALE = LEAST_GAIN / TIE
"""The size of gains, in nats, above which their rounding exceeds `LEAST_GAIN`."""

ChoiceT = TypeVar("ChoiceT")


class Gain(Protocol):
    """The gain of a move, in nats, known to be between two bounds."""

    @property
    def upper(self) -> float:
        """The upper bound."""

    @property
    def lower(self) -> float:
        """The lower bound."""

    def sharpen(self) -> None:
        """Bring the bounds closer at some cost; after enough calls they are equal."""


def value_of(gain: Gain) -> float:
    """Return the exact value of a gain."""
    while gain.lower < gain.upper:
        gain.sharpen()
    return gain.upper


@dataclass(frozen=True)
class FixedGain:
    """A known gain."""

    upper: float

    @property
    def lower(self) -> float:
        """The lower bound, equal to the upper."""
        return self.upper

    def sharpen(self) -> None:
        """Do nothing."""


@dataclass(frozen=True)
class NetGain:
    """The gain of removing a link and adding another."""

    dropped: Gain
    added: Gain = FixedGain(0.0)

    @property
    def upper(self) -> float:
        """The upper bound."""
        return self.added.upper - self.dropped.lower

    @property
    def lower(self) -> float:
        """The lower bound."""
        return self.added.lower - self.dropped.upper

    def sharpen(self) -> None:
        """Sharpen one of the two gains."""
        (self.added if self.added.lower < self.added.upper else self.dropped).sharpen()


def best(
    candidates: Sequence[tuple[Gain, ChoiceT]],
    tick: Callable[[], None] = lambda: None,
    floor: float = LEAST_GAIN,
) -> ChoiceT | None:
    """Return the choice with the largest gain above `floor`, the first of equal ones, or None."""
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
    """Return the first choice whose gain equals that of the last choice, which is the largest."""
    most = candidates[-1][0].upper
    for gain, choice in candidates:
        while gain.lower < gain.upper and first_of([gain.upper, most]) == 0:
            tick()
            gain.sharpen()
        if gain.upper > floor and first_of([gain.upper, most]) == 0:
            return choice
    return candidates[-1][1]


def first_of(gains: Sequence[float]) -> int:
    """Return the index of the first gain equal to the largest."""
    return first_largest(gains, scale=_SCALE)
