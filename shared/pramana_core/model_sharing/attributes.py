"""The attributes of a shared tree: numbers within a range, or categories with their taxonomy.

Also here:

* Taxonomies: which categories of an attribute belong together, level by level.
* The schema of a tree from a table, and from what its owner declares of the columns. What is not
  declared is read from the records, and is then told to whoever receives the tree: the categories
  that occur, and a range that is rounded outward from inner values, never the extremes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from pramana_core.alike import first_few
from pramana_core.domain import Variable
from pramana_core.errors import DomainError, EmptyTable, LimitExceeded, MissingColumn, TableError
from pramana_core.mixed import (
    LARGEST,
    CategoricalColumn,
    Column,
    Floats,
    MixedTable,
    NumericColumn,
    coded_as,
)

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
        if not all(isinstance(row, Sequence) for row in rows):
            raise DomainError("A taxonomy must be groups by name, or a list of rows of names.")
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


MOST_CLASSES = 50
"""Whole numbers of at most so many different values may be classes."""

Codes = npt.NDArray[np.intp]
Declared = Mapping[str, "Taxonomy | Groups | Sequence[Sequence[str]]"]


def require_same_labels(name: str, labels: Mapping[str, Sequence[str]]) -> None:
    """Refuse owners who code a variable differently, such as low and high with LOW and HIGH.

    A rare category may not occur at every owner, so that lists may differ a little. But each owner
    must share more than half of its labels with the owner of the longest list.

    Args:
        name: the variable.
        labels: each owner's labels.

    Raises:
        DomainError: two owners share too few of their labels.
    """
    longest = max(labels, key=lambda owner: len(labels[owner]))
    for owner, own in labels.items():
        if 2 * len(set(own) & set(labels[longest])) <= len(own):
            raise DomainError(
                f"Owners code {name!r} differently: {longest} has the categories"
                f" {first_few(labels[longest])}, {owner} has {first_few(own)}.",
                where=name,
                remedy="Let all owners use the same labels and declare the same categories, then"
                " make the trees again; or combine only trees with the same labels.",
            )


FACTOR = 3.0
"""Owners' ranges of a number differ suspiciously where one is more than this times as wide."""


