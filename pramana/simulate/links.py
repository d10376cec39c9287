"""Distance of a learned network from a reference: differing links, and divergence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pramana_core.domain import Domain
from pramana_core.errors import LimitExceeded
from pramana_core.learn.networks.bayes_net import learn_parameters
from pramana_core.learn.networks.equivalence import CPDAG
from pramana_core.learn.networks.network import BayesNet, cross_entropy
from pramana_core.learn.networks.structure import Structure
from pramana_core.marginals.counts import Marginals, Tensor

Link = tuple[str, str]


@dataclass(frozen=True)
class LinkErrors:
    """A structure's differences from a reference; the sum is the structural Hamming distance.

    Attributes:
        extra: pairs that are adjacent in the structure only.
        missing: pairs that are adjacent in the reference only.
        reversed: pairs that are adjacent in both with different directions.
    """

    extra: int
    missing: int
    reversed: int


def compare(structure: Structure, reference: Structure, *, by_class: bool) -> LinkErrors:
    """Count the differences of two structures over the same nodes.

    Args:
        structure: the learned structure.
        reference: the correct structure.
        by_class: whether to compare equivalence classes. Data cannot distinguish structures of one
            class, so a link is reversed only if the completed partially directed graphs (CPDAGs)
            disagree on its direction. If false, the structures' own directions are compared.
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
    """Return the pairs of linked nodes, without direction."""
    return frozenset(frozenset(link) for link in links)


def directed(structure: Structure) -> frozenset[Link]:
    """Return the links that have the same direction in every structure of the equivalence class."""
    cpdag = CPDAG.of({node: frozenset(parents) for node, parents in structure.families})
    return frozenset((p, node) for node, parents in cpdag.parents.items() for p in parents)


PSEUDO_COUNT = 1.0
"""Records added to each cell of a parameter table, so that no cell is zero and KL is finite."""


def fitted(
    marginals: Marginals, structure: Structure, pseudo_count: float = PSEUDO_COUNT
) -> BayesNet:
    """Return the network with parameters learned from these counts, all above zero.

    Each row of maximum-likelihood parameters, projected onto the distributions, counts as N_ij
    records (0 if the estimate is negative), and `pseudo_count` is added to every cell. Without
    randomization, the result is the posterior mean under a Dirichlet prior (Ma 5.1).
    """
    learned = learn_parameters(marginals, structure)
    tables = {}
    for family in learned.families:
        weight = _margin(marginals, family.parents)
        size = family.probability.shape[-1]
        tables[family.node] = (weight * family.probability + pseudo_count) / (
            weight + pseudo_count * size
        )
    return BayesNet(Domain(learned.domain.variables), structure, tables)


def _margin(marginals: Marginals, parents: tuple[str, ...]) -> Tensor:
    if not parents:
        return np.array([float(marginals.records)])
    return np.maximum(marginals.marginal(parents).counts, 0.0)[..., None]


def divergence_or_none(
    reference: BayesNet, network: BayesNet, entropy: float | None
) -> float | None:
    """Return the divergence from `reference` in nats; None if a marginal is too large."""
    try:
        return None if entropy is None else cross_entropy(reference, network) - entropy
    except LimitExceeded:
        return None
