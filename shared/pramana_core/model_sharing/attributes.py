"""The attributes of a shared tree: numbers within a range, or categories with their taxonomy.

Also here:

* Taxonomies: which categories of an attribute belong together, level by level.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pramana_core.domain import Variable
from pramana_core.errors import DomainError, LimitExceeded, MissingColumn
from pramana_core.mixed.table import LARGEST, MixedTable, coded_as

# Taxonomies: which categories of an attribute belong together, level by level.

MOST_LEVELS = 20
"""Taxonomies higher than this are refused: nested ones are walked through level by level."""

Groups = Mapping[str, "Groups | Sequence[str]"]
"""Groups by name, each of categories or of further groups."""


@dataclass(frozen=True)
class Taxonomy:
    """A taxonomy of categories: for each, the names of its ancestors from the nearest to the root.

    `ancestors[code]` are those of one category, the root left out; all have the same number, the
    taxonomy's height.

    Raises:
        DomainError: the categories have different numbers of ancestors or none, a name is empty,
            or a group is in two groups of the next level.
        LimitExceeded: there are more than `MOST_LEVELS` levels.
    """

    ancestors: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        if len({len(names) for names in self.ancestors}) != 1 or not self.height:
            raise DomainError(
                "All categories of a taxonomy must have as many ancestors, and at least one."
            )
        if self.height > MOST_LEVELS:
            raise LimitExceeded(
                f"A taxonomy has {self.height} levels; at most {MOST_LEVELS} are read.",
                remedy="Leave levels out.",
            )
        if not all(name for names in self.ancestors for name in names):
            raise DomainError("A group of a taxonomy has no name.")
        for level in range(1, self.height):
            above = {(names[level - 1], names[level]) for names in self.ancestors}
            if len({lower for lower, _ in above}) < len(above):
                raise DomainError(
                    f"A group of level {level} of a taxonomy is in two groups of the next."
                )

    @classmethod
    def of(cls, categories: Sequence[str], groups: Groups) -> Taxonomy:
        """Return the taxonomy of nested groups: `{"Europe": {"Baltic": ["EE", "LV"], ...}, ...}`.

        Where branches have different heights, a category of a low one is a group of its own at the
        levels that it lacks.

        Raises:
            DomainError: a category is in no group or in two, or a group has a member that is none.
            LimitExceeded: there are more than `MOST_LEVELS` levels.
        """
        found: dict[str, tuple[str, ...]] = {}
        for category, above in _members(groups, ()):
            if category in found:
                raise DomainError(f"Category {category!r} is twice in a taxonomy.", where=category)
            found[category] = above
        return cls(_over(categories, found))

    @classmethod
    def of_rows(cls, categories: Sequence[str], rows: Sequence[Sequence[str]]) -> Taxonomy:
        """Return the taxonomy of rows: a category, then its ancestors from the nearest upwards.

        A last ancestor that all share is the root, and is left out.

        Raises:
            DomainError: as `of`, and a row is empty.
        """
        found: dict[str, tuple[str, ...]] = {}
        for number, (category, *above) in enumerate(filter(None, rows), 1):
            if category in found:
                raise DomainError(
                    f"Category {category!r} is twice in a taxonomy, again in row {number}.",
                    where=category,
                )
            found[category] = tuple(above)
        tops = {above[-1] if above else None for above in found.values()}
        if len(tops) == 1 and all(len(above) > 1 for above in found.values()):
            found = {category: above[:-1] for category, above in found.items()}
        return cls(_over(categories, found))

    @property
    def height(self) -> int:
        """How many levels of groups there are below the root."""
        return len(self.ancestors[0])

    def require_over(self, name: str, categories: Sequence[str]) -> None:
        """Check that it is of these categories. Raises DomainError."""
        if len(self.ancestors) != len(categories):
            raise DomainError(
                f"The taxonomy of {name!r} is of {len(self.ancestors)} categories; the attribute"
                f" has {len(categories)}.",
                where=name,
            )


def _members(groups: Groups, above: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each category of nested groups, with its ancestors from the nearest upwards."""
    if len(above) >= MOST_LEVELS:
        raise LimitExceeded(f"A taxonomy has more than {MOST_LEVELS} levels.")
    for name, members in groups.items():
        if isinstance(members, Mapping):
            yield from _members(members, (name, *above))
        elif isinstance(members, str):
            raise DomainError(
                f"Group {name!r} of a taxonomy must list its categories, not be a text.", where=name
            )
        else:
            for category in members:
                yield category, (name, *above)


