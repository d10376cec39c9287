"""What is required of every path of a tree: k-anonymity and (c, l)-diversity (section 3.1)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Gt, Le
from pydantic import ConfigDict, Strict

from pramana_core.domain import CATEGORIES
from pramana_core.errors import ModelError, OptionError
from pramana_core.learn.common.options import require_limit, require_limits
from pramana_core.model_sharing.attributes import DOCUMENT, TreeSchema
from pramana_core.model_sharing.tree import Leaf, SharedTree

SLACK = 1e-10
"""Counts this near a border, relative to it, are on it: sums of fractions are rounded."""

_EXACT = ", by the exact counts"
_HITS = ", by hits and misses"


@dataclass(frozen=True)
class Requirement:
    """A requirement of every path; what is None is not required.

    Attributes:
        k: the fewest records of a path: hit + miss >= k.
        c: with `l`, by how much its class may outweigh the others.
        l: how many classes must be well represented.
        exact: whether the counts of all classes decide, or hit and miss alone, the misses spread
            evenly over l - 1 classes.

    By hits and misses (section 3.1): l <= miss + 1 and hit < c miss / (l - 1). By the exact counts
    d_1 >= d_2 >= ... : d_1 < c (d_l + d_(l+1) + ...), the recursive (c, l)-diversity of
    Machanavajjhala et al. (2006). Sharkey prints d_1 <= c (d_(l-1) + d_l + ...), a misprint: with
    l = 2 that sum holds d_1 itself, so a path of one class would be diverse for every c >= 1; and
    (14, 3, 3), the example there, would be (3, 3)-diverse, where both forms ask for c > 14 / 3, as
    the 5 in the text.

    The two forms are equal for l = 2; for l the number of classes the exact one is stricter.
    Between these neither implies the other: misses of one class may meet only the form by hits and
    misses, misses spread over more than l - 1 classes only the exact one.

    Raises:
        OptionError: a number is out of its range, or nothing is required.

    Examples:
        >>> import pramana as pm
        >>> print(pm.Requirement(k=5, c=10, l=3))
        k = 5 and (c, l) = (10, 3), by the exact counts
    """

    __pydantic_config__: ClassVar[ConfigDict] = DOCUMENT

    k: Annotated[float, Ge(1)] | None = None
    c: Annotated[float, Gt(0)] | None = None
    l: Annotated[int, Ge(2), Le(CATEGORIES), Strict()] | None = None  # noqa: E741
    exact: Annotated[bool, Strict()] = True

    def __post_init__(self) -> None:
        if isinstance(self.l, float) and self.l.is_integer():
            object.__setattr__(self, "l", int(self.l))  # 2.0 classes are 2
        require_limits(self)
        # Plain numbers, which are written as JSON in one way.
        for name, plain in (("k", float), ("c", float), ("l", int)):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, plain(getattr(self, name)))
        if (self.c is None) != (self.l is None):
            raise OptionError("c and l go together: (c, l)-diversity needs both.", where="c")
        if self.k is None and self.c is None:
            raise OptionError("A requirement must have k, or c and l.", where="k")

    def require_for(self, schema: TreeSchema) -> None:
        """Check that trees of a schema can meet it. Raises OptionError: l is above its classes."""
        if self.l is not None and self.l > schema.classes:
            raise OptionError(
                f"l = {self.l} asks for more classes than there are: {schema.target.name!r} has"
                f" {schema.classes}.",
                where="l",
                remedy=f"The largest l that its trees can meet is {schema.classes}.",
            )

    @property
    def by_hits(self) -> Requirement:
        """The same requirement, decided by hits and misses."""
        return replace(self, exact=False)

    def met_by(self, leaf: Leaf) -> bool:
        """Return whether a leaf meets it. Raises ModelError: it lacks the exact counts that decide.

        Counts within `SLACK` of a border are on it: k is then met, (c, l) is not.
        """
        if self.k is not None and leaf.records < self.k * (1 - SLACK):
            return False
        if self.c is None or self.l is None:
            return True
        most, rest = _ranked(leaf, self.l) if self.exact else (leaf.hit, leaf.miss / (self.l - 1))
        enough = self.exact or leaf.miss >= (self.l - 1) * (1 - SLACK)
        return enough and most < self.c * rest * (1 - SLACK)

    def __str__(self) -> str:
        """Return it in words."""
        parts = [] if self.k is None else [f"k = {self.k:.12g}"]
        if self.c is not None:
            parts.append(f"(c, l) = ({self.c:.12g}, {self.l}){_EXACT if self.exact else _HITS}")
        return " and ".join(parts)


def meets(tree: SharedTree, requirement: Requirement) -> bool:
    """Return whether every path of a tree meets a requirement; raises as `met_by`."""
    return all(requirement.met_by(leaf) for leaf in tree.leaves)


def _ranked(leaf: Leaf, l: int) -> tuple[float, float]:  # noqa: E741
    """Return d_1 and d_l + d_(l+1) + ... of a leaf."""
    if leaf.distribution is not None:
        ranked = sorted(leaf.distribution, reverse=True)
        return ranked[0], sum(ranked[l - 1 :])
    if l > 2:
        raise ModelError(
            "Whether paths are diverse by the exact counts cannot be seen from hits and misses.",
            where="exact",
            remedy="Ask for diversity by hits and misses, or use a tree that counts all classes.",
        )
    return leaf.hit, leaf.miss


Tell = Literal["hits", "distribution"]


def released_form(tree: SharedTree, tell: str = "hits") -> SharedTree:
    """Return a tree whose leaves have only "hits" (and misses; Sharkey 2.1) or the "distribution".

    Raises OptionError, ModelError: another form, or a leaf lacks its distribution.
    """
    require_limit(tell, Tell, "tell")
    if tell == "hits":
        return tree.with_leaves(replace(leaf, distribution=None) for leaf in tree.leaves)
    if any(leaf.distribution is None for leaf in tree.leaves):
        raise ModelError(
            "The leaves of this tree do not all tell the counts of their classes.",
            where="tell",
            remedy="Prune with exact counts, or tell hits and misses.",
        )
    return tree
