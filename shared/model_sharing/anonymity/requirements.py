"""What is required of every path of a tree: k-anonymity and (c, l)-diversity (section 3.1)."""

from __future__ import annotations

from dataclasses import dataclass

from shared.errors import OptionError
from shared.model_sharing.core.tree import Leaf, SharedTree


@dataclass(frozen=True)
class Requirement:
    """A requirement of every path; what is None is not required.

    Attributes:
        k: the fewest records of a path: hit + miss >= k.
        c: with `l`, how far the class may outweigh the others.
        l: how well represented classes there must be.
        exact: whether the counts of all classes decide, or hit and miss alone, the misses taken to
            be spread evenly over l - 1 classes.

    With hits and misses (section 3.1): l <= miss + 1 and hit < c miss / (l - 1). With the exact
    counts d_1 >= d_2 >= ... : d_1 < c (d_l + d_(l+1) + ...), as Machanavajjhala et al. (2006)
    define recursive (c, l)-diversity; Sharkey's sum from l - 1 is a misprint, for with it the even
    spread would give a looser bound than the one derived from it.
    """

    k: float | None = None
    c: float | None = None
    l: int | None = None  # noqa: E741
    exact: bool = True

    def __post_init__(self) -> None:
        if (self.c is None) != (self.l is None):
            raise OptionError("c and l go together: (c, l)-diversity needs both.", where="c")
        if self.k is None and self.c is None:
            raise OptionError("A requirement must have k, or c and l.", where="k")
        if self.k is not None and not self.k >= 1:
            raise OptionError(f"k must be at least 1, not {self.k}.", where="k")
        if self.l is not None and self.l < 2:
            raise OptionError(f"l must be at least 2, not {self.l}.", where="l")
        if self.c is not None and not self.c > 0:
            raise OptionError(f"c must be above 0, not {self.c}.", where="c")

    def met_by(self, leaf: Leaf) -> bool:
        """Return whether a leaf meets it."""
        if self.k is not None and leaf.records < self.k:
            return False
        if self.c is None or self.l is None:
            return True
        if self.exact and leaf.distribution is not None:
            ranked = sorted(leaf.distribution, reverse=True)
            return ranked[0] < self.c * sum(ranked[self.l - 1 :])
        return self.l <= leaf.miss + 1 and leaf.hit < self.c * leaf.miss / (self.l - 1)


def meets(tree: SharedTree, requirement: Requirement) -> bool:
    """Return whether every path of a tree meets a requirement."""
    return all(requirement.met_by(leaf) for leaf in tree.leaves)
