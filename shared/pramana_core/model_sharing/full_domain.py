"""Full-domain generalization: the levels at which records that look alike meet a requirement.

Also here:

* Hierarchies of generalization: what each value of an attribute is called at every level.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from pramana_core.errors import DomainError, RequirementUnmet, TableError
from pramana_core.mixed.table import CategoricalColumn, Column, MixedTable, NumericColumn
from pramana_core.model_sharing.attributes import Attribute, CategoricalAttribute, TreeSchema
from pramana_core.model_sharing.requirements import Requirement

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
