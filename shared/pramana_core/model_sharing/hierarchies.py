"""Hierarchies of generalization: what each value of an attribute is called at every level."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from pramana_core.errors import DomainError, TableError
from pramana_core.mixed.table import CategoricalColumn, Column, MixedTable, NumericColumn
from pramana_core.model_sharing.attributes import Attribute, CategoricalAttribute, TreeSchema

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