def units_differ(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Return whether two owners' ranges of a number look as if their units differed.

    They do where they have less than half of the narrower range in common, or where one is more
    than `FACTOR` times as wide as the other.
    """
    widths = sorted(high - low for low, high in (one, other))
    common = min(one[1], other[1]) - max(one[0], other[0])
    return common < widths[0] / 2 or 0 < FACTOR * widths[0] < widths[1]


def units_warning(name: str, ranges: Mapping[str, tuple[float, float]]) -> str | None:
    """Return a warning where owners' ranges of a number look like different units, else None."""
    for owner, one in ranges.items():
        for other, ends in ranges.items():
            if units_differ(one, ends):
                return (
                    f"Check the units and codes of {name!r}: its values go from {one[0]:.4g} to"
                    f" {one[1]:.4g} at {owner}, from {ends[0]:.4g} to {ends[1]:.4g} at {other}."
                )
    return None


def schema_of(
    table: MixedTable,
    target: str,
    *,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    taxonomies: Declared | None = None,
    categories: Mapping[str, Sequence[str]] | None = None,
    whole: Iterable[str] | None = None,
) -> tuple[TreeSchema, MixedTable, Codes]:
    """Return the schema of a table of n records, their attributes and their n class codes.

    A number beyond its range counts as the nearest end of the range. It is not refused, for a
    range that is widened until no record is refused tells the extremes.

    Args:
        table: the records.
        target: the column of the class: categories, or at most `MOST_CLASSES` whole numbers.
        ranges: the least and the greatest number of some attributes; of the others as
            `inner_range`.
        taxonomies: of some categorical attributes, as a `Taxonomy`, as nested groups or as rows of
            ancestors (see `Taxonomy.of`, `Taxonomy.of_rows`).
        categories: all labels of some columns, in code order; of the others those of the column. A
            column of whole numbers with labels declared is categorical.
        whole: the attributes of whole numbers; by default those whose records all have such.

    Raises:
        EmptyTable: there are no records.
        MissingColumn: the target, or a column of which something is declared, is not there.
        TableError: the target has numbers that are no classes; a range or a taxonomy is declared
            of a column of the other kind; all values of a column lie on one side of its range.
        UnknownCategory: a record has a category that is not among those declared.
        DomainError: a range, a taxonomy or a class cannot be; there is no attribute.
    """
    ranges, taxonomies, categories = ranges or {}, taxonomies or {}, categories or {}
    wholes = None if whole is None else set(whole)
    if not table.records:
        raise EmptyTable("There are no records to learn a tree from.")
    for name in (target, *ranges, *taxonomies, *categories, *sorted(wholes or ())):
        table[name]
    classes = _classes(table[target], categories.get(target))
    attributes: list[Attribute] = []
    columns: list[Column] = []
    for column in table.columns:
        name = column.name
        if name == target:
            continue
        if name in categories:
            column = _labelled(column, categories[name])
        attribute: Attribute
        if isinstance(column, CategoricalColumn):
            if name in ranges or name in (wholes or ()):
                raise TableError(f"Column {name!r} has categories, and no range.", where=name)
            attribute = CategoricalAttribute(
                name, column.categories, _taxonomy(column, taxonomies.get(name))
            )
        else:
            if name in taxonomies:
                raise TableError(f"Column {name!r} has numbers, and no taxonomy.", where=name)
            is_whole = name in wholes if wholes is not None else are_whole(column.values)
            attribute = _numeric(column, ranges.get(name), whole=is_whole)
            column = _within(column, attribute)
        attributes.append(attribute)
        columns.append(column)
    schema = TreeSchema(Variable(target, classes.categories), tuple(attributes))
    return schema, MixedTable(tuple(columns), table.records), classes.codes


def are_whole(values: Floats) -> bool:
    """Return whether all numbers are whole, and small enough for floats to tell them apart."""
    return bool(np.all((values == np.floor(values)) & (np.abs(values) <= 2**53)))


def inner_range(values: Floats) -> tuple[float, float]:
    """Return a range of numbers that tells of no single record.

    It goes from the k-th least to the k-th greatest number, both rounded outward to the power of
    ten below half their distance; k is a twentieth of the records, at least 3 and at most 10, but
    never beyond the middle.
    """
    ordered = np.sort(values)
    k = min(max(3, min(10, len(ordered) // 20)), (len(ordered) + 1) // 2)
    low, high = float(ordered[k - 1]), float(ordered[-k])
    width = high - low if high > low else abs(low)
    # Not finer than floats of that size are apart.
    width = max(width, 1e-12 * max(abs(low), abs(high)), 1e-300)
    power = math.floor(math.log10(width / 2))
    rounded_low, rounded_high = _multiple(low, power, -1), _multiple(high, power, 1)
    if not rounded_low < rounded_high:
        rounded_low, rounded_high = (
            _multiple(low - 10.0**power, power, -1),
            _multiple(high + 10.0**power, power, 1),
        )
    return max(rounded_low, -LARGEST), min(rounded_high, LARGEST)


def _multiple(value: float, power: int, side: int) -> float:
    """Return the next multiple of a power of ten, below (side -1) or above (side 1) a number."""
    times = value / 10.0**power
    near = math.floor(times) if side < 0 else math.ceil(times)
    found = float(f"{near}e{power}")
    # The quotient is rounded; it may be one short.
    if (found - value) * side < 0:
        found = float(f"{near + side}e{power}")
    return found


def _classes(column: Column, declared: Sequence[str] | None) -> CategoricalColumn:
    if declared is not None:
        return _labelled(column, declared)
    if isinstance(column, CategoricalColumn):
        return column
    values = np.unique(column.values)
    if not are_whole(values) or len(values) > MOST_CLASSES:
        raise TableError(
            f"The target {column.name!r} has numbers; a tree tells a class.",
            where=column.name,
            remedy="Choose a column of categories, or make the numbers into ranges first.",
        )
    labels = [str(int(value)) for value in values]
    return _labelled(column, labels)


def _labelled(column: Column, declared: Sequence[str]) -> CategoricalColumn:
    """Return a column coded by declared labels; whole numbers are their own labels."""
    if isinstance(declared, str):
        raise DomainError(
            f"The categories of {column.name!r} must be a list of labels, not a text.",
            where=column.name,
        )
    labels = tuple(str(label) for label in declared)
    if len(set(labels)) < len(labels):
        raise DomainError(f"The categories of {column.name!r} repeat.", where=column.name)
    if isinstance(column, NumericColumn):
        if not are_whole(column.values):
            raise TableError(
                f"Column {column.name!r} has numbers that are not whole; they are no categories.",
                where=column.name,
            )
        values, codes = np.unique(column.values, return_inverse=True)
        column = CategoricalColumn(column.name, codes, tuple(str(int(value)) for value in values))
    return column.among(
        labels,
        "that are not among its declared categories",
        "Declare all categories, or leave those records out.",
    )


def _taxonomy(
    column: CategoricalColumn, declared: Taxonomy | Groups | Sequence[Sequence[str]] | None
) -> Taxonomy | None:
    if declared is None or isinstance(declared, Taxonomy):
        return declared
    try:
        if isinstance(declared, Mapping):
            return Taxonomy.of(column.categories, declared)
        return Taxonomy.of_rows(column.categories, declared)
    except DomainError as error:
        raise DomainError(
            f"The taxonomy of {column.name!r}: {error.message}",
            where=column.name,
            remedy=error.remedy,
        ) from None


def _numeric(
    column: NumericColumn, declared: tuple[float, float] | None, *, whole: bool
) -> NumericAttribute:
    low, high = inner_range(column.values) if declared is None else map(float, declared)
    if declared is None and whole:
        low, high = math.floor(low), math.ceil(high)
    return NumericAttribute(column.name, low, high, whole)


def _within(column: NumericColumn, attribute: NumericAttribute) -> NumericColumn:
    if np.all(column.values < attribute.low) or np.all(column.values > attribute.high):
        raise TableError(
            f"No value of column {column.name!r} is within its range, {attribute.low:g} to"
            f" {attribute.high:g}.",
            where=column.name,
            remedy="Declare the range in the unit of the column.",
        )
    return NumericColumn(column.name, np.clip(column.values, attribute.low, attribute.high))
