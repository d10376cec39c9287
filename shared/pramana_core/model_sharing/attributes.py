"""The attributes of a shared tree, numbers within a range or categories, and its schema."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, ConfigDict, Field, Strict, StringConstraints

from pramana_core.domain import CATEGORIES, Variable
from pramana_core.errors import DomainError, LimitExceeded, MissingColumn
from pramana_core.mixed import LARGEST, MixedTable, coded_as

MOST_CATEGORIES = 10_000
"""An attribute of more categories identifies records and is refused."""

LONGEST_LABEL = 256
"""The most letters of the name of an attribute or a category."""

_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
"""Control characters, changes of direction, and what XML cannot hold."""


def is_label(words: str) -> bool:
    """Return whether a message and a picture can hold a name."""
    return bool(words.strip()) and len(words) <= LONGEST_LABEL and not _UNSEEN.search(words)


def _plain(words: str) -> str:
    if not is_label(words):
        raise ValueError("a name must have letters, and no control characters")
    return words


Label = Annotated[
    str,
    StringConstraints(min_length=1, max_length=LONGEST_LABEL, strict=True),
    AfterValidator(_plain),
]
"""The name of an attribute, a class or a category."""

# Lists become tuples, whether they are read from JSON or from what JSON was read as.
Labels = Annotated[tuple[Label, ...], Field(strict=False, min_length=1, max_length=CATEGORIES)]
Number = Annotated[float, Strict(), Field(ge=-LARGEST, le=LARGEST)]

# Documents hold attributes as they are, and read them from plain dictionaries too.
DOCUMENT = ConfigDict(extra="forbid", allow_inf_nan=False)


@dataclass(frozen=True)
class NumericAttribute:
    """An attribute of numbers, perhaps all `whole`, within a declared range `low` < `high`.

    Raises DomainError: the range is empty, or a message cannot carry the name.
    """

    __pydantic_config__: ClassVar[ConfigDict] = DOCUMENT

    name: Label
    low: Number
    high: Number
    whole: Annotated[bool, Strict()] = False
    type: Literal["numeric"] = "numeric"

    def __post_init__(self) -> None:
        _require_labels(self.name)
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
    """An attribute of categories, in code order. Raises DomainError: no category, one repeats, or a
    message cannot carry a label. LimitExceeded: there are more than `MOST_CATEGORIES`.
    """

    __pydantic_config__: ClassVar[ConfigDict] = DOCUMENT

    name: Label
    categories: Labels
    type: Literal["categorical"] = "categorical"

    def __post_init__(self) -> None:
        _require_labels(self.name, self.categories)
        if len(self.categories) > MOST_CATEGORIES:
            raise LimitExceeded(
                f"{self.name!r} has {len(self.categories):,} categories; a tree has at most"
                f" {MOST_CATEGORIES:,} of an attribute.",
                where=self.name,
                remedy="Leave it out if it identifies the records, or group its categories.",
            )
        if not self.categories or len(set(self.categories)) < len(self.categories):
            raise DomainError(
                f"The categories of {self.name!r} must be at least one, each once.", where=self.name
            )


Attribute = NumericAttribute | CategoricalAttribute


def _require_labels(name: str, categories: tuple[str, ...] = ()) -> None:
    """Check names; a category is somebody's value, so the message only counts them."""
    if not is_label(name):
        raise DomainError(
            f"{name[:40]!r} cannot be the name of a column in a message.",
            where=name[:40],
            remedy=f"A name has 1 to {LONGEST_LABEL} letters and no control characters.",
        )
    if wrong := sum(not is_label(label) for label in categories):
        raise DomainError(
            f"A message cannot hold {wrong} of the {len(categories)} categories of {name!r}.",
            where=name,
            remedy=f"Each must have 1 to {LONGEST_LABEL} letters and no control characters.",
        )


@dataclass(frozen=True)
class TreeSchema:
    """What a tree predicts, and from which attributes, at least one. Raises DomainError."""

    target: Variable
    attributes: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        _require_labels(self.target.name, self.target.categories)
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
    def _by_name(self) -> dict[str, Attribute]:
        return {attribute.name: attribute for attribute in self.attributes}

    @property
    def classes(self) -> int:
        """The number of classes."""
        return self.target.size

    @cached_property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """The categories of the class and of each categorical attribute, by name."""
        own = {a.name: a.categories for a in self.attributes if isinstance(a, CategoricalAttribute)}
        return {**own, self.target.name: self.target.categories}

    def __contains__(self, name: object) -> bool:
        """Whether an attribute has this name."""
        return name in self._by_name

    def __getitem__(self, name: str) -> Attribute:
        """Return an attribute. Raises MissingColumn."""
        if found := self._by_name.get(name):
            return found
        raise MissingColumn(
            f"The tree has no attribute {name!r}; it has {list(self.names)}.", where=name
        )

    def read(self, table: MixedTable) -> MixedTable:
        """Return the attributes of n records, in order, their categories coded as here. Raises
        MissingColumn, UnknownCategory; TableError: categories in place of numbers or the
        reverse.
        """
        columns = (coded_as(table[name], self.labels.get(name), "tree") for name in self.names)
        return MixedTable(tuple(columns), table.records)
