"""Compare the links of two structures: extra, missing and reversed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pramana_core.learn.networks.search.equivalence import CPDAG
from pramana_core.learn.networks.structure import Structure

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
    """Return the links that have the same direction in every structure of the class."""
    cpdag = CPDAG.of({node: frozenset(parents) for node, parents in structure.families})
    return frozenset((p, node) for node, parents in cpdag.parents.items() for p in parents)