def _over(
    categories: Sequence[str], known: Mapping[str, tuple[str, ...]]
) -> tuple[tuple[str, ...], ...]:
    """Return the ancestors of the categories, all of one height."""
    if lacking := [category for category in categories if category not in known]:
        raise DomainError(f"Categories {lacking} are in no group of the taxonomy.")
    if unknown := [category for category in known if category not in set(categories)]:
        raise DomainError(
            f"A taxonomy groups {unknown}, which are no categories.",
            remedy="Declare all categories, also those that no record has.",
        )
    height = max((len(above) for above in known.values()), default=0)
    return tuple((c,) * (height - len(known[c])) + known[c] for c in categories)


MOST_CATEGORIES = 10_000
"""An attribute of more categories is refused: it names records more than it describes them."""


@dataclass(frozen=True)
class NumericAttribute:
    """An attribute of numbers.

    Args:
        name: what it is called.
        low: the least number that pseudo-data take; declared, not the least of any record.
        high: the greatest; more than `low`.
        whole: whether its values are whole numbers.

    Raises:
        DomainError: the range is not one.
    """

    name: str
    low: float
    high: float
    whole: bool = False

    def __post_init__(self) -> None:
        _require_name(self.name)
        if not (-LARGEST <= self.low < self.high <= LARGEST):
            raise DomainError(
                f"The range of {self.name!r} must go from a lower to a higher finite number, not"
                f" from {self.low:g} to {self.high:g}.",
                where=self.name,
            )
        if self.whole and math.ceil(self.low) > math.floor(self.high):
            raise DomainError(
                f"There is no whole number between {self.low:g} and {self.high:g}.", where=self.name
            )


@dataclass(frozen=True)
class CategoricalAttribute:
    """An attribute of categories, in code order; `taxonomy` says which belong together.

    Raises:
        DomainError: there is no category or one is there twice; the taxonomy is of others.
        LimitExceeded: there are more than `MOST_CATEGORIES`.
    """

    name: str
    categories: tuple[str, ...]
    taxonomy: Taxonomy | None = None

    def __post_init__(self) -> None:
        _require_name(self.name)
        if len(self.categories) > MOST_CATEGORIES:
            raise LimitExceeded(
                f"{self.name!r} has {len(self.categories):,} categories; a tree has at most"
                f" {MOST_CATEGORIES:,} of an attribute.",
                where=self.name,
                remedy="Leave it out, if it names the records, or group its categories.",
            )
        if not self.categories or len(set(self.categories)) < len(self.categories):
            raise DomainError(
                f"The categories of {self.name!r} must be at least one, each once.", where=self.name
            )
        if self.taxonomy is not None:
            self.taxonomy.require_over(self.name, self.categories)


Attribute = NumericAttribute | CategoricalAttribute


def _require_name(name: str) -> None:
    if not name:
        raise DomainError("An attribute has no name.")


@dataclass(frozen=True)
class TreeSchema:
    """What a tree is about: the class it tells, and the attributes it may tell it from.

    Raises:
        DomainError: a name is there twice, or there is no attribute.
    """

    target: Variable
    attributes: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        names = [*self.names, self.target.name]
        if len(set(names)) < len(names) or not self.attributes:
            raise DomainError(
                "A tree needs a class and at least one attribute, each with a name of its own; they"
                f" are {names}.",
                where=self.target.name,
            )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the attributes, in order."""
        return tuple(attribute.name for attribute in self.attributes)

    @cached_property
    def _places(self) -> dict[str, Attribute]:
        return {attribute.name: attribute for attribute in self.attributes}

    @property
    def classes(self) -> int:
        """The number of classes."""
        return self.target.size

    def __contains__(self, name: object) -> bool:
        """Whether an attribute has this name."""
        return name in self._places

    def __getitem__(self, name: str) -> Attribute:
        """Return an attribute. Raises MissingColumn."""
        if found := self._places.get(name):
            return found
        raise MissingColumn(
            f"The tree has no attribute {name!r}; it has {list(self.names)}.", where=name
        )

    def read(self, table: MixedTable) -> MixedTable:
        """Return the attributes of records, in order, their categories coded as here.

        Raises:
            MissingColumn: an attribute is not there.
            TableError: it has categories in place of numbers, or numbers in place of categories.
            UnknownCategory: a record has a category that the attribute has not.
        """
        columns = (
            coded_as(table[a.name], getattr(a, "categories", None), "tree") for a in self.attributes
        )
        return MixedTable(tuple(columns), table.records)
