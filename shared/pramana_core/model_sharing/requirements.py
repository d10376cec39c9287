"""What is required of every path of a tree: k-anonymity and (c, l)-diversity (section 3.1).

Also here:

* How anonymous a tree is: the k and, for each l, the c that all its paths meet.
* What of a pruned tree leaves its owner: hits and misses, or the counts of all classes.
* Full-domain generalization: the levels at which records that look alike meet a requirement.
* Hierarchies of generalization: what each value of an attribute is called at every level.
"""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from numbers import Integral, Real
from typing import Literal

import numpy as np
import numpy.typing as npt

from pramana_core.errors import DomainError, ModelError, OptionError, RequirementUnmet, TableError
from pramana_core.learn.common.options import require_limit
from pramana_core.mixed import CategoricalColumn, Column, MixedTable, NumericColumn
from pramana_core.model_sharing.attributes import Attribute, CategoricalAttribute, TreeSchema
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
            # Plain numbers, which can be written as JSON; l counts classes, 2.0 are 2.
            number = float(value)
            whole = isinstance(value, Integral) or (name == "l" and number.is_integer())
            plain = int(number) if whole else number
            object.__setattr__(self, name, plain)
        if not isinstance(self.exact, bool):
            raise OptionError(f"exact must be True or False, not {self.exact!r}.", where="exact")
        if (self.c is None) != (self.l is None):
            raise OptionError("c and l go together: (c, l)-diversity needs both.", where="c")
        if self.k is None and self.c is None:
            raise OptionError("A requirement must have k, or c and l.", where="k")
        if self.k is not None and not 1 <= self.k < math.inf:
            raise OptionError(f"k must be at least 1, not {self.k}.", where="k")
        if self.l is not None and not (float(self.l).is_integer() and self.l >= 2):
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
        parts = [] if self.k is None else [f"k = {self.k:.12g}"]
        if self.c is not None:
            parts.append(f"(c, l) = ({self.c:.12g}, {self.l}){_EXACT if self.exact else _HITS}")
        return " and ".join(parts)


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

Tell = Literal["hits", "distribution"]


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


# Hierarchies of generalization: what each value of an attribute is called at every level.

INTERVALS = 32
"""Numbers begin in so many intervals of one width: single ones are never alike enough."""

JOINED = 4
"""So many intervals of one level are one of the next."""

ANY = "*"
"""What every value is called at the highest level."""


@dataclass(frozen=True)
class Hierarchy:
    """What the values of an attribute are called, from themselves to one name for all.

    Attributes:
        attribute: what is generalized.
        levels: of each level the names of all base values, in code order; the first are the values'
            own, the last all the same.
        cuts: of numbers, the inner ends of their first intervals, ascending.
    """

    attribute: Attribute
    levels: tuple[tuple[str, ...], ...]
    cuts: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        sizes = {len(level) for level in self.levels}
        if len(sizes) != 1 or len(set(self.levels[-1])) != 1:
            raise DomainError(
                f"A hierarchy of {self.attribute.name!r} must name every value at each level, and"
                " all the same at the last.",
                where=self.attribute.name,
            )
        for finer, coarser in zip(self.levels, self.levels[1:], strict=False):
            if len(set(zip(finer, coarser, strict=True))) > len(set(finer)):
                raise DomainError(
                    f"Values of {self.attribute.name!r} that are one at a level must stay one at"
                    " the next.",
                    where=self.attribute.name,
                )

    @property
    def height(self) -> int:
        """The highest level; the lowest is 0."""
        return len(self.levels) - 1

    def base(self, column: Column) -> npt.NDArray[np.intp]:
        """Return the codes of n values at level 0. Raises TableError: of another kind."""
        if isinstance(column, NumericColumn) and self.cuts:
            return np.searchsorted(np.array(self.cuts), column.values, side="left")
        if isinstance(column, CategoricalColumn) and not self.cuts:
            return column.codes
        raise TableError(
            f"Column {column.name!r} is not of the kind that its hierarchy is of.",
            where=column.name,
        )

    def categories(self, level: int) -> tuple[str, ...]:
        """Return the names that there are at a level, in the order of the values."""
        return _places(self.levels[level])[0]

    def places(self, level: int) -> npt.NDArray[np.intp]:
        """Return for each base value the place of its name among `categories(level)`."""
        return _places(self.levels[level])[1]

    def at(self, column: Column, level: int) -> CategoricalColumn:
        """Return a column generalized to a level."""
        return CategoricalColumn(
            column.name, self.places(level)[self.base(column)], self.categories(level)
        )


