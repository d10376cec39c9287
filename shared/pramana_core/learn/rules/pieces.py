"""Itemsets counted some at a time, so that a long count shows progress and can be stopped."""

from __future__ import annotations

import numpy as np

from pramana_core.marginals.support_counts import Indices, Item

PIECE = 20_000
"""About how many itemsets are counted at once."""


def variables_of(items: tuple[Item, ...]) -> Indices:
    """Return a number per item, the same for items of one variable."""
    numbers = {name: number for number, (name, _) in enumerate(items)}
    return np.array([numbers[name] for name, _ in items], dtype=np.int64)


def pieces(itemsets: Indices, variables: Indices) -> list[Indices]:
    """Return the rows of itemsets in pieces; those over one set of variables stay together.

    Supports from tables share one table.

    Args:
        itemsets: shape (n, k).
        variables: of `variables_of`.
    """
    if len(itemsets) <= PIECE:
        return [np.arange(len(itemsets), dtype=np.int64)]
    _, kind = np.unique(variables[itemsets], axis=0, return_inverse=True)
    order = np.argsort(kind.ravel(), kind="stable")
    starts = np.append(0, np.flatnonzero(np.diff(kind.ravel()[order])) + 1)
    # A set of variables is begun in the piece in which its first itemset falls.
    firsts = np.append(True, np.diff(starts // PIECE) > 0)
    return np.split(order, starts[firsts][1:])
