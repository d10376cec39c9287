"""The records from which a tree is learned, and their possible splits by an attribute."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt

from pramana_core.mixed import CategoricalColumn, Floats, MixedTable
from pramana_core.model_sharing.attributes import NumericAttribute, TreeSchema
from pramana_core.model_sharing.conditions import Condition, Interval, Values, whole
from pramana_core.model_sharing.tree import Leaf, Node, Split

Codes = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Records:
    """n records: class codes, and for each attribute a category's code or a number's rank.

    Ranks are from 0; `values` has the distinct numbers of each attribute, ascending.
    """

    schema: TreeSchema
    classes: Codes
    codes: Mapping[str, Codes]
    values: Mapping[str, Floats]

    @classmethod
    def of(cls, schema: TreeSchema, attributes: MixedTable, classes: Codes) -> Records:
        """Return the records of a table with the columns of the schema."""
        codes: dict[str, Codes] = {}
        values: dict[str, Floats] = {}
        for column in attributes.columns:
            if isinstance(column, CategoricalColumn):
                codes[column.name] = column.codes
            else:
                values[column.name], ranks = np.unique(column.values, return_inverse=True)
                codes[column.name] = ranks.astype(np.intp)
        return cls(schema, classes, codes, values)

    @cached_property
    def indicators(self) -> Floats:
        """The classes as indicators 0 and 1, n x classes."""
        return np.eye(self.schema.classes)[self.classes]

    def __len__(self) -> int:
        return len(self.classes)

    def everything(self) -> dict[str, Condition]:
        """Return, for each attribute, the condition that every value meets."""
        return {name: whole(self.schema, name) for name in self.schema.names}

    def counts(self, rows: Codes) -> Floats:
        """Return the number of the given rows in each class."""
        return np.bincount(self.classes[rows], minlength=self.schema.classes).astype(np.float64)

    def leaf(self, rows: Codes) -> Leaf:
        """Return the leaf of the given rows."""
        return Leaf.of(self.counts(rows))

    def threshold(self, name: str, left: int, right: int) -> float:
        """Return the threshold between two numbers that are neighbours, given by their ranks."""
        values = self.values[name]
        attribute = self.schema[name]
        is_whole = isinstance(attribute, NumericAttribute) and attribute.whole
        a, b = float(values[left]), float(values[right])
        return between(a, b, whole=is_whole and a == int(a) and b == int(b))


MOST_DIGITS = 18
"""The number of decimal digits that distinguish any two floats."""


def between(left: float, right: float, *, whole: bool = False) -> float:
    """Return the number between two that has the fewest decimal digits, nearest to the middle.

    The exact middle could reveal a value. If no float is between the two, return `left`.
    """
    low, high = Fraction(left), Fraction(right)
    if whole and high - low == 1:
        return left
    middle = (Fraction(left) + Fraction(right)) / 2
    largest = max(abs(left), abs(right))
    top = math.floor(math.log10(largest)) + 1
    shift = max(0, top - 1 - math.floor(math.log10(right - left)))
    for power in range(top, top - MOST_DIGITS - shift, -1):
        if whole and power < 0:
            break
        step = Fraction(10) ** power
        first, last = math.floor(low / step) + 1, math.ceil(high / step) - 1
        if first <= last:
            found = float(min(max(round(middle / step), first), last) * step)
            if left < found < right:
                return found
    return left


def contracted(node: Node) -> Node:
    """Return a tree in which successive splits by one attribute are joined (figure 2)."""
    if isinstance(node, Leaf):
        return node
    parts: list[tuple[Condition, Node]] = []
    waiting = list(node.parts)
    while waiting:
        condition, below = waiting.pop()
        if isinstance(below, Split) and below.attribute == node.attribute:
            waiting += below.parts
        else:
            parts.append((condition, contracted(below)))
    return Split(node.attribute, tuple(sorted(parts, key=lambda part: _rank(part[0]))))


def halves(extent: Interval, threshold: float) -> tuple[Interval, Interval]:
    """Return the part of an interval up to a threshold, and the part above the threshold."""
    return Interval(extent.above, threshold), Interval(threshold, extent.up_to)


def apart(extent: Values, codes: set[int]) -> tuple[Values, Values]:
    """Return those categories of a set that are among the codes, and the remaining ones."""
    inside = tuple(code for code in extent.codes if code in codes)
    return Values(inside), Values(tuple(code for code in extent.codes if code not in codes))


def _rank(condition: Condition) -> float:
    return condition.above if isinstance(condition, Interval) else condition.codes[0]


ALL_OF = 8
"""The maximum number of categories for all subsets to be tried, which makes 127 splits."""


def subsets(table: Floats) -> Floats:
    """Return subsets of m categories as zeros and ones: splits x m.

    Up to `ALL_OF` categories give all subsets. More categories give each single category and, with
    the categories sorted by the share of each class, each initial sequence. For two classes, these
    contain the best split (Breiman et al. 1984, section 4.2.2). `table` is m x classes.
    """
    m, classes = table.shape
    if m <= ALL_OF:
        return _all_of(m)
    shares = table / table.sum(axis=1, keepdims=True)
    found = [np.eye(m)]
    below = np.tri(m - 1, m)
    for code in range(classes if classes > 2 else 1):
        order = np.argsort(shares[:, code], kind="stable")
        ordered = np.empty((m - 1, m))
        ordered[:, order] = below
        found.append(ordered)
    return np.unique(np.concatenate(found), axis=0)


@cache
def _all_of(m: int) -> Floats:
    numbers = np.arange(1, 1 << (m - 1))
    rest = (numbers[:, None] >> np.arange(m - 1)) & 1
    found = np.column_stack([np.zeros(len(numbers)), rest])
    found.flags.writeable = False
    return found


OfferedSplit = tuple[str, tuple[Condition, Condition], npt.NDArray[np.bool_]]
"""An attribute, the conditions of both sides of a split, and a mask of rows on the first."""


@dataclass(frozen=True, eq=False)
class Thresholds:
    """Splits by a numeric attribute; `parts` has the class counts up to each threshold."""

    records: Records
    name: str
    extent: Interval
    ranks: Codes
    neighbours: Codes
    parts: Floats

    def choice(self, place: int) -> OfferedSplit:
        """Return the split at an index."""
        left, right = self.neighbours[place].tolist()
        threshold = self.records.threshold(self.name, left, right)
        return self.name, halves(self.extent, threshold), self.ranks <= left


@dataclass(frozen=True, eq=False)
class Subsets:
    """Splits by a categorical attribute; `parts` has the class counts of each subset.

    `chosen` has the subsets as indicators 0 and 1 of the codes `present`.
    """

    name: str
    extent: Values
    codes: Codes
    present: Codes
    records: Floats
    chosen: Floats
    parts: Floats

    def choice(self, place: int) -> OfferedSplit:
        """Return the split at an index; categories without rows are on the side with more rows."""
        inside = set(self.present[self.chosen[place] > 0].tolist())
        if 2 * self.chosen[place] @ self.records > self.records.sum():
            inside |= set(self.extent.codes) - set(self.present.tolist())
        first = np.zeros(self.extent.codes[-1] + 1, dtype=bool)
        first[list(inside)] = True
        return self.name, apart(self.extent, inside), first[self.codes]


def offered(
    records: Records, name: str, extent: Condition, rows: Codes
) -> Thresholds | Subsets | None:
    """Return the splits of the rows at a node by an attribute, or None if all have the same value.

    `extent` is the condition on the attribute at the node.
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


def entropy(counts: Floats) -> Floats:
    """Return the entropy of m parts, in nats times records, from class counts, m x classes."""
    records = counts.sum(axis=1)
    logs = np.log(np.where(counts > 0, counts, 1.0))
    return np.asarray(
        records * np.log(np.where(records > 0, records, 1.0)) - (counts * logs).sum(axis=1)
    )