@lru_cache(maxsize=4096)
def _places(names: tuple[str, ...]) -> tuple[tuple[str, ...], npt.NDArray[np.intp]]:
    """Return the different names of base values in their order, and the place of each value's."""
    known = {name: place for place, name in enumerate(dict.fromkeys(names))}
    places = np.array([known[name] for name in names], dtype=np.intp)
    places.flags.writeable = False
    return tuple(known), places


def hierarchy_of(attribute: Attribute) -> Hierarchy:
    """Return an attribute's hierarchy by rule.

    Categories: themselves, the levels of their taxonomy, and `*`. Numbers: 32 intervals of one
    width over the declared range, then always four of them joined, and `*`; numbers beyond the
    range are in the first and the last.
    """
    if isinstance(attribute, CategoricalAttribute):
        own = attribute.categories
        taxonomy = attribute.taxonomy
        above = [] if taxonomy is None else list(zip(*taxonomy.ancestors, strict=True))
        return Hierarchy(attribute, (own, *map(tuple, above), (ANY,) * len(own)))
    ends = np.linspace(attribute.low, attribute.high, INTERVALS + 1)
    levels, width = [], 1
    while width < INTERVALS:
        levels.append(tuple(_interval(ends, place - place % width, width)
                            for place in range(INTERVALS)))  # fmt: skip
        width *= JOINED
    return Hierarchy(attribute, (*levels, (ANY,) * INTERVALS), tuple(map(float, ends[1:-1])))


def _interval(ends: npt.NDArray[np.float64], first: int, width: int) -> str:
    return f"({ends[first]:.6g}, {ends[min(first + width, INTERVALS)]:.6g}]"


def hierarchies_of(schema: TreeSchema) -> tuple[Hierarchy, ...]:
    """Return the hierarchies of all attributes by rule, in order."""
    return tuple(map(hierarchy_of, schema.attributes))


def generalized(
    schema: TreeSchema,
    hierarchies: tuple[Hierarchy, ...],
    levels: Mapping[str, int],
    table: MixedTable,
) -> tuple[TreeSchema, MixedTable]:
    """Return the records with every attribute at its level, and the schema that they then have.

    Records that a model of the generalized table is to judge are generalized in the same way.

    Raises:
        MissingColumn, TableError, UnknownCategory: see `TreeSchema.read`.
    """
    records = schema.read(table)
    columns = tuple(h.at(records[h.attribute.name], levels[h.attribute.name]) for h in hierarchies)
    attributes = tuple(CategoricalAttribute(c.name, c.categories) for c in columns)
    return TreeSchema(schema.target, attributes), MixedTable(columns, records.records)


Counts = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]
Levels = tuple[int, ...]

MOST_TABLES = 4_000
"""So many generalizations are looked at; where there are more, those of most hits first."""

_DENSE = 4_000_000
"""Counts over so many combinations of names are made without sorting the records first."""


@dataclass(frozen=True)
class Groups:
    """What a requirement may ask of the groups of records that look alike.

    Attributes:
        number: how many groups there are.
        smallest: the fewest records of a group.
        hits: how many records are of their group's most frequent class.
        ratios: for l = 1, 2, ...: the largest d_1 / (d_l + d_(l+1) + ...) of a group, d_1 >= d_2
            >= ... its class counts; infinite where a group has fewer than l classes.
    """

    number: int
    smallest: float
    hits: float
    ratios: tuple[float, ...]

    @classmethod
    def of(cls, counts: Counts) -> Groups:
        """Return what there is to ask of groups x classes counts, none of them empty."""
        ranked = -np.sort(-counts, axis=1)
        tails = np.cumsum(ranked[:, ::-1], axis=1)[:, ::-1]
        first = np.broadcast_to(ranked[:, :1], tails.shape)
        ratios = np.divide(first, tails, out=np.full(tails.shape, math.inf), where=tails > 0)
        return cls(
            len(counts),
            float(counts.sum(axis=1).min()),
            float(ranked[:, 0].sum()),
            tuple(map(float, ratios.max(axis=0))),
        )

    def meet(self, requirement: Requirement) -> bool:
        """Return whether each group meets a requirement by its exact class counts."""
        if requirement.k is not None and self.smallest < requirement.k:
            return False
        if requirement.c is None or requirement.l is None:
            return True
        known = requirement.l <= len(self.ratios)
        return known and self.ratios[requirement.l - 1] < requirement.c


