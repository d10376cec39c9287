"""The splits that an attribute offers: numbers at each threshold, categories by their subsets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pramana_core.mixed.table import Floats
from pramana_core.model_sharing.core.conditions import Condition, Interval, Values
from pramana_core.model_sharing.growing.questions import apart, halves
from pramana_core.model_sharing.growing.records import Codes, Records
from pramana_core.model_sharing.growing.subsets import subsets

Choice = tuple[str, tuple[Condition, Condition], npt.NDArray[np.bool_]]
"""An attribute, the conditions of its two sides, and which of the rows are on the first."""


@dataclass(frozen=True, eq=False)
class Thresholds:
    """The splits of numbers: `parts` has the counts of the classes below each, splits x classes."""

    records: Records
    name: str
    extent: Interval
    ranks: Codes
    neighbours: Codes
    parts: Floats

    def choice(self, place: int) -> Choice:
        """Return one of them."""
        left, right = self.neighbours[place].tolist()
        threshold = self.records.threshold(self.name, left, right)
        return self.name, halves(self.extent, threshold), self.ranks <= left


@dataclass(frozen=True, eq=False)
class Subsets:
    """The splits of categories: `parts` has the counts of the classes in each subset.

    Attributes:
        present: the codes that some row has, ascending.
        chosen: zeros and ones: splits x present.
    """

    name: str
    extent: Values
    codes: Codes
    present: Codes
    records: Floats
    chosen: Floats
    parts: Floats

    def choice(self, place: int) -> Choice:
        """Return one of them; categories that no row has go with the larger side."""
        inside = set(self.present[self.chosen[place] > 0].tolist())
        if 2 * self.chosen[place] @ self.records > self.records.sum():
            inside |= set(self.extent.codes) - set(self.present.tolist())
        first = np.zeros(self.extent.codes[-1] + 1, dtype=bool)
        first[list(inside)] = True
        return self.name, apart(self.extent, inside), first[self.codes]


def offered(
    records: Records, name: str, extent: Condition, rows: Codes
) -> Thresholds | Subsets | None:
    """Return the splits of some rows by an attribute; None if they do not differ in it.

    Args:
        records: all records.
        name: the attribute.
        extent: what of it reaches the node.
        rows: which records reach it.
    """
    codes = records.codes[name][rows]
    if isinstance(extent, Interval):
        order = np.argsort(codes, kind="stable")
        ordered = codes[order]
        ends = np.flatnonzero(ordered[1:] > ordered[:-1])
        if not len(ends):
            return None
        parts = np.cumsum(records.indicators[rows[order]], axis=0)[ends]
        neighbours = np.column_stack([ordered[ends], ordered[ends + 1]])
        return Thresholds(records, name, extent, codes, neighbours, parts)
    size, classes = extent.codes[-1] + 1, records.schema.classes
    joint = np.bincount(codes * classes + records.classes[rows], minlength=size * classes)
    table = joint.reshape(-1, classes).astype(np.float64)
    present = np.flatnonzero(table.any(axis=1))
    if len(present) < 2:
        return None
    table = table[present]
    chosen = subsets(table)
    return Subsets(name, extent, codes, present, table.sum(axis=1), chosen, chosen @ table)
