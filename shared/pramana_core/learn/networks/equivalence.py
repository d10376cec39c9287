"""Greedy search over equivalence classes of structures (Chickering 2002)."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from pramana_core.errors import StructureError
from pramana_core.learn.networks.gains import Gain, NetGain, best
from pramana_core.learn.networks.scores import Judge
from pramana_core.progress import Progress

Nodes = frozenset[str]

MOST_NEIGHBOURS = 6
"""The maximum number of undirected neighbours whose subsets are tried in one step."""


def adjacency(nodes: Iterable[str], links: Iterable[tuple[str, str]]) -> dict[str, Nodes]:
    """Return the neighbours of each node, in links of either direction."""
    around: dict[str, Nodes] = dict.fromkeys(nodes, frozenset())
    for first, second in links:
        around[first] |= {second}
        around[second] |= {first}
    return around


@dataclass(frozen=True)
class CPDAG:
    """A class of equivalent structures: the parents and the undirected neighbours of every node."""

    parents: dict[str, Nodes]
    neighbours: dict[str, Nodes]

    @classmethod
    def of(cls, parents: dict[str, Nodes]) -> CPDAG:
        """Return the class of a structure: its colliders, then rules 1 to 3 of Meek (1995)."""
        linked = adjacency(parents, ((p, c) for c, given in parents.items() for p in given))
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
        return cls(
            {node: frozenset(given) for node, given in directed.items()}, adjacency(parents, free)
        )

    def adjacent(self, node: str) -> Nodes:
        """Return all nodes that have a link with a node."""
        children = {child for child, given in self.parents.items() if node in given}
        return self.parents[node] | self.neighbours[node] | children

    def member(self) -> dict[str, Nodes]:
        """Return a structure of the class (Dor and Tarsi 1992), or raise StructureError."""
        parents = dict(self.parents)
        left = {node: set(self.neighbours[node]) for node in parents}
        adjacent = {node: set(self.adjacent(node)) for node in parents}
        nodes = list(parents)
        while nodes:
            sink = next((n for n in reversed(nodes) if self._is_sink(n, nodes, left, adjacent)), "")
            if not sink:
                raise StructureError("No structure has these directions without a cycle.")
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
    """A link to insert or delete.

    `given` are the child's other parents; the links of the nodes `turned` get a direction.
    """

    kind: Literal["insert", "delete"]
    parent: str
    child: str
    turned: Nodes
    given: Nodes

    def apply(self, cpdag: CPDAG) -> CPDAG:
        """Return the class that contains the structures after the change."""
        if self.kind == "insert":
            return _directed(cpdag, self.child, self.turned | {self.parent})
        return _without(cpdag, self.child, self.parent, self.turned)


def settle_class(judge: Judge, cpdag: CPDAG, limit: int, on_step: Progress) -> CPDAG:
    """Insert links while the score rises, then delete links while it rises. A variable gets at most
    `limit` parents."""
    for changes in (insertions, deletions):
        rejected: set[LinkChange] = set()
        while True:
            links = sum(len(cpdag.adjacent(node)) for node in cpdag.parents) // 2
            expected = max(2 * len(cpdag.parents), links + 1)

            def tick(links: int = links, expected: int = expected) -> None:
                on_step(links, expected)

            tick()
            change = best(
                [
                    (_gain(judge, other), other)
                    for other in changes(cpdag, limit)
                    if other not in rejected
                ],
                tick,
            )
            if change is None:
                break
            parents = change.apply(cpdag).member()
            if max(map(len, parents.values())) > limit:
                rejected.add(change)
            else:
                cpdag, rejected = CPDAG.of(parents), set()
    return cpdag


def _gain(judge: Judge, change: LinkChange) -> Gain:
    gain = judge.gain(change.child, change.given, change.parent)
    return gain if change.kind == "insert" else NetGain(gain)


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
    """Yield the valid deletions (Chickering 2002, theorem 17)."""
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
    seen, pending = {start}, [start]
    while pending:
        for node in onward[pending.pop()]:
            if node == end:
                return True
            if node not in seen and node not in blocked:
                seen.add(node)
                pending.append(node)
    return False


def _compelled(
    link: tuple[str, str],
    directed: dict[str, set[str]],
    free: set[tuple[str, str]],
    linked: dict[str, Nodes],
) -> bool:
    parent, child = link
    if any(other not in linked[child] for other in directed[parent]):
        return True  # else other -> parent <- child would be new
    if any(parent in directed[middle] for middle in directed[child]):
        return True  # else parent -> middle -> child -> parent would be a cycle
    sides = [
        other for other in directed[child] if (parent, other) in free or (other, parent) in free
    ]
    return any(b not in linked[a] for a, b in itertools.combinations(sides, 2))