@dataclass(frozen=True)
class Cells:
    """Records counted by their values at level 0 and their class.

    Attributes:
        hierarchies: of the attributes.
        codes: the values and, last, the class of each combination that occurs.
        counts: how many records have it.
        classes: how many classes there are.
    """

    hierarchies: tuple[Hierarchy, ...]
    codes: Codes
    counts: Counts
    classes: int
    _known: dict[Levels, Groups] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(
        cls, hierarchies: Sequence[Hierarchy], records: MixedTable, classes: Codes, number: int
    ) -> Cells:
        """Return the cells of n records with their class codes."""
        columns = [h.base(records[h.attribute.name]) for h in hierarchies]
        codes, counts = np.unique(np.stack([*columns, classes], axis=1), axis=0, return_counts=True)
        return cls(tuple(hierarchies), codes, counts.astype(np.float64), number)

    def class_counts(self, levels: Sequence[int]) -> Counts:
        """Return the records of each group that looks alike at these levels: groups x classes."""
        key, size = np.zeros(len(self.codes), dtype=np.int64), 1
        for column, (hierarchy, level) in enumerate(zip(self.hierarchies, levels, strict=True)):
            names = len(hierarchy.categories(level))
            key = key * names + hierarchy.places(level)[self.codes[:, column]]
            size *= names
            if size * self.classes > _DENSE:
                found, key = np.unique(key, return_inverse=True)
                key, size = key.ravel(), len(found)
        cell = key * self.classes + self.codes[:, -1]
        flat = np.zeros(size * self.classes, dtype=np.float64)
        np.add.at(flat, cell, self.counts)
        table = flat.reshape(size, self.classes)
        return table[table.any(axis=1)]

    def groups(self, levels: Sequence[int]) -> Groups:
        """Return what there is to ask of the groups at these levels; kept for the next time."""
        key = tuple(levels)
        if key not in self._known:
            self._known[key] = Groups.of(self.class_counts(key))
        return self._known[key]


@dataclass(frozen=True)
class Generalization:
    """Levels that meet a requirement.

    Attributes:
        levels: of each attribute, by name.
        groups: what the table then has.
        tables: how many generalizations were looked at.
    """

    levels: dict[str, int]
    groups: Groups
    tables: int


def best_levels(cells: Cells, requirement: Requirement, most: int = MOST_TABLES) -> Generalization:
    """Return the generalization of most hits among those that meet a requirement.

    What meets it still does when generalized further (Machanavajjhala et al. 2006), so that the
    search goes down from the most general table and stops where the requirement fails. Tables are
    looked at in the order of their hits; where there are no more than `most` the best is found. It
    is chosen by how well the classes can be told, which is what it is then measured by: the rival
    at its strongest.

    Raises:
        RequirementUnmet: not even all records together meet it.
    """
    top: Levels = tuple(h.height for h in cells.hierarchies)
    waiting: list[tuple[float, int, Levels]] = []
    seen = {top}
    best: tuple[float, int, Levels] | None = None

    def look(levels: Levels) -> None:
        nonlocal best
        groups = cells.groups(levels)
        if groups.meet(requirement):
            rank = (-groups.hits, sum(levels), levels)
            heapq.heappush(waiting, rank)
            best = rank if best is None else min(best, rank)

    look(top)
    while waiting and len(seen) < most:
        _, _, levels = heapq.heappop(waiting)
        for place, level in enumerate(levels):
            below = (*levels[:place], level - 1, *levels[place + 1 :])
            if level > 0 and below not in seen and len(seen) < most:
                seen.add(below)
                look(below)
    if best is None:
        raise RequirementUnmet(
            "Not even a table that tells nothing but the classes meets the requirement.",
            remedy="Ask for less: a smaller k or l, or a larger c.",
        )
    names = [h.attribute.name for h in cells.hierarchies]
    return Generalization(dict(zip(names, best[2], strict=True)), cells.groups(best[2]), len(seen))
