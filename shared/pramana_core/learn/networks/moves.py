"""Moves to a neighbouring structure, which add, delete, reverse or exchange a link."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from pramana_core.learn.common.options import Search
from pramana_core.learn.networks.gains import Gain, NetGain
from pramana_core.learn.networks.scores import Judge, Parents


@dataclass(frozen=True)
class Move:
    """A change of the link from `parent` to `child`; an exchange removes the parent `instead`."""

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
    judge: Judge, parents: Parents, search: Search, children: Collection[str]
) -> Iterator[tuple[Gain, Move]]:
    """Yield all moves to acyclic structures with their gains, ordered by child, then by parent."""
    below = _descendants(parents)
    for child in (name for name in parents if name in children):
        for parent in parents:
            for move in _between(parents, below, search, children, parent, child):
                gain = _gain(judge, parents, move)
                if gain is not None:
                    yield gain, move


def _between(
    parents: Parents,
    below: dict[str, set[str]],
    search: Search,
    children: Collection[str],
    parent: str,
    child: str,
) -> Iterator[Move]:
    given = parents[child]
    if parent in given:
        if not search.refine:
            return
        yield Move("delete", parent, child)
        if parent in children and len(parents[parent]) < search.max_parents:
            # Reversing the link closes a cycle if another path leads from parent to child.
            detour = any(
                parent in others and child in below[other]
                for other, others in parents.items()
                if other != child
            )
            if not detour:
                yield Move("reverse", parent, child)
    elif parent != child and parent not in below[child]:
        if len(given) < search.max_parents:
            yield Move("add", parent, child)
        if search.refine:
            yield from (Move("exchange", parent, child, old) for old in sorted(given))


def _gain(judge: Judge, parents: Parents, move: Move) -> Gain | None:
    given = parents[move.child]
    if move.kind == "add":
        return judge.gain(move.child, given, move.parent)
    if move.kind == "exchange":
        return judge.exchange(move.child, given, move.instead, move.parent)
    dropped = judge.gain(move.child, given - {move.parent}, move.parent)
    if move.kind == "delete":
        return NetGain(dropped)
    return NetGain(dropped, judge.gain(move.parent, parents[move.parent], move.child))


def _descendants(parents: Parents) -> dict[str, set[str]]:
    children: dict[str, list[str]] = {name: [] for name in parents}
    for child, given in parents.items():
        for parent in given:
            children[parent].append(child)
    below: dict[str, set[str]] = {}
    for name in parents:
        seen: set[str] = set()
        pending = list(children[name])
        while pending:
            child = pending.pop()
            if child not in seen:
                seen.add(child)
                pending.extend(children[child])
        below[name] = seen
    return below
