"""The schema of a tree, from a table and from its owner's declarations.

Undeclared properties are read from the records, so the tree reveals them to its receivers. These
properties are the categories that occur, and a range that is rounded outward from inner values,
never from the extremes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from pramana_core.domain import Variable
from pramana_core.errors import DomainError, EmptyTable, TableError
from pramana_core.mixed import LARGEST, CategoricalColumn, Column, Floats, MixedTable, NumericColumn
from pramana_core.model_sharing.attributes import (
    Attribute,
    CategoricalAttribute,
    NumericAttribute,
    TreeSchema,
)

MOST_CLASSES = 50
"""The maximum number of distinct values with which a column of whole numbers may be the class."""

Codes = npt.NDArray[np.intp]


def schema_of(
    table: MixedTable,
    target: str,
    *,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    categories: Mapping[str, Sequence[str]] | None = None,
    whole: Iterable[str] | None = None,
) -> tuple[TreeSchema, MixedTable, Codes]:
    """Return the schema of a table of n records, their attributes and their n class codes.

    A number outside the range of its attribute is replaced by the nearest end; widening the range
    until all numbers fit would reveal the extremes. By default, ranges come from `inner_range`,
    categories from the column, and an attribute is `whole` if all its numbers are. The target has
    categories or few distinct whole numbers.

    Raises:
        EmptyTable, MissingColumn: there are no records, or no column for the target or for a
            declaration.
        TableError: the target has other numbers, a categorical column has a declared range, or all
            values of a column lie on one side of its range.
        UnknownCategory: a category is not declared.
        DomainError: a range or a class is impossible, or there is no attribute.
    """
    ranges, categories = ranges or {}, categories or {}
    wholes = None if whole is None else set(whole)
    if not table.records:
        raise EmptyTable("There are no records to learn a tree from.")
    for name in (target, *ranges, *categories, *sorted(wholes or ())):
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
                raise TableError(
                    f"Column {name!r} has categories, so it cannot have a range.", where=name
                )
            attribute = CategoricalAttribute(name, column.categories)
        else:
            is_whole = name in wholes if wholes is not None else are_whole(column.values)
            attribute = _numeric(column, ranges.get(name), whole=is_whole)
            column = _within(column, attribute)
        attributes.append(attribute)
        columns.append(column)
    schema = TreeSchema(Variable(target, classes.categories), tuple(attributes))
    return schema, MixedTable(tuple(columns), table.records), classes.codes


def are_whole(values: Floats) -> bool:
    """Return whether all numbers are whole and small enough to be exact as floats."""
    return bool(np.all((values == np.floor(values)) & (np.abs(values) <= 2**53)))


def inner_range(values: Floats) -> tuple[float, float]:
    """Return a range that reveals no single record.

    It extends from the k-th smallest to the k-th largest number, rounded outward. k is a twentieth
    of the number of records, but at least 3 and at most 10.
    """
    ordered = np.sort(values)
    k = min(max(3, min(10, len(ordered) // 20)), (len(ordered) + 1) // 2)
    low, high = float(ordered[k - 1]), float(ordered[-k])
    width = high - low if high > low else abs(low)
    # Not finer than the spacing of floats of that size.
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
    """Return the next multiple of 10^`power`, below a number (`side` -1) or above it (`side` 1)."""
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
            f"The target {column.name!r} has numbers; a tree predicts a class.",
            where=column.name,
            remedy="Choose a column of categories, or convert the numbers to ranges first.",
        )
    labels = [str(int(value)) for value in values]
    return _labelled(column, labels)


def _labelled(column: Column, declared: Sequence[str]) -> CategoricalColumn:
    """Return a column with the codes of declared labels. Whole numbers are their own labels."""
    if isinstance(declared, str):
        raise DomainError(
            f"The categories of {column.name!r} must be a list of labels, not a string.",
            where=column.name,
        )
    labels = tuple(str(label) for label in declared)
    if len(set(labels)) < len(labels):
        raise DomainError(
            f"The categories of {column.name!r} contain a label more than once.", where=column.name
        )
    if isinstance(column, NumericColumn):
        if not are_whole(column.values):
            raise TableError(
                f"Column {column.name!r} has fractional numbers, which cannot be categories.",
                where=column.name,
            )
        values, codes = np.unique(column.values, return_inverse=True)
        column = CategoricalColumn(column.name, codes, tuple(str(int(value)) for value in values))
    return column.among(
        labels,
        "that are not among its declared categories",
        "Declare all categories, or remove those records.",
    )


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
