"""The attributes of a shared tree, numeric with a range or categorical, and its schema."""

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
"""The maximum number of categories of an attribute; a larger number could identify records."""

LONGEST_LABEL = 256
"""The maximum length of the name of an attribute or a category, in characters."""

_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
"""Characters that are not allowed in names: control characters, text directions, invalid XML."""


def is_label(words: str) -> bool:
    """Return whether a name can be written in messages and pictures."""
    return bool(words.strip()) and len(words) <= LONGEST_LABEL and not _UNSEEN.search(words)


def _plain(words: str) -> str:
    if not is_label(words):
        raise ValueError("a name must have visible characters and no control characters")
    return words


Label = Annotated[
    str,
    StringConstraints(min_length=1, max_length=LONGEST_LABEL, strict=True),
    AfterValidator(_plain),
]
"""The name of an attribute, a class or a category."""

# Lists become tuples, both from JSON text and from parsed JSON.
Labels = Annotated[tuple[Label, ...], Field(strict=False, min_length=1, max_length=CATEGORIES)]
Number = Annotated[float, Strict(), Field(ge=-LARGEST, le=LARGEST)]

# Documents contain attribute objects, and are also read from plain dictionaries.
DOCUMENT = ConfigDict(extra="forbid", allow_inf_nan=False)


@dataclass(frozen=True)
class NumericAttribute:
    """A numeric attribute with a declared range `low` < `high`; `whole` allows whole numbers only.

    Raises DomainError: the range is empty, or the name cannot be written in messages.
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
    """A categorical attribute, with its categories in code order.

    Raises DomainError: there is no category, a category is repeated, or a label cannot be written
    in messages. LimitExceeded: there are more than `MOST_CATEGORIES` categories.
    """

    __pydantic_config__: ClassVar[ConfigDict] = DOCUMENT

    name: Label
    categories: Labels
    type: Literal["categorical"] = "categorical"

    def __post_init__(self) -> None:
        _require_labels(self.name, self.categories)
        if len(self.categories) > MOST_CATEGORIES:
            raise LimitExceeded(
                f"{self.name!r} has {len(self.categories):,} categories; an attribute of a tree has"
                f" at most {MOST_CATEGORIES:,}.",
                where=self.name,
                remedy="Exclude the attribute if it identifies records, or group its categories.",
            )
        if not self.categories or len(set(self.categories)) < len(self.categories):
            raise DomainError(
                f"{self.name!r} must have one or more distinct categories.", where=self.name
            )


Attribute = NumericAttribute | CategoricalAttribute


def _require_labels(name: str, categories: tuple[str, ...] = ()) -> None:
    """Check names and categories. The message gives only the number of invalid categories."""
    if not is_label(name):
        raise DomainError(
            f"{name[:40]!r} cannot be a name, because messages could not show it.",
            where=name[:40],
            remedy=f"Use 1 to {LONGEST_LABEL} characters without control characters.",
        )
    if wrong := sum(not is_label(label) for label in categories):
        raise DomainError(
            f"{wrong} of the {len(categories)} categories of {name!r} cannot be shown in messages.",
            where=name,
            remedy=f"Use 1 to {LONGEST_LABEL} characters without control characters for each.",
        )


@dataclass(frozen=True)
class TreeSchema:
    """The class that a tree predicts, and its attributes. Raises DomainError: no attribute."""

    target: Variable
    attributes: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        _require_labels(self.target.name, self.target.categories)
        names = [*self.names, self.target.name]
        if len(set(names)) < len(names) or not self.attributes:
            raise DomainError(
                f"A tree needs a class and attributes, with distinct names, not {names}.",
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
        """The labels of the classes and of each categorical attribute's categories, by name."""
        own = {a.name: a.categories for a in self.attributes if isinstance(a, CategoricalAttribute)}
        return {**own, self.target.name: self.target.categories}

    def __contains__(self, name: object) -> bool:
        """Return whether some attribute has this name."""
        return name in self._by_name

    def __getitem__(self, name: str) -> Attribute:
        """Return the attribute with this name. Raises MissingColumn."""
        if found := self._by_name.get(name):
            return found
        raise MissingColumn(
            f"The tree has no attribute {name!r}; it has {list(self.names)}.", where=name
        )

    def read(self, table: MixedTable) -> MixedTable:
        """Return the attributes of n records, in the order and with the codes of this schema.

        Raises MissingColumn, UnknownCategory. TableError: a column has categories instead of
        numbers, or the reverse.
        """
        columns = (coded_as(table[name], self.labels.get(name), "tree") for name in self.names)
        return MixedTable(tuple(columns), table.records)
