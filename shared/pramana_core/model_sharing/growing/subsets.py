"""Which categories a question may part from the others."""

from __future__ import annotations

from functools import cache

import numpy as np

from pramana_core.mixed.table import Floats

ALL_OF = 8
"""Of so many categories all subsets are tried: 127 splits."""


def subsets(table: Floats) -> Floats:
    """Return subsets of m categories, each of which is a split into it and the others.

    Of few categories they are all. Of many they are each alone, and the first 1 .. m - 1 of them in
    the order of the share of each class; for two classes the best split by entropy or by Gini's
    index is among these (Breiman et al. 1984, section 4.2.2).

    Args:
        table: the counts of the classes of each category: m x classes.

    Returns:
        Zeros and ones: splits x m; the first category, of few, is never in the subset.
    """
    m, classes = table.shape
    if m <= ALL_OF:
        return _all_of(m)
    shares = table / table.sum(axis=1, keepdims=True)
    found = [np.eye(m)]
    below = np.tri(m - 1, m)
    for code in range(classes if classes > 2 else 1):
        order = np.argsort(shares[:, code], kind="stable")
        ordered = np.empty((m - 1, m))
        ordered[:, order] = below
        found.append(ordered)
    return np.unique(np.concatenate(found), axis=0)


@cache
def _all_of(m: int) -> Floats:
    numbers = np.arange(1, 1 << (m - 1))
    rest = (numbers[:, None] >> np.arange(m - 1)) & 1
    found = np.column_stack([np.zeros(len(numbers)), rest])
    found.flags.writeable = False
    return found
