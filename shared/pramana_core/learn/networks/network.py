"""Discrete Bayesian networks as values: tables, exact marginals, samples and divergences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pramana_core.domain import Domain
from pramana_core.errors import DomainError, LimitExceeded, NotStochastic, UnknownVariable
from pramana_core.learn.networks.structure import Structure
from pramana_core.marginals.counts import Codes, Tensor

MARGINAL_LIMIT = 1 << 24
"""Cells of the largest intermediate table allowed when a marginal is computed."""

_ROW_SUM_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class BayesNet:
    """A structure with a conditional probability table per node.

    `tables[node]` has the shape (parents' sizes..., node's size) and its last axis sums to 1.

    Raises:
        UnknownVariable: a node that is not in the domain.
        DomainError: a table of the wrong shape.
        NotStochastic: a table row that is not a distribution.
    """

    domain: Domain
    structure: Structure
    tables: Mapping[str, Tensor]

    def __post_init__(self) -> None:
        for node, parents in self.structure.families:
            shape = self.domain.project([*parents, node]).shape
            table = self.tables.get(node)
            if table is None or table.shape != shape:
                raise DomainError(
                    f"The table of node {node!r} has shape {None if table is None else table.shape}"
                    f"; its parents and categories ask for {shape}.",
                    where=node,
                )
            off = np.abs(table.sum(axis=-1) - 1).max()
            if table.min() < 0 or not off <= _ROW_SUM_TOLERANCE:
                raise NotStochastic(
                    f"A row of the table of node {node!r} is negative or sums to 1 only within"
                    f" {off:.3g}.",
                    where=node,
                )

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {node: number for number, node in enumerate(self.structure.nodes)}

    def marginal(self, names: Sequence[str]) -> Tensor:
        """Return the exact joint distribution of some nodes, axes in that order.

        Raises:
            UnknownVariable: a name that is not a node.
            LimitExceeded: an intermediate table would have more than `MARGINAL_LIMIT` cells.
        """
        for name in names:
            if name not in self._numbers:
                raise UnknownVariable(f"The network has no node {name!r}.", where=name)
        if self.domain.project(names).size > MARGINAL_LIMIT:
            raise LimitExceeded(
                f"The marginal over {len(names)} nodes has more than {MARGINAL_LIMIT} cells.",
                remedy="Ask for fewer nodes at once.",
            )
        relevant = self.ancestors(names)
        factors = [
            (self.tables[node], [*self.structure.parents[node], node])
            for node in self.structure.order
            if node in relevant
        ]
        # Eliminate, each time, the node whose elimination makes the smallest table.
        for _ in range(len(relevant) - len(set(names))):
            scopes = [scope for _, scope in factors]
            node = min(
                sorted(relevant - set(names)),
                key=lambda n: (self._cost(n, scopes), self._numbers[n]),
            )
            relevant.discard(node)
            touching = [factor for factor in factors if node in factor[1]]
            left = sorted({n for _, scope in touching for n in scope} - {node})
            if self.domain.project([*left, node]).size > MARGINAL_LIMIT:
                raise LimitExceeded(
                    f"The marginal over {list(names)} needs a table over {left}, which is larger"
                    f" than {MARGINAL_LIMIT} cells.",
                )
            factors = [factor for factor in factors if node not in factor[1]]
            factors.append((_product(touching, left), left))
        return _product(factors, list(names))

    def _cost(self, node: str, scopes: list[list[str]]) -> int:
        return self.domain.project(
            sorted({n for scope in scopes if node in scope for n in scope})
        ).size

    def ancestors(self, names: Sequence[str]) -> set[str]:
        """Return some nodes and all that lead to them."""
        found: set[str] = set()
        pending = list(names)
        while pending:
            node = pending.pop()
            if node not in found:
                found.add(node)
                pending.extend(self.structure.parents[node])
        return found

    def sample(self, records: int, rng: np.random.Generator) -> dict[str, Codes]:
        """Draw records from the network, parents before children.

        Returns:
            int64-compatible unsigned codes of length `records` by node, in the structure's order.
        """
        drawn: dict[str, Codes] = {}
        for node in self.structure.order:
            parents = self.structure.parents[node]
            rows = self.tables[node][tuple(drawn[p] for p in parents)]
            bounds = np.cumsum(rows, axis=-1)[..., :-1]
            u = rng.random(records)
            drawn[node] = (u[:, None] >= bounds).sum(axis=-1, dtype=np.uint32)
        return {node: drawn[node] for node in self.structure.nodes}


def _product(factors: Sequence[tuple[Tensor, Sequence[str]]], names: list[str]) -> Tensor:
    """Multiply factors and sum out all but `names`."""
    letters = {n: i for i, n in enumerate(sorted({n for _, scope in factors for n in scope}))}
    operands: list[Any] = []
    for table, scope in factors:
        operands += [table, [letters[n] for n in scope]]
    product: Tensor = np.einsum(*operands, [letters[n] for n in names], optimize="greedy")
    return product


def families(network: BayesNet) -> Iterator[tuple[str, list[str]]]:
    """Yield each node with its family: its parents and then itself."""
    for node, parents in network.structure.families:
        yield node, [*parents, node]


def cross_entropy(reference: BayesNet, model: BayesNet) -> float:
    """Return -sum_x p(x) ln q(x) in nats, with p the reference and q the model.

    Computed family by family of the model from exact marginals of the reference. Infinite where
    the model excludes what the reference allows.

    Raises:
        DomainError: the networks have different nodes, or one node has other categories.
    """
    if set(reference.structure.nodes) != set(model.structure.nodes):
        raise DomainError(
            f"The networks have different nodes: {sorted(reference.structure.nodes)} and"
            f" {sorted(model.structure.nodes)}."
        )
    for node in model.structure.nodes:
        if reference.domain[node] != model.domain[node]:
            raise DomainError(
                f"The networks give node {node!r} different categories, or in another order.",
                where=node,
            )
    total = 0.0
    for node, names in families(model):
        weight = reference.marginal(names)
        table = model.tables[node]
        seen = weight > 0
        if np.any(table[seen] <= 0):
            return math.inf
        total -= float(np.sum(weight[seen] * np.log(table[seen])))
    return total


def kl_divergence(reference: BayesNet, model: BayesNet) -> float:
    """Return KL(reference || model) in nats: cross-entropy less the reference's entropy."""
    return max(0.0, cross_entropy(reference, model) - cross_entropy(reference, reference))
