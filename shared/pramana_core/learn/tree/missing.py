"""How records with missing values go down a tree: to all children, by how many records each has.

So does C4.5 (Quinlan 1993, section 3.2); a child's share of a record is its share of the records
that the tree was learned from.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pramana_core.domain import Domain
from pramana_core.learn.tree.node import Node
from pramana_core.marginals.counts import Codes, Tensor


def spread_probabilities(
    inputs: Domain, root: Node, columns: Sequence[Codes], classes: int
) -> Tensor:
    """Return the class probabilities of n records, (n, classes).

    Args:
        inputs: the tree's inputs.
        root: the tree.
        columns: codes by input; the number of categories stands for a missing value.
        classes: how many there are.
    """
    found = np.zeros((len(columns[0]), classes))
    everything = np.arange(len(found))
    waiting: list[tuple[Node, npt.NDArray[np.int64], Tensor]] = [
        (root, everything, np.ones(len(found)))
    ]
    while waiting:
        node, places, weights = waiting.pop()
        if not len(places):
            continue
        if node.split is None:
            found[places] += weights[:, None] * np.array(node.classes.probabilities)
            continue
        codes = columns[inputs.axis(node.split.attribute)][places]
        missing = codes == len(node.children)
        for code, (child, share) in enumerate(zip(node.children, shares_of(node), strict=True)):
            met = (codes == code) | (missing & (share > 0))
            part = np.where(missing, share, 1.0) * weights
            waiting.append((child, places[met], part[met]))
    return found


def shares_of(node: Node) -> Tensor:
    """Return the share of a node's records in each child, equal ones where none are known."""
    totals = np.maximum([child.classes.total for child in node.children], 0.0)
    whole = float(totals.sum())
    shares: Tensor = totals / whole if whole > 0 else np.full(len(totals), 1 / len(totals))
    return shares
