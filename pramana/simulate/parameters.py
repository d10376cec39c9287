"""Parameters from estimated counts that can be compared by divergence: none of them is zero."""

from __future__ import annotations

import numpy as np

from pramana_core.domain import Domain
from pramana_core.learn.networks.bayes_net import learn_parameters
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.structure import Structure
from pramana_core.marginals.counts import Marginals, Tensor

PSEUDO_COUNT = 1.0
"""Records added to each cell of a table of parameters, that none be zero and KL be finite."""

SMOOTHED = (
    "An estimated probability may be negative or 0 and the distance infinite: a row's estimates are"
    " projected onto the distributions and one record is added to each of its cells."
)


def fitted(
    marginals: Marginals, structure: Structure, pseudo_count: float = PSEUDO_COUNT
) -> BayesNet:
    """Return the network with the parameters these counts give, none of them zero.

    Each row of maximum-likelihood parameters, projected onto the distributions, is taken for N_ij
    records (0 if the estimate is negative), and `pseudo_count` is added to every cell: without
    randomization that is the posterior mean under a Dirichlet prior (Ma 5.1).
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
