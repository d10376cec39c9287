"""Moves from one structure to its neighbours: a link added, deleted, turned or exchanged."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from pramana_core.learn.networks.options import Search
from pramana_core.learn.networks.search.choice import ChoiceCandidate, Dropped, Turned
from pramana_core.learn.networks.search.scores import Judge

Parents = dict[str, frozenset[str]]


@dataclass(frozen=True)
class Reach:
    """Where a search may go: its limits, whose parents it changes, and the order if there is one.

    `rank` is each variable's place in the order; parents have lower ones.
    """

    search: Search
    children: frozenset[str]
    rank: Mapping[str, int] | None

    @classmethod
    def of(cls, search: Search, children: Collection[str]) -> Reach:
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
    reach: Reach,
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
    parents: Parents, below: dict[str, set[str]], reach: Reach, pair: tuple[str, str]
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
    dropped = Dropped(judge.gain(move.child, given - {move.parent}, move.parent))
    if move.kind == "delete":
        return ChoiceCandidate(move, dropped)
    return ChoiceCandidate(
        move, Turned(judge.gain(move.parent, parents[move.parent], move.child), dropped)
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
