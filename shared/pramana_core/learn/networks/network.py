"""Discrete Bayesian networks: tables, marginals, divergences and synthetic records."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pramana_core.alike import did_you_mean
from pramana_core.domain import Domain
from pramana_core.errors import ChannelError, DomainError, OptionError, UnknownVariable
from pramana_core.learn.common.distributions import stream
from pramana_core.learn.networks.inference import eliminate
from pramana_core.learn.networks.structure import Structure
from pramana_core.marginals.counts import Codes, Tensor

CHUNK = 1 << 14
"""The number of records drawn at a time; with another value, a seed would give other records."""

_ROW_SUM_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class BayesNet:
    """A structure with a conditional probability table for each node.

    `tables[node]` has the shape (parents' sizes..., node's size); its last axis sums to 1. Raises
    UnknownVariable: a node is not in the domain. DomainError: a table has the wrong shape.
    ChannelError: a row of a table is not a distribution.
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
                    f"The table of node {node!r} has shape"
                    f" {None if table is None else table.shape}; its parents and categories"
                    f" require {shape}.",
                    where=node,
                )
            off = np.abs(table.sum(axis=-1) - 1).max()
            if table.min() < 0 or not off <= _ROW_SUM_TOLERANCE:
                raise ChannelError(
                    f"A row of the table of node {node!r} has a negative entry, or its sum differs"
                    f" from 1 by {off:.3g}.",
                    where=node,
                )

    def marginal(self, names: Sequence[str]) -> Tensor:
        """Return the exact joint distribution of some nodes, with axes in the order of `names`.

        Raises UnknownVariable: a name is not a node. LimitExceeded: see `eliminate`.
        """
        for name in names:
            if name not in self.structure.parents:
                meant = did_you_mean([name], self.structure.nodes)
                raise UnknownVariable(f"The network has no node {name!r}{meant}.", where=name)
        joint: Tensor = eliminate(self, tuple(names), {}, 1)[0][0]
        return joint

    def sample(self, records: int, rng: np.random.Generator) -> dict[str, Codes]:
        """Draw records from the network, parents before children.

        Returns:
            a vector of `records` unsigned codes for each node, in the structure's order.
        """
        drawn: dict[str, Codes] = {}
        for node in self.structure.order:
            parents = self.structure.parents[node]
            rows = self.tables[node][tuple(drawn[p] for p in parents)]
            bounds = np.cumsum(rows, axis=-1)[..., :-1]
            u = rng.random(records)
            drawn[node] = (u[:, None] >= bounds).sum(axis=-1, dtype=np.uint32)
        return {node: drawn[node] for node in self.structure.nodes}


def cross_entropy(reference: BayesNet, model: BayesNet) -> float:
    """Return -sum_x p(x) ln q(x) in nats; p is the reference and q the model. The result may be
    infinite. Raises DomainError."""
    if set(reference.structure.nodes) != set(model.structure.nodes):
        raise DomainError(
            f"The networks have different nodes: {sorted(reference.structure.nodes)} and"
            f" {sorted(model.structure.nodes)}."
        )
    for node in model.structure.nodes:
        if reference.domain[node] != model.domain[node]:
            raise DomainError(
                f"Node {node!r} has different categories, or a different order of them, in the two"
                " networks.",
                where=node,
            )
    total = 0.0
    for node, parents in model.structure.families:
        weight = reference.marginal([*parents, node])
        table = model.tables[node]
        seen = weight > 0
        if np.any(table[seen] <= 0):
            return math.inf
        total -= float(np.sum(weight[seen] * np.log(table[seen])))
    return total


def kl_divergence(reference: BayesNet, model: BayesNet) -> float:
    """Return KL(reference || model) in nats: the cross-entropy minus the reference's entropy."""
    return max(0.0, cross_entropy(reference, model) - cross_entropy(reference, reference))


def sample_chunks(network: BayesNet, records: int, seed: int) -> Iterator[dict[str, Codes]]:
    """Yield synthetic records drawn from a network, `CHUNK` at a time. Raises OptionError."""
    if records < 1:
        raise OptionError(f"records must be at least 1, not {records}.", where="records")
    if seed < 0:
        raise OptionError(f"seed must be 0 or more, not {seed}.", where="seed")
    rng = stream(seed)
    starts = range(0, records, CHUNK)
    return (network.sample(min(CHUNK, records - start), rng) for start in starts)
