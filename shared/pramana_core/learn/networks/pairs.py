"""Structures from tables of pairs: the forest of Chow and Liu (1968).

The forest joins the pairs of the largest mutual information without a circle. Noise looks like
information, so a pair is joined only if its dependence is significant: at most a share
`FALSE_SHARE` of the links is expected to join independent variables.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pramana_core.learn.networks.dependence import Coefficients, Dependences
from pramana_core.learn.networks.moves import Parents
from pramana_core.marginals.counts import Marginals
from pramana_core.progress import Progress
from pramana_core.ties import descending, reaches

FALSE_SHARE = 0.03
"""The largest expected share of a forest's links that join independent variables."""

Pair = tuple[str, str]

_NAT = 1.0
"""The scale on which rounded information is compared."""


@dataclass(frozen=True, eq=False)
class FoundFromPairs:
    """A forest, and the evidence of each link."""

    parents: Parents
    evidence: dict[frozenset[str], Coefficients]


def from_pairs(marginals: Marginals, nodes: Sequence[str], on_step: Progress) -> FoundFromPairs:
    """Learn a forest from the tables of pairs.

    Args:
        marginals: exact or estimated counts.
        nodes: the variables.
        on_step: is called for each pair with pairs done and pairs in all; may raise to stop.
    """
    dependences = Dependences(marginals)
    pairs = list(itertools.combinations(nodes, 2))
    known = {}
    for done, pair in enumerate(pairs):
        on_step(done, len(pairs))
        found = dependences.of(*pair)
        if found is not None:
            known[pair] = found
    on_step(len(pairs), len(pairs))
    chance = {pair: found.coefficients.p_value for pair, found in known.items()}
    links = 1
    while True:
        most = FALSE_SHARE * links / max(1, len(pairs))
        kept = {pair: known[pair].information for pair, p in chance.items() if reaches(most, p)}
        forest = spanning_forest(nodes, kept)
        if len(forest) <= links:
            break
        links = len(forest)
    evidence = {frozenset(pair): known[pair].coefficients for pair in forest}
    return FoundFromPairs(orient_from_first(nodes, forest), evidence)


def spanning_forest(nodes: Sequence[str], weights: Mapping[Pair, float]) -> list[Pair]:
    """Return the pairs of the largest weights, in nats, without a circle; of equals the first."""
    tree = {node: node for node in nodes}

    def top(node: str) -> str:
        while tree[node] != node:
            node = tree[node]
        return node

    found = []
    pairs = list(weights)
    for place in descending(list(weights.values()), scale=_NAT).tolist():
        pair = pairs[place]
        first, second = map(top, pair)
        if first != second:
            tree[first] = second
            found.append(pair)
    return found


def orient_from_first(nodes: Sequence[str], links: Sequence[Pair]) -> Parents:
    """Return parents with given links, directed away from the first node of each component."""
    around: dict[str, set[str]] = {node: set() for node in nodes}
    for first, second in links:
        around[first].add(second)
        around[second].add(first)
    place: dict[str, int] = {}
    for start in nodes:
        pending = [start]
        while pending:
            node = pending.pop(0)
            if node not in place:
                place[node] = len(place)
                pending += sorted(around[node])
    return {n: frozenset(o for o in around[n] if place[o] < place[n]) for n in nodes}
