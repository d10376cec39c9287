"""Ma table 2.1: the joint distribution of two variables with five categories each.

The printed entries sum to 19/20. The column sums are 1/5, 2/5, 1/10, 1/10 and 3/20: the twentieth
that is missing would make the last column 1/5, but no cell of it can be told to be the wrong one.
All entries are therefore divided by 19/20, which keeps their ratios and the cells printed as zero.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from pramana_core.channels import Symmetric
from pramana_core.domain import Variable
from pramana_core.marginals.counts import Tensor
from pramana_core.plan import Block, Plan

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
