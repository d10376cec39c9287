"""The network that stands for Ma's figures 5.3 and 5.6, whose drawings and tables are lost.

Six binary nodes A to F, in the order that 5.6.4 assumes; node D has its parents at the other site,
as 5.6.2 says of it.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from pramana_core.channels import Identity, Symmetric
from pramana_core.domain import Domain
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.structure import Structure
from pramana_core.marginals.counts import Codes, ReportedCounts, Tensor
from pramana_core.plan import Block, Plan
from pramana_core.wire.parts import code_dtype

STRUCTURE = Structure.of(
    {"A": [], "B": ["A"], "C": ["A"], "D": ["B", "C"], "E": ["D"], "F": ["C", "D"]}
)

CHOICE = (
    "The networks of figures 5.3 and 5.6 are lost. Chosen for both: links A-B, A-C, B-D, C-D, D-E,"
    " C-F, D-F, all binary, with Pr(1 | parents), first parent slowest, A .4; B .2 .75; C .7 .25;"
    " D .9 .35 .45 .1; E .2 .8; F .85 .3 .4 .15."
)

_DOMAIN = Domain.of(**{node: ["1", "2"] for node in STRUCTURE.nodes})

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
    """Return the network."""
    tables = {}
    for node, parents in STRUCTURE.families:
        first = np.array(_FIRST[node]).reshape([2] * len(parents))
        tables[node] = np.stack([first, 1 - first], axis=-1)
    return BayesNet(_DOMAIN, STRUCTURE, tables)


def plan(p: float, nodes: str = "ABCDEF", exact: str = "") -> Plan:
    """Return the binary symmetric randomization of some nodes with parameter `p`.

    Nodes in `exact` are not randomized: those of the site that learns, without a miner.
    """
    channel = Symmetric.from_probability(2, p)
    return Plan(
        tuple(Block((_DOMAIN[node],), Identity(2) if node in exact else channel) for node in nodes)
    )


def sample(records: int, rng: np.random.Generator) -> dict[str, Codes]:
    """Draw the true codes of all nodes."""
    drawn = network().sample(records, rng)
    return {node: column.astype(code_dtype(2)) for node, column in drawn.items()}


def counted(codes: dict[str, Codes], node: str) -> Tensor:
    """Return the true counts of a node's family: its parents' axes, then its own."""
    names = [*STRUCTURE.parents[node], node]
    counts = ReportedCounts({name: codes[name] for name in names}, dict.fromkeys(names, 2))
    return counts.table(names).astype(np.float64)


def family(*nodes: str) -> Structure:
    """Return the structure of these nodes and their parents, which have none themselves."""
    needed = {name for node in nodes for name in (node, *STRUCTURE.parents[node])}
    parents = {n: STRUCTURE.parents[n] if n in nodes else () for n in "ABCDEF" if n in needed}
    return Structure.of(parents)
