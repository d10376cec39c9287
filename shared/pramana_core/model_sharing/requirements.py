"""What is required of every path of a tree: k-anonymity and (c, l)-diversity (section 3.1).

Also here:

* How anonymous a tree is: the k and, for each l, the c that all its paths meet.
* What of a pruned tree leaves its owner: hits and misses, or the counts of all classes.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from numbers import Integral, Real

from pramana_core.alike import did_you_mean
from pramana_core.errors import ModelError, OptionError
from pramana_core.model_sharing.attributes import TreeSchema
from pramana_core.model_sharing.tree import Leaf, SharedTree

SLACK = 1e-10
"""Counts this near a border, relative to it, are on it: sums of fractions are rounded."""

_K = re.compile(r"\bk\s*=\s*(?P<k>[^\s,;]+)")
_CL = re.compile(r"\(\s*c\s*,\s*l\s*\)\s*=\s*\(\s*(?P<c>[^\s,]+)\s*,\s*(?P<l>[^\s,)]+)\s*\)")
_EXACT = ", by the exact counts"
_HITS = ", by hits and misses"
_FORMS = f"such as 'k = 5', '(c, l) = (10, 3){_EXACT}' or 'k = 5 and (c, l) = (10, 3){_HITS}'"


@dataclass(frozen=True)
class Requirement:
    """A requirement of every path; what is None is not required.

    Attributes:
        k: the fewest records of a path: hit + miss >= k.
        c: with `l`, how far the class may outweigh the others.
        l: how many classes must be well represented.
        exact: whether the counts of all classes decide, or hit and miss alone, the misses taken to
            be spread evenly over l - 1 classes.

    By hits and misses (section 3.1): l <= miss + 1 and hit < c miss / (l - 1). By the exact counts
    d_1 >= d_2 >= ... : d_1 < c (d_l + d_(l+1) + ...), which is recursive (c, l)-diversity as
    Machanavajjhala et al. (2006) define it. Sharkey prints d_1 <= c (d_(l-1) + d_l + ...), which is
    a misprint: with l = 2 that sum holds d_1 itself, so that a path of one class would be diverse
    for every c >= 1; and (14, 3, 3), the example there, would be (3, 3)-diverse, where both the
    definition and the form by hits and misses ask for more than c = 14 / 3, as the 5 in the text.

    The two forms are the same for l = 2; for l the number of classes the exact one is the stricter.
    Between these neither follows from the other: misses all of one class may meet the form by hits
    and misses only, misses spread over more than l - 1 classes the exact one only.

    Raises:
        OptionError: a number is out of its range, or nothing is required.

    Examples:
        >>> import pramana as pm
        >>> print(pm.Requirement(k=5, c=10, l=3))
        k = 5 and (c, l) = (10, 3), by the exact counts
    """

    k: float | None = None
    c: float | None = None
    l: int | None = None  # noqa: E741
    exact: bool = True

    def __post_init__(self) -> None:
        for name in ("k", "c", "l"):
            value = getattr(self, name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, Real):
                raise OptionError(f"{name} must be a number or None, not {value!r}.", where=name)
            # Numbers of numpy become plain ones, which can be written as JSON.
            plain = int(value) if isinstance(value, Integral) else float(value)
            object.__setattr__(self, name, plain)
        if not isinstance(self.exact, bool):
            raise OptionError(f"exact must be True or False, not {self.exact!r}.", where="exact")
        if (self.c is None) != (self.l is None):
            raise OptionError("c and l go together: (c, l)-diversity needs both.", where="c")
        if self.k is None and self.c is None:
            raise OptionError("A requirement must have k, or c and l.", where="k")
        if self.k is not None and not 1 <= self.k < math.inf:
            raise OptionError(f"k must be at least 1, not {self.k}.", where="k")
        if self.l is not None and not (self.l >= 2 and self.l == int(self.l)):
            raise OptionError(f"l must be a whole number of at least 2, not {self.l}.", where="l")
        if self.c is not None and not 0 < self.c < math.inf:
            raise OptionError(f"c must be above 0, not {self.c}.", where="c")

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
        """Return whether a leaf meets it.

        A count less than a ten-thousand-millionth below k counts as k; one as near below the
        border of (c, l) as on it, which does not meet it.

        Raises:
            ModelError: the exact counts decide, and a leaf does not tell them.
        """
        if self.k is not None and leaf.records < self.k * (1 - SLACK):
            return False
        if self.c is None or self.l is None:
            return True
        most, rest = _ranked(leaf, self.l) if self.exact else (leaf.hit, leaf.miss / (self.l - 1))
        enough = self.exact or leaf.miss >= (self.l - 1) * (1 - SLACK)
        return enough and most < self.c * rest * (1 - SLACK)

    def __str__(self) -> str:
        """Return it in words, as `parse_requirement` reads it."""
        told = [] if self.k is None else [f"k = {self.k:.12g}"]
        if self.c is not None:
            told.append(f"(c, l) = ({self.c:.12g}, {self.l}){_EXACT if self.exact else _HITS}")
        return " and ".join(told)


def parse_requirement(text: str) -> Requirement:
    """Return the requirement that words tell, such as "k = 5 and (c, l) = (10, 3)".

    ", by the exact counts" may follow (c, l), and is what is meant if nothing does; or ", by hits
    and misses".

    Raises:
        OptionError: the words are not those of a requirement, or its numbers out of their range.
    """
    rest = text.strip().lower()
    k, cl = _K.search(rest), _CL.search(rest)
    try:
        read = Requirement(
            k=float(k["k"]) if k else None,
            c=float(cl["c"]) if cl else None,
            l=int(cl["l"]) if cl else None,
            exact=_HITS not in rest,
        )
    except ValueError:
        read = None
    for known in (_K, _CL):
        rest = known.sub("", rest, count=1)
    for known_words in (_EXACT, _HITS) if cl else ():
        rest = rest.replace(known_words, "", 1)
    if read is None or not re.fullmatch(r"\s*(and|,)?\s*", rest):
        raise OptionError(
            f"{text!r} is no requirement.", where="requirement", remedy=f"Write one {_FORMS}."
        )
    return read


def meets(tree: SharedTree, requirement: Requirement) -> bool:
    """Return whether every path of a tree meets a requirement.

    Raises:
        ModelError: the exact counts decide, and a leaf does not tell them.
    """
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


# How anonymous a tree is: the k and, for each l, the c that all its paths meet.

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


# What of a pruned tree leaves its owner: hits and misses, or the counts of all classes.

TELLS = ("hits", "distribution")


def released_form(tree: SharedTree, tell: str = "hits") -> SharedTree:
    """Return a tree whose leaves tell only what is released.

    Args:
        tree: the tree, pruned.
        tell: "hits", the hits and misses of each path, as in Sharkey (section 2.1); or
            "distribution", how many records of each class it has. The second lets a miner spread
            the misses as they are, and tells which classes a path has not.

    Raises:
        OptionError: there is no such form.
        ModelError: distributions are asked for, and a leaf does not have its own.
    """
    if tell not in TELLS:
        raise OptionError(
            f"tell must be one of {', '.join(TELLS)}, not {tell!r}{did_you_mean([tell], TELLS)}.",
            where="tell",
        )
    if tell == "hits":
        return tree.with_leaves(replace(leaf, distribution=None) for leaf in tree.leaves)
    if any(leaf.distribution is None for leaf in tree.leaves):
        raise ModelError(
            "The leaves of this tree do not all tell the counts of their classes.",
            where="tell",
            remedy="Prune with exact counts, or tell hits and misses.",
        )
    return tree
