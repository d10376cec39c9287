"""The laws that Ma's experiments draw from: table 2.1, two triangles, a network of six nodes.

Also here:

* Ma table 2.1: the joint distribution of two variables with five categories each.
* The two-triangle distribution of Ma 2.5 and 3.3, and what is done to its samples.
* The network that stands for Ma's figures 5.3 and 5.6, whose drawings and tables are lost.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np

from pramana_core.channels import Identity, Symmetric
from pramana_core.discretize import Discretization, mgas
from pramana_core.domain import Domain, Variable
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.structure import Structure
from pramana_core.marginals.counts import Codes, ReportedCounts, Tensor
from pramana_core.plan import Block, Plan
from pramana_core.privacy.information_loss import density_l1
from pramana_core.wire.parts import code_dtype

# Ma table 2.1: the joint distribution of two variables with five categories each.
#
# The printed entries sum to 19/20. The column sums are 1/5, 2/5, 1/10, 1/10 and 3/20: the twentieth
# that is missing would make the last column 1/5, but no cell of it can be told to be the wrong one.
# All entries are therefore divided by 19/20, which keeps their ratios and the cells printed as
# zero.

NAMES = ("X1", "X2")

_PRINTED = """
    1/40  3/10  0     1/60  0
    3/40  0     1/30  1/20  1/20
    0     1/10  1/30  0     0
    1/20  0     0     1/60  1/10
    1/20  0     1/30  1/60  0
"""

PRINTED = tuple(tuple(map(Fraction, line.split())) for line in _PRINTED.split("\n") if line.strip())
"""The entries as printed, X1 in rows."""

RESCALED = "Table 2.1 is divided by the sum of its entries: no printed zero becomes positive."


def pmf() -> Tensor:
    """Return the rescaled table: a 5 x 5 array that sums to 1."""
    total = sum(map(sum, PRINTED), Fraction(0))
    return np.array([[float(entry / total) for entry in row] for row in PRINTED])


def multicategory(p: float) -> Plan:
    """Return the plan that replaces each variable's category with probability `p` (Ma 2.1)."""
    labels = tuple(str(k + 1) for k in range(len(PRINTED)))
    channel = Symmetric.from_probability(len(labels), p)
    return Plan(tuple(Block((Variable(name, labels),), channel) for name in NAMES))


# The two-triangle distribution of Ma 2.5 and 3.3, and what is done to its samples.
#
# The paper names the density and does not give it. Here two isosceles triangles of equal weight
# stand side by side, on [0, 12] and [12, 24]. Their width is chosen: MGAS makes few groups of a
# narrow support, for every group must be 0.25 wide, and with these 39 of 100,000 samples, as the
# paper reports (on [0, 10] it makes about 22).

SUPPORT = 24.0
MINIMUM_COUNT = 1_500
GRANULARITY = 0.25

TRIANGLES = (
    "The two-triangle density is not given: two equal triangles side by side on [0, 12] and"
    " [12, 24], a width with which MGAS makes about the 39 groups of the paper."
)


def density(x: Tensor, support: float = SUPPORT) -> Tensor:
    """Return the density at points: two triangles, each half of [0, support] and half the mass."""
    quarter = support / 4
    height = 1 / (2 * quarter)
    from_peak = np.minimum(np.abs(x - quarter), np.abs(x - 3 * quarter))
    value: Tensor = height * np.maximum(0.0, 1 - from_peak / quarter)
    return value


def triangle_sample(records: int, rng: np.random.Generator, support: float = SUPPORT) -> Tensor:
    """Draw values from the density."""
    quarter = support / 4
    values = rng.triangular(0.0, quarter, 2 * quarter, records)
    return values + 2 * quarter * rng.integers(0, 2, records)


def discretize(values: Tensor) -> Discretization:
    """Group values by MGAS with the paper's minimum count and granularity."""
    return mgas(values, minimum_count=MINIMUM_COUNT, granularity=GRANULARITY)


def triangle_plan(groups: Discretization, keep: float) -> Plan:
    """Return the plan that keeps a group's number with probability `keep`, else any other."""
    channel = Symmetric.from_probability(groups.size, 1 - keep)
    return Plan((Block((Variable("X", groups.labels),), channel),))


def codes(groups: Discretization, values: Tensor) -> dict[str, Codes]:
    """Return the groups' numbers as the column of the plan's variable."""
    return {"X": groups.codes(values)}


def edges(groups: Discretization) -> Tensor:
    """Return the k + 1 ends of the intervals, the outer ones being those of the support."""
    return np.array([0.0, *groups.cuts, SUPPORT])


def heights(groups: Discretization, counts: Tensor) -> Tensor:
    """Return the estimated density on each interval (Ma 3.2.1): its share over its width."""
    value: Tensor = counts / counts.sum() / np.diff(edges(groups))
    return value


def l1_distance(groups: Discretization, counts: Tensor) -> float:
    """Return the integral of |f - f^|, f^ constant on each interval (Ma 3.2.1); 0 to 2."""
    return density_l1(edges(groups), counts, density)


def widths(groups: Discretization) -> list[float]:
    """Return the widths of the inner groups; those at the ends have no second boundary."""
    return [high - low for low, high in pairwise(groups.cuts)]


# The network that stands for Ma's figures 5.3 and 5.6, whose drawings and tables are lost.
#
# Six binary nodes A to F, in the order that 5.6.4 assumes; node D has its parents at the other
# site, as 5.6.2 says of it.

STRUCTURE = Structure.of(
    {"A": [], "B": ["A"], "C": ["A"], "D": ["B", "C"], "E": ["D"], "F": ["C", "D"]}
)

SIX_NODES = (
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


def six_plan(p: float, nodes: str = "ABCDEF", exact: str = "") -> Plan:
    """Return the binary symmetric randomization of some nodes with parameter `p`.

    Nodes in `exact` are not randomized: those of the site that learns, without a miner.
    """
    channel = Symmetric.from_probability(2, p)
    return Plan(
        tuple(Block((_DOMAIN[node],), Identity(2) if node in exact else channel) for node in nodes)
    )


def six_sample(records: int, rng: np.random.Generator) -> dict[str, Codes]:
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
