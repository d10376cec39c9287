"""The attributes of a shared tree, numbers within a range or categories, and its schema."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from pramana_core.domain import Variable
from pramana_core.errors import DomainError, LimitExceeded, MissingColumn
from pramana_core.mixed import LARGEST, MixedTable, coded_as

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
    """An attribute of categories, in code order.

    Raises:
        DomainError: there is no category, or one is there twice.
        LimitExceeded: there are more than `MOST_CATEGORIES`.
    """

    name: str
    categories: tuple[str, ...]

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
