"""Conditions on an attribute: one of some categories, or a number within an interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from pramana_core.errors import ModelError
from pramana_core.mixed.table import CategoricalColumn, Column, NumericColumn


@dataclass(frozen=True)
class Values:
    """One of some categories: their codes, ascending.

    Raises:
        ModelError: there is none, one is negative, or they do not ascend.
    """

    codes: tuple[int, ...]

    def __post_init__(self) -> None:
        ascending = all(a < b for a, b in pairwise(self.codes))
        if not self.codes or self.codes[0] < 0 or not ascending:
            raise ModelError("A condition must name at least one category, each once, ascending.")

    def holds(self, column: Column) -> npt.NDArray[np.bool_]:
        """Return of which records it holds: n truth values."""
        if not isinstance(column, CategoricalColumn):
            raise ModelError(f"Column {column.name!r} has numbers where categories are asked for.")
        known = np.zeros(max(len(column.categories), self.codes[-1] + 1), dtype=bool)
        known[list(self.codes)] = True
        return known[column.codes]


@dataclass(frozen=True)
class Interval:
    """A number above `above` and at most `up_to`; both infinite where any number will do.

    Raises:
        ModelError: no finite number is within it.
    """

    above: float = -math.inf
    up_to: float = math.inf

    def __post_init__(self) -> None:
        if not self.above < self.up_to:
            raise ModelError(f"No number is above {self.above:g} and at most {self.up_to:g}.")

    def holds(self, column: Column) -> npt.NDArray[np.bool_]:
        """Return of which records it holds: n truth values."""
        if not isinstance(column, NumericColumn):
            raise ModelError(f"Column {column.name!r} has categories where numbers are asked for.")
        found: npt.NDArray[np.bool_] = (column.values > self.above) & (column.values <= self.up_to)
        return found


Condition = Values | Interval
