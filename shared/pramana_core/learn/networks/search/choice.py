"""Choosing the move that gains most, computing each gain only as far as that needs.

A maximization ends up to 1e-4 nats below its maximum, and where it ends can hang on the processor.
So gains that differ by less than `LEAST_GAIN` are equal, and of equal ones the first is taken:
moves are listed by child and parent in the order of the variables, and what is kept comes before
what is changed.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from pramana_core.learn.networks.search.scores import Gain
from pramana_core.ties import TIE, first_largest

LEAST_GAIN: Final = 1e-3
"""A gain of fewer nats is what maximizing and rounding leave, and counts as none."""

_SCALE = LEAST_GAIN / TIE
"""The gains, in nats, above which rounding is more than that."""

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

    The gain with the highest bound is sharpened until the highest is exact; then those before it
    that could be equal are. `tick` is called before each step and may raise to stop.
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
            return _first_equal(candidates[: index + 1], floor, tick)
        if gain.upper == -bound:
            tick()
            gain.sharpen()
        heapq.heapreplace(heap, (-gain.upper, index))
    return None


def _first_equal(
    candidates: Sequence[ChoiceCandidate[Choice]], floor: float, tick: Callable[[], None]
) -> tuple[float, Choice]:
    """Return the first that gains as much as the last of some candidates, which gains most."""
    most = candidates[-1].gain.upper
    for candidate in candidates:
        gain = candidate.gain
        while gain.lower < gain.upper and _equal(gain.upper, most):
            tick()
            gain.sharpen()
        if gain.upper > floor and _equal(gain.upper, most):
            return gain.upper, candidate.choice
    return most, candidates[-1].choice


def _equal(gain: float, most: float) -> bool:
    return first_of([gain, most]) == 0


def first_of(gains: Sequence[float]) -> int:
    """Return the place of the first of some gains that is as large as the largest."""
    return first_largest(gains, scale=_SCALE)


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
