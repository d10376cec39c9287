"""Requirements on every path of a tree: k-anonymity and (c, l)-diversity (section 3.1)."""

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
"""Counts this near to a limit, relative to it, equal the limit (sums of fractions)."""

_EXACT = ", by the exact counts"
_HITS = ", by hits and misses"


@dataclass(frozen=True)
class Requirement:
    """A requirement on every path of a tree; a criterion that is None is not required.

    Attributes:
        k: the minimum number of records of a path: hit + miss >= k.
        c: with `l`, by how much the class of a path may outweigh the other classes.
        l: the number of classes that must be well represented on a path.
        exact: whether the exact counts of all classes decide; otherwise hits and misses decide,
            with misses spread evenly over l - 1 classes.

    Diversity by hits and misses (section 3.1) means l <= miss + 1 and hit < c miss / (l - 1).
    Diversity by the exact counts d_1 >= d_2 >= ... means d_1 < c (d_l + d_(l+1) + ...), the
    recursive (c, l)-diversity of Machanavajjhala et al. (2006). Sharkey prints d_1 <= c (d_(l-1) +
    d_l + ...), a misprint: with l = 2 that sum contains d_1 itself, so a path of one class would be
    diverse for every c >= 1. Also, the paper's example (14, 3, 3) would be (3, 3)-diverse. Both
    forms above require c > 14 / 3, in agreement with the 5 in the paper's text.

    The two forms are equal for l = 2. If l is the number of classes, the exact form is stricter.
    Otherwise neither form implies the other. If all misses are of one class, a path may meet only
    the form by hits and misses. If misses are spread over more than l - 1 classes, a path may meet
    only the exact form.

    Raises:
        OptionError: a number is out of its range, or all criteria are None.

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
        # Plain numbers have one form as JSON.
        for name, plain in (("k", float), ("c", float), ("l", int)):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, plain(getattr(self, name)))
        if (self.c is None) != (self.l is None):
            raise OptionError("Set both c and l: (c, l)-diversity needs both.", where="c")
        if self.k is None and self.c is None:
            raise OptionError("A requirement needs k, or c and l.", where="k")

    def require_for(self, schema: TreeSchema) -> None:
        """Raise OptionError if a tree's schema has fewer than `l` classes."""
        if self.l is not None and self.l > schema.classes:
            raise OptionError(
                f"l = {self.l} exceeds the number of classes; {schema.target.name!r} has"
                f" {schema.classes}.",
                where="l",
                remedy=f"Set l to at most {schema.classes}.",
            )

    @property
    def by_hits(self) -> Requirement:
        """The same requirement, decided by hits and misses alone."""
        return replace(self, exact=False)

    def met_by(self, leaf: Leaf) -> bool:
        """Return whether a leaf meets the requirement.

        A count within `SLACK` of a limit equals the limit, so it meets k but not (c, l). Raises
        ModelError: the exact counts are needed but missing.
        """
        if self.k is not None and leaf.records < self.k * (1 - SLACK):
            return False
        if self.c is None or self.l is None:
            return True
        most, rest = _ranked(leaf, self.l) if self.exact else (leaf.hit, leaf.miss / (self.l - 1))
        enough = self.exact or leaf.miss >= (self.l - 1) * (1 - SLACK)
        return enough and most < self.c * rest * (1 - SLACK)

    def __str__(self) -> str:
        """Return the requirement as text."""
        parts = [] if self.k is None else [f"k = {self.k:.12g}"]
        if self.c is not None:
            parts.append(f"(c, l) = ({self.c:.12g}, {self.l}){_EXACT if self.exact else _HITS}")
        return " and ".join(parts)


def meets(tree: SharedTree, requirement: Requirement) -> bool:
    """Return whether every path of a tree meets a requirement.

    Raises the errors of `Requirement.met_by`.
    """
    return all(requirement.met_by(leaf) for leaf in tree.leaves)


def _ranked(leaf: Leaf, l: int) -> tuple[float, float]:  # noqa: E741
    """Return the largest class count d_1 of a leaf, and the sum d_l + d_(l+1) + ..."""
    if leaf.distribution is not None:
        ranked = sorted(leaf.distribution, reverse=True)
        return ranked[0], sum(ranked[l - 1 :])
    if l > 2:
        raise ModelError(
            "Hits and misses do not show whether paths are diverse by exact counts.",
            where="exact",
            remedy="Require diversity by hits and misses, or use a tree with all class counts.",
        )
    return leaf.hit, leaf.miss


Tell = Literal["hits", "distribution"]


def released_form(tree: SharedTree, tell: str = "hits") -> SharedTree:
    """Return a tree whose leaves have only the counts that are released.

    `tell` is "hits", for hits and misses (Sharkey 2.1), or "distribution", for all classes. Raises
    OptionError: the form is unknown. ModelError: a leaf has no distribution.
    """
    require_limit(tell, Tell, "tell")
    if tell == "hits":
        return tree.with_leaves(replace(leaf, distribution=None) for leaf in tree.leaves)
    if any(leaf.distribution is None for leaf in tree.leaves):
        raise ModelError(
            "Some leaves of this tree do not have the counts of all classes.",
            where="tell",
            remedy="Prune with exact counts, or release hits and misses.",
        )
    return tree
