"""Structures of Bayesian networks: directed acyclic graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter

from pramana_core.errors import StructureError


@dataclass(frozen=True)
class Structure:
    """The structure of a Bayesian network: every node with its parents, in the order of table axes.

    Raises StructureError: there are no nodes, a node or parent is repeated, a parent is not a node,
    or the links form a cycle.
    """

    families: tuple[tuple[str, tuple[str, ...]], ...]

    @classmethod
    def of(cls, parents: Mapping[str, Sequence[str]]) -> Structure:
        """Return the structure of a mapping from every node to its parents."""
        return cls(tuple((node, tuple(p)) for node, p in parents.items()))

    def __post_init__(self) -> None:
        if not self.families:
            raise StructureError("The structure has no nodes.")
        if len(self.parents) != len(self.families):
            raise StructureError("The structure names a node twice.")
        for node, parents in self.families:
            unknown = [p for p in parents if p not in self.parents]
            if unknown:
                raise StructureError(
                    f"Node {node!r} has parents that are not nodes: {unknown}.",
                    where=node,
                    remedy="List every node; give a root an empty list of parents.",
                )
            if len(set(parents)) != len(parents):
                raise StructureError(f"Node {node!r} repeats a parent.", where=node)
        try:
            TopologicalSorter(self.parents).prepare()
        except CycleError as error:
            cycle = " -> ".join(error.args[1])
            raise StructureError(
                f"The structure has a cycle: {cycle}.",
                where=error.args[1][0],
                remedy="Remove or reverse one of these links.",
            ) from None

    @cached_property
    def parents(self) -> dict[str, tuple[str, ...]]:
        """The parents of each node."""
        return dict(self.families)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of the nodes, in the given order."""
        return tuple(node for node, _ in self.families)

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The names of the nodes, each after all its parents."""
        return tuple(TopologicalSorter(self.parents).static_order())

    @cached_property
    def links(self) -> tuple[tuple[str, str], ...]:
        """All links as (parent, child) pairs."""
        return tuple((p, node) for node, parents in self.families for p in parents)

    def as_dict(self) -> dict[str, list[str]]:
        """Return the structure as JSON data, which maps every node to a list of its parents."""
        return {node: list(parents) for node, parents in self.families}
