"""The six nodes of Ma's and MaSiv's figures, the learners of each setup, and theoretical errors.

The two setups: a miner with the reports of all owners (MaSiv's II), or the sites alone (I).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce

import numpy as np

from pramana.setups import SeededOwner
from pramana_core.channels import Identity, Symmetric
from pramana_core.domain import Domain
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.structure import Structure
from pramana_core.marginals.counts import Codes, ReportedCounts, Tensor
from pramana_core.plan import Block, Plan
from pramana_core.wire.parts import code_dtype

# This network replaces Ma's figures 5.3 and 5.6, whose drawings and tables are lost: six binary
# nodes in the order of 5.6.4; node D has its parents at the other site (5.6.2).
STRUCTURE = Structure.of(
    {"A": [], "B": ["A"], "C": ["A"], "D": ["B", "C"], "E": ["D"], "F": ["C", "D"]}
)


DOMAIN = Domain.of(**{node: ["1", "2"] for node in STRUCTURE.nodes})

_FIRST = {
    "A": [0.4],
    "B": [0.2, 0.75],
    "C": [0.7, 0.25],
    "D": [0.9, 0.35, 0.45, 0.1],
    "E": [0.2, 0.8],
    "F": [0.85, 0.3, 0.4, 0.15],
}


@cache
def network() -> BayesNet:
    """Return the network of six nodes."""
    tables = {}
    for node, parents in STRUCTURE.families:
        first = np.array(_FIRST[node]).reshape([2] * len(parents))
        tables[node] = np.stack([first, 1 - first], axis=-1)
    return BayesNet(DOMAIN, STRUCTURE, tables)


def six_plan(p: float, nodes: Iterable[str] = "ABCDEF", exact: str = "") -> Plan:
    """Return the binary symmetric randomization of some nodes with parameter `p`.

    Nodes in `exact` are not randomized. In the setup without a miner, these are the site's own.
    """
    channel = Symmetric.from_probability(2, p)
    return Plan(
        tuple(Block((DOMAIN[node],), Identity(2) if node in exact else channel) for node in nodes)
    )


def sample(drawn: BayesNet, records: int, rng: np.random.Generator) -> dict[str, Codes]:
    """Draw the true codes of all nodes of a network."""
    codes = drawn.sample(records, rng)
    return {v.name: codes[v.name].astype(code_dtype(v.size)) for v in drawn.domain}


def six_sample(records: int, rng: np.random.Generator) -> dict[str, Codes]:
    return sample(network(), records, rng)


def counts_over(codes: Mapping[str, Codes], domain: Domain, names: Sequence[str]) -> Tensor:
    """Return the true counts over some variables, with an axis for each."""
    counts = ReportedCounts({n: codes[n] for n in names}, {n: domain[n].size for n in names})
    return counts.table(names).astype(np.float64)


def counted(codes: Mapping[str, Codes], node: str) -> Tensor:
    """Return the true counts of a node's family: its parents' axes, then its own."""
    return counts_over(codes, DOMAIN, [*STRUCTURE.parents[node], node])


def families(whole: Structure, nodes: Iterable[str]) -> Structure:
    """Return the structure of these nodes and their parents, which themselves have no parents."""
    parents = {node: whole.parents[node] for node in nodes}
    needed = {*parents, *(name for names in parents.values() for name in names)}
    return Structure.of({n: parents.get(n, ()) for n in whole.nodes if n in needed})


def family(*nodes: str) -> Structure:
    """Return the structure of the families of the given nodes, from the network of six nodes."""
    return families(STRUCTURE, nodes)


@dataclass(frozen=True)
class Learner:
    """A learner: the plan of the columns that it receives, and the nodes that it learns."""

    plan: Plan
    nodes: Sequence[str]

    def marginals(
        self, owner: SeededOwner, codes: Mapping[str, Codes], run: int
    ) -> EstimatedMarginals:
        """Return the learner's estimates; every learner of a block gets the same reports."""
        columns = {name: codes[name] for name in self.plan.domain.names}
        return EstimatedMarginals(owner.report(self.plan, columns, run), self.plan)


MINER, PEERS = BOTH = "with a miner (II)", "without (I)"

SITES = ("ABC", "DEF")
"""The nodes of the two sites of figure 3: D has its parents at the other site (Ma 5.6.2)."""


def learners(setup: str, p: float) -> tuple[Learner, ...]:
    """Return the learners of the six nodes in a setup; nodes are randomized with parameter `p`.

    Without a miner a site has its own columns unrandomized and learns its own nodes.
    """
    if setup == MINER:
        return (Learner(six_plan(p), "ABCDEF"),)
    return tuple(Learner(six_plan(p, exact=site), site) for site in SITES)


def learner_of(setup: str, p: float, node: str) -> Learner:
    """Return the learner of a node in a setup, with the columns of the node's family only."""
    (site,) = (one.nodes for one in learners(setup, p) if node in one.nodes)
    exact = str(site) if setup == PEERS else ""
    return Learner(six_plan(p, family(node).nodes, exact), node)


def flips(p: float) -> Tensor:
    """Return the matrix that flips a bit with probability p."""
    return np.array([[1 - p, p], [p, 1 - p]])


def covariance(counts: Tensor, matrices: Sequence[Tensor]) -> Tensor:
    """Return Cov(N^ | D) = P'^-1 diag(P'N) P^-1 - diag(N) (Ma theorems 2 and 5.2).

    It uses Kronecker products and the true counts, which only an experiment has. The product
    computes covariances by another method, so the two can be compared.

    Args:
        counts: the true counts, one axis per variable.
        matrices: each axis's transition matrix, with true categories in rows.
    """
    joint: Tensor = reduce(lambda a, b: np.kron(a, b).astype(np.float64), matrices)
    inverse = np.linalg.inv(joint)
    cells = counts.ravel()
    full: Tensor = (inverse.T * (joint.T @ cells)) @ inverse - np.diag(cells)
    return full


def parameter_errors(counts: Tensor, matrices: Sequence[Tensor]) -> Tensor:
    """Return the standard errors of N^_jk / N^_j given the records (Ma 5.4.2), by the delta method.

    Args:
        counts: the true counts, with the node's own axis last.
        matrices: as for `covariance`.
    """
    rows = counts.reshape(-1, counts.shape[-1])
    size = rows.shape[1]
    margin = np.repeat(rows.sum(axis=1), size)
    share = counts.ravel() / margin
    same_row = np.kron(np.eye(len(rows)), np.ones((size, size)))
    slope = (np.eye(counts.size) - share[:, None] * same_row) / margin[:, None]
    variance = np.einsum("ij,jk,ik->i", slope, covariance(counts, matrices), slope)
    errors: Tensor = np.sqrt(np.maximum(variance, 0.0)).reshape(counts.shape)
    return errors
