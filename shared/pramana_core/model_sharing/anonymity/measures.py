"""How anonymous a tree is: the k and, for each l, the c that all its paths meet."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pramana_core.model_sharing.core.tree import Leaf, SharedTree

_TOLD = 4
"""For so many l the c is told in words."""


@dataclass(frozen=True)
class TreeMeasures:
    """How anonymous a tree is.

    Attributes:
        paths: how many paths it has.
        k: the fewest records of a path: it is k-anonymous for every k up to this.
        pure: how many paths tell that all their records are of one class.
        c_by_hits: for l = 2, 3, ... up to the number of classes, the bound that c must be above for
            the tree to be (c, l)-diverse by hits and misses; infinite if no c is enough.
        c_exact: the same by the exact counts; None where a leaf does not tell them.
    """

    paths: int
    k: float
    pure: int
    c_by_hits: dict[int, float]
    c_exact: dict[int, float] | None


def tree_measures(tree: SharedTree) -> TreeMeasures:
    """Return how anonymous a tree is (section 3.1; the forms are those of `Requirement`)."""
    leaves, asked = tree.leaves, range(2, tree.schema.classes + 1)
    known = tree.schema.classes == 2 or all(leaf.distribution is not None for leaf in leaves)
    return TreeMeasures(
        paths=len(leaves),
        k=min(leaf.records for leaf in leaves),
        pure=sum(leaf.miss == 0 and leaf.hit > 0 for leaf in leaves),
        c_by_hits={n: max(_by_hits(leaf, n) for leaf in leaves) for n in asked},
        c_exact={n: max(_exact(leaf, n) for leaf in leaves) for n in asked} if known else None,
    )


def measures_words(measures: TreeMeasures) -> str:
    """Return the k and the c of the first few l that a tree meets, in words."""
    exact = measures.c_exact is not None
    known = measures.c_by_hits if measures.c_exact is None else measures.c_exact
    borders = [f"c above {c:.4g} for l = {n}" for n, c in known.items() if math.isfinite(c)]
    by = "by the exact counts" if exact else "by hits and misses"
    diverse = ", ".join(borders[:_TOLD]) or "no c is enough for any l"
    return f"k up to {measures.k:,.12g}; {by}, {diverse}"


def _by_hits(leaf: Leaf, l: int) -> float:  # noqa: E741
    if leaf.miss < l - 1:
        return math.inf
    return leaf.hit * (l - 1) / leaf.miss


def _exact(leaf: Leaf, l: int) -> float:  # noqa: E741
    ranked = sorted(leaf.distribution or (leaf.hit, leaf.miss), reverse=True)
    rest = sum(ranked[l - 1 :])
    return ranked[0] / rest if rest > 0 else math.inf
