"""Moves from one structure to its neighbours, and the choice of the one that gains most.

Each gain is computed only as far as the choice needs. A maximization ends up to 1e-4 nats below its
maximum, and where it ends can hang on the processor. So gains that differ by less than
`LEAST_GAIN` are equal, and of equal ones the first is taken: moves are listed by child and parent
in the order of the variables, and what is kept comes before what is changed.

Also here:

* Moves from one structure to its neighbours: a link added, deleted, turned or exchanged.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, Literal, TypeVar

from pramana_core.learn.networks.search.scores import Gain, Judge
from pramana_core.learn.networks.structure import Search
from pramana_core.ties import TIE, first_largest

LEAST_GAIN: Final = 1e-3
"""A gain of fewer nats is what maximizing and rounding leave, and counts as none."""

_SCALE = LEAST_GAIN / TIE
"""The gains, in nats, above which rounding is more than that."""

ChoiceT = TypeVar("ChoiceT")


@dataclass(frozen=True)
class ChoiceCandidate(Generic[ChoiceT]):
    """A choice and what it gains."""

    choice: ChoiceT
    gain: Gain


def best(
    candidates: Sequence[ChoiceCandidate[ChoiceT]],
    floor: float,
    tick: Callable[[], None] = lambda: None,
) -> tuple[float, ChoiceT] | None:
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
    candidates: Sequence[ChoiceCandidate[ChoiceT]], floor: float, tick: Callable[[], None]
) -> tuple[float, ChoiceT]:
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
class Removal:
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
class Reversal:
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


# Moves from one structure to its neighbours: a link added, deleted, turned or exchanged.

Parents = dict[str, frozenset[str]]


@dataclass(frozen=True)
class SearchSpace:
    """Where a search may go: its limits, whose parents it changes, and the order if there is one.

    `rank` is each variable's place in the order; parents have lower ones.
    """

    search: Search
    children: frozenset[str]
    rank: Mapping[str, int] | None

    @classmethod
    def of(cls, search: Search, children: Collection[str]) -> SearchSpace:
        """Return the reach of a search."""
        rank = None
        if search.order is not None:
            rank = {name: place for place, name in enumerate(search.order)}
        return cls(search, frozenset(children), rank)

    def allows(self, parent: str, child: str) -> bool:
        """Whether the order allows a link."""
        return self.rank is None or self.rank[parent] < self.rank[child]


@dataclass(frozen=True)
class Move:
    """One change of a structure: the link from `parent` to `child` and what is done to it.

    An exchange puts `parent` in the place of `instead`.
    """

    kind: Literal["add", "delete", "reverse", "exchange"]
    parent: str
    child: str
    instead: str = ""

    def apply(self, parents: Parents) -> Parents:
        """Return the structure after the move."""
        changed = dict(parents)
        given = parents[self.child]
        if self.kind in ("add", "exchange"):
            changed[self.child] = given - {self.instead} | {self.parent}
            return changed
        changed[self.child] = given - {self.parent}
        if self.kind == "reverse":
            changed[self.parent] = parents[self.parent] | {self.child}
        return changed


def candidates(
    judge: Judge,
    parents: Parents,
    reach: SearchSpace,
    seen: Collection[frozenset[tuple[str, str]]] = (),
) -> Iterator[ChoiceCandidate[Move]]:
    """Yield every move to an acyclic structure that is not among those seen."""
    below = _descendants(parents)
    for child in parents:
        if child not in reach.children:
            continue
        for parent in parents:
            for move in _between(parents, below, reach, (parent, child)):
                if seen and identity(move.apply(parents)) in seen:
                    continue
                gain = _gain(judge, parents, move)
                if gain is not None:
                    yield gain


def _between(
    parents: Parents, below: dict[str, set[str]], reach: SearchSpace, pair: tuple[str, str]
) -> Iterator[Move]:
    """Yield the moves that concern the link from one variable to another."""
    parent, child = pair
    given, limit = parents[child], reach.search.max_parents
    if parent in given:
        if not reach.search.refine:
            return
        yield Move("delete", parent, child)
        free = parent in reach.children and reach.allows(child, parent)
        if free and len(parents[parent]) < limit:
            # Turned round, the link closes a cycle if another way leads from parent to child.
            detour = any(
                parent in others and child in below[other]
                for other, others in parents.items()
                if other != child
            )
            if not detour:
                yield Move("reverse", parent, child)
    elif parent != child and reach.allows(parent, child) and parent not in below[child]:
        if len(given) < limit:
            yield Move("add", parent, child)
        if reach.search.refine:
            yield from (Move("exchange", parent, child, old) for old in sorted(given))


def _gain(judge: Judge, parents: Parents, move: Move) -> ChoiceCandidate[Move] | None:
    given = parents[move.child]
    if move.kind == "add":
        return ChoiceCandidate(move, judge.gain(move.child, given, move.parent))
    if move.kind == "exchange":
        exchanged = judge.exchange(move.child, given, move.instead, move.parent)
        return None if exchanged is None else ChoiceCandidate(move, exchanged)
    dropped = Removal(judge.gain(move.child, given - {move.parent}, move.parent))
    if move.kind == "delete":
        return ChoiceCandidate(move, dropped)
    return ChoiceCandidate(
        move, Reversal(judge.gain(move.parent, parents[move.parent], move.child), dropped)
    )


def _descendants(parents: Parents) -> dict[str, set[str]]:
    """Return, for each variable, all that can be reached from it."""
    children: dict[str, list[str]] = {name: [] for name in parents}
    for child, given in parents.items():
        for parent in given:
            children[parent].append(child)
    below: dict[str, set[str]] = {}
    for name in parents:
        found: set[str] = set()
        pending = list(children[name])
        while pending:
            child = pending.pop()
            if child not in found:
                found.add(child)
                pending.extend(children[child])
        below[name] = found
    return below


def identity(parents: Parents) -> frozenset[tuple[str, str]]:
    """Return the links of a structure."""
    return frozenset((parent, child) for child, given in parents.items() for parent in given)
