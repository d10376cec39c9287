"""Structures from tables of pairs: the forest of Chow and Liu (1968), and further links.

The links of the forest are the significant pairs with the largest mutual information that form no
cycle. Further links join pairs that remain dependent given any one or two neighbours of the
variables (PC algorithm, Spirtes and Glymour 1991).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np

from pramana_core.errors import StructureError
from pramana_core.learn.networks.dependence import Coefficients, Dependences
from pramana_core.learn.networks.equivalence import CPDAG, adjacency
from pramana_core.learn.networks.scores import Parents
from pramana_core.marginals.counts import Marginals
from pramana_core.progress import Progress
from pramana_core.ties import ascending, descending, exceeds, reaches

FALSE_SHARE = 0.03
"""The maximum expected share of links in a forest that join independent variables."""

FAMILY_CELLS = 1 << 12
"""The maximum number of cells of the table of a node with its parents."""

LEVEL = 0.05
"""The probability that any further link or collider is added although chains explain all pairs."""

Pair = tuple[str, str]
Named = TypeVar("Named", bound=tuple[str, ...])

_NAT = 1.0
"""Differences in nats that are rounding errors at this scale count as zero."""


class PairStructure(NamedTuple):
    """A structure learned from tables of pairs, with the evidence of each link.

    `chains` has the evidence of each link of the forest against each chain over a neighbour of one
    of its variables, computed one by one when they are needed.
    """

    parents: Parents
    evidence: dict[frozenset[str], Coefficients]
    chains: dict[frozenset[str], Iterator[Coefficients]]


def from_pairs(
    marginals: Marginals, nodes: Sequence[str], max_parents: int, on_step: Progress
) -> PairStructure:
    """Learn a structure from the tables of pairs; with `max_parents` 1, learn only the forest."""
    dependences = Dependences(marginals)
    search = _Search(dependences, tuple(nodes), on_step)
    links = search.forest()
    further = search.further(links) if max_parents > 1 else {}
    pairs = {pair: dependences.of(*pair) for pair in links}
    evidence = {frozenset(p): known.independence for p, known in pairs.items() if known}
    evidence |= {frozenset(pair): tested for pair, tested in further.items()}
    around = adjacency(nodes, [*links, *further])
    chains = {frozenset(pair): search.chains(pair, around) for pair in links}
    colliders = search.colliders([*links, *further]) if max_parents > 1 else []
    ordered = [*links, *by_p_value({pair: further[pair].p_value for pair in further})]
    while True:
        parents = orient(nodes, ordered, colliders)
        if all(
            len(given) <= max_parents
            and (len(given) < 2 or marginals.domain.project((n, *given)).size <= FAMILY_CELLS)
            for n, given in parents.items()
        ):
            return PairStructure(parents, evidence, chains)
        if colliders:
            colliders = colliders[:-1]
        else:
            ordered = ordered[:-1]


def spanning_forest(nodes: Sequence[str], weighed: dict[Pair, float]) -> list[Pair]:
    """Return the pairs of a spanning forest of maximum weight. Of tied pairs, the first is used."""
    tree = {node: node for node in nodes}

    def top(node: str) -> str:
        while tree[node] != node:
            node = tree[node]
        return node

    forest = []
    pairs = list(weighed)
    for place in descending(list(weighed.values()), scale=_NAT).tolist():
        pair = pairs[place]
        first, second = map(top, pair)
        if first != second:
            tree[first] = second
            forest.append(pair)
    return forest


def by_p_value(p_values: Mapping[Named, float]) -> list[Named]:
    """Return names by ascending p-value, and alphabetically where p-values are equal."""
    names = sorted(p_values)
    least = np.finfo(float).tiny
    logs = np.log([max(p_values[name], least) for name in names])
    return [names[place] for place in ascending(logs).tolist()]


def orient(
    nodes: Sequence[str], links: Sequence[Pair], colliders: Sequence[tuple[str, str, str]]
) -> Parents:
    """Return parents with the given links, and with the colliders (u, w, v) at w if consistent.

    The directions of other links create no further colliders or, if that is impossible, point away
    from the first variable of their component.
    """
    around = adjacency(nodes, links)
    into: Parents = dict.fromkeys(nodes, frozenset())
    free = dict(around)
    for first, middle, second in colliders:
        more = {first, second} - into[middle]
        if not {first, second} <= around[middle] or any(middle in into[n] for n in more):
            continue
        tried, left = dict(into), dict(free)
        for node in more:
            tried[middle] |= {node}
            left[middle] -= {node}
            left[node] -= {middle}
        if _member(tried, left) is not None:
            into, free = tried, left
    return _member(into, free) or orient_from_first(nodes, links)


def _member(into: Parents, free: Parents) -> Parents | None:
    try:
        return CPDAG(into, free).member()
    except StructureError:
        return None


def orient_from_first(nodes: Sequence[str], links: Sequence[Pair]) -> Parents:
    """Return parents with the given links, directed away from the first node of each component."""
    around = adjacency(nodes, links)
    place: dict[str, int] = {}
    for start in nodes:
        pending = [start]
        while pending:
            node = pending.pop(0)
            if node not in place:
                place[node] = len(place)
                pending += sorted(around[node])
    return {n: frozenset(o for o in around[n] if place[o] < place[n]) for n in nodes}


@dataclass(frozen=True, eq=False)
class _Search:
    dependences: Dependences
    nodes: tuple[str, ...]
    on_step: Progress

    @cached_property
    def pairs(self) -> list[Pair]:
        return list(itertools.combinations(self.nodes, 2))

    def forest(self) -> list[Pair]:
        pairs = self.pairs
        chance: dict[Pair, float] = {}
        weights: dict[Pair, float] = {}
        for done, pair in enumerate(pairs):
            self.on_step(done, len(pairs))
            dependence = self.dependences.of(*pair)
            if dependence is not None:
                chance[pair] = dependence.independence.p_value
                weights[pair] = dependence.information
        self.on_step(len(pairs), len(pairs))
        links = 1
        while True:
            most = FALSE_SHARE * links / len(pairs)
            kept = {pair: weights[pair] for pair, p in chance.items() if reaches(most, p)}
            forest = spanning_forest(self.nodes, kept)
            if len(forest) <= links:
                return forest
            links = len(forest)

    def further(self, links: Sequence[Pair]) -> dict[Pair, Coefficients]:
        around = adjacency(self.nodes, links)
        known: dict[tuple[Pair, tuple[str, ...]], Coefficients | None] = {}
        allowed = LEVEL / max(1, len(self.pairs))

        def weakest(pair: Pair) -> Coefficients | None:
            dependence = self.dependences.of(*pair)
            if dependence is None or exceeds(dependence.independence.p_value, allowed):
                return None
            worst = dependence.independence
            near = sorted((around[pair[0]] | around[pair[1]]) - set(pair))
            for middles in (*((one,) for one in near), *itertools.combinations(near, 2)):
                if (pair, middles) not in known:
                    known[pair, middles] = self.dependences.beyond(pair[0], middles, pair[1])
                tested = known[pair, middles]
                if tested is None:
                    return None
                if exceeds(tested.p_value, worst.p_value):
                    worst = tested
                if exceeds(worst.p_value, allowed):
                    return None
            return worst

        found: dict[Pair, Coefficients] = {}
        tested: dict[Pair, float] = {}
        for pair in (pair for pair in self.pairs if pair not in links):
            self._tick()
            test = weakest(pair)
            if test is not None:
                tested[pair] = test.p_value
        for pair in by_p_value(tested):
            # A link added in the meantime may explain this pair.
            test = weakest(pair)
            if test is not None:
                found[pair] = test
                around = adjacency(self.nodes, [*links, *found])
        return found

    def chains(self, pair: Pair, around: Parents) -> Iterator[Coefficients]:
        """Yield what remains of a pair's dependence given each neighbour of its variables."""
        for one in sorted((around[pair[0]] | around[pair[1]]) - set(pair)):
            self._tick()
            beyond = self.dependences.beyond(pair[0], [one], pair[1])
            if beyond is not None:
                yield beyond

    def colliders(self, links: Sequence[Pair]) -> list[tuple[str, str, str]]:
        """Return (u, w, v) where u and v look independent, contrary to a chain over w."""
        around = adjacency(self.nodes, links)
        triples = [
            (first, middle, second)
            for middle in self.nodes
            for first, second in itertools.combinations(sorted(around[middle]), 2)
            if second not in around[first]
        ]
        found: dict[tuple[str, str, str], float] = {}
        for first, middle, second in triples:
            self._tick()
            whole, chain = self.dependences.of(first, second), None
            if whole is not None and exceeds(whole.independence.p_value, LEVEL):
                chain = self.dependences.beyond(first, [middle], second)
            if chain is not None and reaches(LEVEL / len(triples), chain.p_value):
                found[first, middle, second] = chain.p_value
        return by_p_value(found)

    def _tick(self) -> None:
        self.on_step(len(self.pairs), len(self.pairs))
