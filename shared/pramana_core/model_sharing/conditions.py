"""Conditions on an attribute, which are sets of categories or intervals of numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from pramana_core.errors import ModelError
from pramana_core.mixed import CategoricalColumn, Column, NumericColumn
from pramana_core.model_sharing.attributes import CategoricalAttribute, TreeSchema


@dataclass(frozen=True)
class Values:
    """The condition that a category is in a set of ascending codes. Raises ModelError."""

    codes: tuple[int, ...]

    def __post_init__(self) -> None:
        ascending = all(a < b for a, b in pairwise(self.codes))
        if not self.codes or self.codes[0] < 0 or not ascending:
            raise ModelError("A condition must list distinct codes, at least one, ascending.")

    def holds(self, column: Column) -> npt.NDArray[np.bool_]:
        """Return whether each of n records meets the condition, n truth values."""
        if not isinstance(column, CategoricalColumn):
            raise ModelError(f"Column {column.name!r} is numeric; the condition needs categories.")
        known = np.zeros(max(len(column.categories), self.codes[-1] + 1), dtype=bool)
        known[list(self.codes)] = True
        return known[column.codes]


@dataclass(frozen=True)
class Interval:
    """The condition that a number is above `above` and at most `up_to`. Raises ModelError.

    Either end may be infinite.
    """

    above: float = -math.inf
    up_to: float = math.inf

    def __post_init__(self) -> None:
        if not self.above < self.up_to:
            raise ModelError(f"No number is above {self.above:g} and at most {self.up_to:g}.")

    def holds(self, column: Column) -> npt.NDArray[np.bool_]:
        """Return whether each of n records meets the condition, n truth values."""
        if not isinstance(column, NumericColumn):
            raise ModelError(f"Column {column.name!r} has categories; the condition needs numbers.")
        found: npt.NDArray[np.bool_] = (column.values > self.above) & (column.values <= self.up_to)
        return found


Condition = Values | Interval


def together(conditions: Sequence[Condition]) -> Condition:
    """Return the union of conditions, which are sets of categories or adjacent intervals."""
    codes = [c.codes for c in conditions if isinstance(c, Values)]
    if codes:
        return Values(tuple(sorted({code for some in codes for code in some})))
    ends = [c for c in conditions if isinstance(c, Interval)]
    return Interval(min(e.above for e in ends), max(e.up_to for e in ends))


def whole(schema: TreeSchema, name: str) -> Condition:
    """Return the condition on an attribute that every value meets. Raises MissingColumn."""
    attribute = schema[name]
    if isinstance(attribute, CategoricalAttribute):
        return Values(tuple(range(len(attribute.categories))))
    return Interval()


def part_of(
    conditions: Sequence[Condition], values: npt.NDArray[np.float64] | npt.NDArray[np.intp]
) -> npt.NDArray[np.intp]:
    """Return the index of the split's condition that each of n numbers or codes meets."""
    if isinstance(conditions[0], Interval):
        ends = np.array([c.up_to for c in conditions if isinstance(c, Interval)])
        order = np.argsort(ends)
        return order[np.searchsorted(ends[order], values)]
    listed = [c.codes for c in conditions if isinstance(c, Values)]
    places = np.zeros(max(codes[-1] for codes in listed) + 1, dtype=np.intp)
    for place, codes in enumerate(listed):
        places[list(codes)] = place
    return places[values]
