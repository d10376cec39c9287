"""Moves from one structure to its neighbours, and the choice of the one that gains most.

Each gain is computed only as far as the choice needs. A maximization ends up to 1e-4 nats below its
maximum, and where it ends can hang on the processor. So gains that differ by less than
`LEAST_GAIN` are equal, and of equal ones the first is taken: moves are listed by child and parent
in the order of the variables, and what is kept comes before what is changed.

Also here:

* Moves from one structure to its neighbours: a link added, deleted, turned or exchanged.
* Greedy search over classes of structures that say the same (Chickering 2002).
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, Literal, TypeVar

from pramana_core.errors import StructureError
from pramana_core.learn.common.options import Search
from pramana_core.learn.networks.scores import Gain, Judge
from pramana_core.progress import Progress
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
    judge: Judge, parents: Parents, reach: SearchSpace
) -> Iterator[ChoiceCandidate[Move]]:
    """Yield every move to an acyclic structure."""
    below = _descendants(parents)
    for child in parents:
        if child not in reach.children:
            continue
        for parent in parents:
            for move in _between(parents, below, reach, (parent, child)):
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


# Greedy search over classes of structures that say the same (Chickering 2002).
#
# Structures with the same independences differ in directions that no records can tell. One step
# here may turn many links at once, where hill climbing over single structures would have to pass
# through worse ones; links that are there only because a direction was chosen too early do not
# arise.


Nodes = frozenset[str]

MOST_NEIGHBOURS = 6
"""A step directs subsets of at most this many undirected links."""


@dataclass(frozen=True)
class CPDAG:
    """A partially directed graph: parents and undirected neighbours of every node."""

    parents: dict[str, Nodes]
    neighbours: dict[str, Nodes]

    @classmethod
    def of(cls, parents: dict[str, Nodes]) -> CPDAG:
        """Return the class of a structure: only links alike in all its members are directed.

        Those are the links of two parents that are not linked themselves, and what follows from
        them (Meek 1995, rules 1 to 3).
        """
        linked = _linked(parents)
        directed: dict[str, set[str]] = {
            child: {
                parent
                for parent in given
                if any(other not in linked[parent] for other in given - {parent})
            }
            for child, given in parents.items()
        }
        free = {
            (parent, child)
            for child, given in parents.items()
            for parent in given - directed[child]
        }
        while compelled := {link for link in free if _compelled(link, directed, free, linked)}:
            for parent, child in compelled:
                directed[child].add(parent)
            free -= compelled
        around: dict[str, set[str]] = {node: set() for node in parents}
        for parent, child in free:
            around[parent].add(child)
            around[child].add(parent)
        return cls(
            {node: frozenset(given) for node, given in directed.items()},
            {node: frozenset(others) for node, others in around.items()},
        )

    def adjacent(self, node: str) -> Nodes:
        """Return all nodes linked with one."""
        children = {child for child, given in self.parents.items() if node in given}
        return self.parents[node] | self.neighbours[node] | children

    def member(self) -> dict[str, Nodes]:
        """Return the parents in some structure of the class (Dor and Tarsi 1992).

        Raises:
            StructureError: the graph belongs to no structure.
        """
        parents = dict(self.parents)
        left = {node: set(self.neighbours[node]) for node in parents}
        adjacent = {node: set(self.adjacent(node)) for node in parents}
        nodes = list(parents)
        while nodes:
            sink = next((n for n in reversed(nodes) if self._is_sink(n, nodes, left, adjacent)), "")
            if not sink:
                raise StructureError("No structure has these directions; a cycle is in the way.")
            parents[sink] |= left[sink]
            nodes.remove(sink)
            for other in adjacent[sink]:
                left[other].discard(sink)
                adjacent[other].discard(sink)
        return parents

    def _is_sink(
        self,
        node: str,
        nodes: list[str],
        left: dict[str, set[str]],
        adjacent: dict[str, set[str]],
    ) -> bool:
        if any(node in self.parents[other] for other in nodes):
            return False
        return all(adjacent[node] - {other} <= adjacent[other] for other in left[node])


@dataclass(frozen=True)
class LinkChange:
    """A link put between two variables, or taken away, and the undirected links it directs.

    `given` are the other parents by which the link is judged.
    """

    kind: Literal["insert", "delete"]
    parent: str
    child: str
    turned: Nodes
    given: Nodes

    def apply(self, cpdag: CPDAG) -> CPDAG:
        """Return the graph after the change; its class is that of any member."""
        if self.kind == "insert":
            return _directed(cpdag, self.child, self.turned | {self.parent})
        return _without(cpdag, self.child, self.parent, self.turned)


def settle_class(judge: Judge, cpdag: CPDAG, limit: int, on_step: Progress) -> CPDAG:
    """Insert links while that gains, then delete links while that gains.

    Each step of the first half has a link more, each of the second one fewer: so it ends.

    Args:
        judge: says what a link is worth.
        cpdag: the class to begin from.
        limit: the most parents of a variable in the member that stands for a class.
        on_step: called at each change with links and links expected.
    """
    for changes in (insertions, deletions):
        refused: set[LinkChange] = set()
        while True:
            links = sum(len(cpdag.adjacent(node)) for node in cpdag.parents) // 2
            expected = max(2 * len(cpdag.parents), links + 1)

            def tick(links: int = links, expected: int = expected) -> None:
                on_step(links, expected)

            tick()
            found = best(
                [
                    ChoiceCandidate(change, _gain_of_change(judge, change))
                    for change in changes(cpdag, limit)
                    if change not in refused
                ],
                LEAST_GAIN,
                tick,
            )
            if found is None:
                break
            parents = found[1].apply(cpdag).member()
            if max(map(len, parents.values())) > limit:
                refused.add(found[1])
            else:
                cpdag, refused = CPDAG.of(parents), set()
    return cpdag


def _gain_of_change(judge: Judge, change: LinkChange) -> Gain:
    gain = judge.gain(change.child, change.given, change.parent)
    return gain if change.kind == "insert" else Removal(gain)


def insertions(cpdag: CPDAG, limit: int) -> Iterator[LinkChange]:
    """Yield the valid insertions (Chickering 2002, theorem 15)."""
    onward = {node: set(cpdag.neighbours[node]) for node in cpdag.parents}
    for child, given in cpdag.parents.items():
        for parent in given:
            onward[parent].add(child)
    adjacent = {node: cpdag.adjacent(node) for node in cpdag.parents}
    for child in cpdag.parents:
        for parent in cpdag.parents:
            if parent == child or parent in adjacent[child]:
                continue
            common = cpdag.neighbours[child] & adjacent[parent]
            for turned in _subsets(cpdag.neighbours[child] - adjacent[parent]):
                block = common | turned
                given = block | cpdag.parents[child]
                if len(given) >= limit or not _clique(block, adjacent):
                    continue
                if not _reaches(onward, child, parent, block):
                    yield LinkChange("insert", parent, child, turned, given)


def deletions(cpdag: CPDAG, _limit: int) -> Iterator[LinkChange]:
    """Yield the valid deletions (theorem 17); they keep within any limit."""
    adjacent = {node: cpdag.adjacent(node) for node in cpdag.parents}
    for child in cpdag.parents:
        for parent in sorted(cpdag.parents[child] | cpdag.neighbours[child]):
            common = cpdag.neighbours[child] & adjacent[parent]
            for turned in _subsets(common):
                if _clique(common - turned, adjacent):
                    given = ((common - turned) | cpdag.parents[child]) - {parent}
                    yield LinkChange("delete", parent, child, turned, given)


def _directed(cpdag: CPDAG, child: str, towards: Collection[str]) -> CPDAG:
    parents, neighbours = dict(cpdag.parents), dict(cpdag.neighbours)
    for node in towards:
        parents[child] |= {node}
        neighbours[child] -= {node}
        neighbours[node] -= {child}
    return CPDAG(parents, neighbours)


def _without(cpdag: CPDAG, child: str, parent: str, turned: Nodes) -> CPDAG:
    parents, neighbours = dict(cpdag.parents), dict(cpdag.neighbours)
    parents[child] -= {parent}
    neighbours[child] -= {parent}
    neighbours[parent] -= {child}
    for node in turned:
        for origin in (child, parent):
            if node in neighbours[origin]:
                parents[node] |= {origin}
                neighbours[node] -= {origin}
                neighbours[origin] -= {node}
    return CPDAG(parents, neighbours)


def _subsets(nodes: Nodes) -> Iterator[Nodes]:
    ordered = sorted(nodes)[:MOST_NEIGHBOURS]
    for size in range(len(ordered) + 1):
        yield from map(frozenset, itertools.combinations(ordered, size))


def _clique(nodes: Nodes, adjacent: dict[str, Nodes]) -> bool:
    return all(nodes - {node} <= adjacent[node] for node in nodes)


def _reaches(onward: dict[str, set[str]], start: str, end: str, blocked: Nodes) -> bool:
    """Whether a path that never goes against a direction leads past the blocked nodes."""
    seen, pending = {start}, [start]
    while pending:
        for node in onward[pending.pop()]:
            if node == end:
                return True
            if node not in seen and node not in blocked:
                seen.add(node)
                pending.append(node)
    return False


def _linked(parents: dict[str, Nodes]) -> dict[str, set[str]]:
    linked: dict[str, set[str]] = {node: set() for node in parents}
    for child, given in parents.items():
        for parent in given:
            linked[child].add(parent)
            linked[parent].add(child)
    return linked


def _compelled(
    link: tuple[str, str],
    directed: dict[str, set[str]],
    free: set[tuple[str, str]],
    linked: dict[str, set[str]],
) -> bool:
    """Whether an undirected link of a structure follows from the directed ones."""
    parent, child = link
    if any(other not in linked[child] for other in directed[parent]):
        return True  # else other -> parent <- child would be new
    if any(parent in directed[middle] for middle in directed[child]):
        return True  # else parent -> middle -> child -> parent would be a cycle
    sides = [
        other for other in directed[child] if (parent, other) in free or (other, parent) in free
    ]
    return any(b not in linked[a] for a, b in itertools.combinations(sides, 2))
