"""Compare the links of two structures: extra, missing and reversed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

from shared.learn.structure import Structure

Link = tuple[str, str]


@dataclass(frozen=True)
class LinkErrors:
    """How a structure differs from a reference; their sum is the structural Hamming distance.

    Attributes:
        extra: pairs that are adjacent in the structure only.
        missing: pairs that are adjacent in the reference only.
        reversed: pairs that are adjacent in both and linked in another way.
    """

    extra: int
    missing: int
    reversed: int

    @property
    def distance(self) -> int:
        """The structural Hamming distance."""
        return self.extra + self.missing + self.reversed


def compare(structure: Structure, reference: Structure, *, by_class: bool) -> LinkErrors:
    """Count the differences of two structures over the same nodes.

    Args:
        structure: what was learned.
        reference: what is right.
        by_class: compare equivalence classes. Data cannot tell structures of one class apart, so
            a link counts as reversed only where the completed partially directed graphs (CPDAGs)
            disagree: one directs it and the other does not, or directs it the other way. Otherwise
            the structures' own directions are compared.
    """
    found, wanted = (adjacent(s.links) for s in (structure, reference))
    ours, theirs = (directed(s) if by_class else frozenset(s.links) for s in (structure, reference))
    turned = 0
    for pair in found & wanted:
        one, two = sorted(pair)
        way = {(one, two), (two, one)}
        turned += way & ours != way & theirs
    return LinkErrors(len(found - wanted), len(wanted - found), turned)


def adjacent(links: Iterable[Link]) -> frozenset[frozenset[str]]:
    """Return the pairs of nodes that a link joins."""
    return frozenset(frozenset(link) for link in links)


def directed(structure: Structure) -> frozenset[Link]:
    """Return the links that have the same direction in every structure of the equivalence class.

    They are those of the colliders whose parents are not adjacent, and what Meek's (1995) rules
    derive from them.
    """
    pairs = adjacent(structure.links)
    known = {
        link
        for node, parents in structure.families
        for one, two in combinations(parents, 2)
        if frozenset((one, two)) not in pairs
        for link in ((one, node), (two, node))
    }
    open_pairs = {pair for pair in pairs if not any(frozenset(link) == pair for link in known)}
    while derived := next(_derived(open_pairs, known, pairs), None):
        known.add(derived)
        open_pairs.discard(frozenset(derived))
    return frozenset(known)


def _derived(
    open_pairs: set[frozenset[str]], known: set[Link], pairs: frozenset[frozenset[str]]
) -> Iterator[Link]:
    for one, two in sorted(map(sorted, open_pairs)):
        for a, b in ((one, two), (two, one)):
            if _must_point(a, b, known, pairs):
                yield a, b


def _must_point(a: str, b: str, known: set[Link], pairs: frozenset[frozenset[str]]) -> bool:
    """Return whether a - b must be a -> b, by one of Meek's first three rules."""
    into_a = {x for x, y in known if y == a}
    into_b = {x for x, y in known if y == b}
    if any(frozenset((c, b)) not in pairs for c in into_a):
        return True  # or a new collider would arise at a
    if any((a, c) in known for c in into_b):
        return True  # or a cycle
    beside = {c for c in into_b if frozenset((a, c)) in pairs and (c, a) not in known}
    return any(frozenset((c, d)) not in pairs for c, d in combinations(sorted(beside), 2))
