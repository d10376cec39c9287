"""Directed acyclic graphs: which variables are the parents of which.

Also here:

* How Bayesian networks are learned: what a link is worth, how to search, and the parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, Literal

from annotated_types import Ge, Le

from pramana_core.errors import OptionError, StructureError
from pramana_core.learn.common.options import (
    Positive,
    Share,
    require_effect,
    require_limit,
    require_limits,
)


@dataclass(frozen=True)
class Structure:
    """The structure of a Bayesian network: every node with its parents, in a fixed order.

    The order of a node's parents is the order of the axes of its table.

    Raises:
        StructureError: no nodes, a node twice, a parent that is not a node, a parent twice, or a
            cycle (named).
    """

    families: tuple[tuple[str, tuple[str, ...]], ...]

    @classmethod
    def of(cls, parents: Mapping[str, Sequence[str]]) -> Structure:
        """Build from a mapping of every node to its parents."""
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
                    remedy="List every node, a root with no parents.",
                )
            if len(set(parents)) != len(parents):
                raise StructureError(f"Node {node!r} has a parent twice.", where=node)
        try:
            TopologicalSorter(self.parents).prepare()
        except CycleError as error:
            cycle = " -> ".join(error.args[1])
            raise StructureError(
                f"The structure has a cycle: {cycle}.",
                where=error.args[1][0],
                remedy="Remove or turn one of these links.",
            ) from None

    @cached_property
    def parents(self) -> dict[str, tuple[str, ...]]:
        """The parents of each node."""
        return dict(self.families)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes in the order given."""
        return tuple(node for node, _ in self.families)

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The nodes, parents before children."""
        return tuple(TopologicalSorter(self.parents).static_order())

    @cached_property
    def links(self) -> tuple[tuple[str, str], ...]:
        """All (parent, child) pairs."""
        return tuple((p, node) for node, parents in self.families for p in parents)

    def as_dict(self) -> dict[str, list[str]]:
        """Return the JSON form: every node with the list of its parents."""
        return {node: list(parents) for node, parents in self.families}


# How Bayesian networks are learned: what a link is worth, how to search, and the parameters.

Method = Literal["ml", "map"]
ScoreName = Literal["likelihood", "bic", "bayesian", "bdeu"]
SearchName = Literal["auto", "hill-climbing", "chow-liu"]

MaxParents = Annotated[int, Ge(1), Le(16)]

Draws = Annotated[int, Ge(0), Le(10_000)]
"""Bootstrap samples of the records, for the confidence of links; 0 for none."""

DRAWS = 200


@dataclass(frozen=True)
class ParameterOptions:
    """How the parameters of a network are learned.

    Args:
        method: `ml`, or `map` with a Dirichlet prior (Ma 5.1).
        alpha: the prior's pseudo-count per cell; used by `map` only.

    Raises:
        OptionError: an unknown method, or an alpha that is not positive.
    """

    method: Method = "ml"
    alpha: Positive = 1.0

    def __post_init__(self) -> None:
        require_limits(self)
        require_effect(self, "method", self.method, alpha=("map",))


@dataclass(frozen=True)
class Scoring:
    """A score and its options.

    Args:
        name: `likelihood` of the reports (default); `bic` (Ma 5.5.1, penalty (log N)/2 per
            parameter), `bayesian` (the same section; Dirichlet prior) or `bdeu` of estimated
            counts made nonnegative.
        eta: a parent is added only if new > eta * old, both logarithms and negative (Ma 5.5.2); a
            value below 1 demands a relative gain of 1 - eta. Of the plain scores.
        c_star: the penalty of `bic` is multiplied by it (Ma 5.5.2).
        alpha: the Dirichlet parameter of each cell, of `bayesian`.
        equivalent_sample_size: the prior's weight in records, of `bdeu`.

    Raises:
        OptionError: an unknown score, an option out of its range, or of another score.
    """

    name: ScoreName = "likelihood"
    eta: Share = 1.0
    c_star: Positive = 1.0
    alpha: Positive = 1.0
    equivalent_sample_size: Positive = 10.0

    def __post_init__(self) -> None:
        require_limit(self.name, ScoreName, "score")
        require_limits(self)
        require_effect(
            self,
            "score",
            self.name,
            eta=("bic", "bayesian", "bdeu"),
            c_star=("bic",),
            alpha=("bayesian",),
            equivalent_sample_size=("bdeu",),
        )


@dataclass(frozen=True)
class Search:
    """How to search.

    Args:
        order: with an order only earlier variables can be parents: K2 (Ma 5.5.1).
        max_parents: the most parents a variable may get.
        refine: K2 only adds parents, and keeps what a later one makes needless. Refined it also
            drops a parent, or exchanges one for another, where that gains. Noise makes this
            matter more: what is reported well is added before what it stands for.
        method: without an order: `hill-climbing` adds, deletes, reverses and exchanges links by the
            score; `chow-liu` needs no more than pairs to be told and no score: the forest of the
            largest information (Chow and Liu 1968) and, with more than one parent, the links that
            nothing between them explains. `auto` (default) climbs where some records report all
            variables together, and takes `chow-liu` where each reports a few.

    Raises:
        OptionError: an unknown method, or one beside an order; an order that repeats a variable, a
            number out of its range, or no order and no refinement.
    """

    order: tuple[str, ...] | None = None
    max_parents: MaxParents = 3
    refine: bool = True
    method: SearchName = "auto"

    def __post_init__(self) -> None:
        require_limits(self)
        if self.order is not None and self.method != "auto":
            raise OptionError(
                f"The search along an order is K2, not {self.method}.",
                where="method",
                remedy="Leave out one of the two.",
            )
        if self.order is not None and len(set(self.order)) < len(self.order):
            raise OptionError("The order names a variable twice.", where="order")
        if self.order is None and not self.refine:
            raise OptionError(
                "Only a search along an order can do without refinement.", where="refine"
            )
