"""Choosing the move that gains most, computing each gain only as far as that needs."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from shared.learn.networks.search.scores import Gain

LEAST_GAIN = 1e-6
"""A gain of fewer nats is rounding and counts as none."""

Choice = TypeVar("Choice")


@dataclass(frozen=True)
class ChoiceCandidate(Generic[Choice]):
    """A choice and what it gains."""

    choice: Choice
    gain: Gain


def best(
    candidates: Sequence[ChoiceCandidate[Choice]],
    floor: float,
    tick: Callable[[], None] = lambda: None,
) -> tuple[float, Choice] | None:
    """Return the candidate of the largest gain above `floor`, the first of equals; or None.

    The gain with the highest bound is sharpened until the highest is exact. `tick` is called before
    each step and may raise to stop.
    """
    heap = [(-c.gain.upper, index) for index, c in enumerate(candidates)]
    heapq.heapify(heap)
    while heap:
        bound, index = heap[0]
        gain = candidates[index].gain
        # A gain shared with another candidate may have been sharpened since.
        if -bound <= floor:
            return None
        if gain.upper == -bound and gain.lower == gain.upper:
            return gain.upper, candidates[index].choice
        if gain.upper == -bound:
            tick()
            gain.sharpen()
        heapq.heapreplace(heap, (-gain.upper, index))
    return None


@dataclass(frozen=True)
class Dropped:
    """The gain of dropping a parent: what it is worth, negated."""

    worth: Gain

    @property
    def upper(self) -> float:
        """See `Gain`."""
        return -self.worth.lower

    @property
    def lower(self) -> float:
        """See `Gain`."""
        return -self.worth.upper

    def sharpen(self) -> None:
        """See `Gain`."""
        self.worth.sharpen()


@dataclass(frozen=True)
class Turned:
    """The gain of turning a link round: of the new link and of dropping the old."""

    added: Gain
    dropped: Gain

    @property
    def upper(self) -> float:
        """See `Gain`."""
        return self.added.upper + self.dropped.upper

    @property
    def lower(self) -> float:
        """See `Gain`."""
        return self.added.lower + self.dropped.lower

    def sharpen(self) -> None:
        """See `Gain`."""
        inexact = self.added if self.added.lower < self.added.upper else self.dropped
        inexact.sharpen()
