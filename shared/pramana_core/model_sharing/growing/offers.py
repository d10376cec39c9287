"""The splits that an attribute offers: numbers at each threshold, categories by their subsets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from pramana_core.mixed.table import Floats
from pramana_core.model_sharing.growing.records import Codes, Records
from pramana_core.model_sharing.tree import Condition, Interval, Leaf, Node, Split, Values

# Trees of questions with two answers, and the shared tree that they make.
#
# Questions for one attribute that follow one another become a single split of several parts: two
# questions for a category are one split into three, as in the paper's figure 2.


@dataclass(frozen=True)
class Question:
    """A question for one attribute: the two parts of what reaches it, and what comes after them."""

    attribute: str
    sides: tuple[tuple[Condition, Asked], tuple[Condition, Asked]]


Asked = Leaf | Question


def leaves_of(node: Asked) -> Iterator[Leaf]:
    """Return the leaves below a node."""
    if isinstance(node, Leaf):
        yield node
        return
    for _, below in node.sides:
        yield from leaves_of(below)


def contracted(node: Asked) -> Node:
    """Return the node that questions make: those of one attribute in a row are one split.

    Its parts are in order: intervals ascend, and sets of categories by their first.
    """
    if isinstance(node, Leaf):
        return node
    parts: list[tuple[Condition, Node]] = []
    waiting = list(node.sides)
    while waiting:
        condition, below = waiting.pop()
        if isinstance(below, Question) and below.attribute == node.attribute:
            waiting += below.sides
        else:
            parts.append((condition, contracted(below)))
    return Split(node.attribute, tuple(sorted(parts, key=lambda part: _rank(part[0]))))


def halves(extent: Interval, threshold: float) -> tuple[Interval, Interval]:
    """Return the numbers of an interval up to a threshold, and those above."""
    return Interval(extent.above, threshold), Interval(threshold, extent.up_to)


def apart(extent: Values, codes: set[int]) -> tuple[Values, Values]:
    """Return the categories of a set that are among some codes, and those that are not."""
    inside = tuple(code for code in extent.codes if code in codes)
    return Values(inside), Values(tuple(code for code in extent.codes if code not in codes))


def _rank(condition: Condition) -> float:
    return condition.above if isinstance(condition, Interval) else condition.codes[0]


# Which categories a question may part from the others.

ALL_OF = 8
"""Of so many categories all subsets are tried: 127 splits."""


def subsets(table: Floats) -> Floats:
    """Return subsets of m categories, each of which is a split into it and the others.

    Of few categories they are all. Of many they are each alone, and the first 1 .. m - 1 of them in
    the order of the share of each class; for two classes the best split by entropy or by Gini's
    index is among these (Breiman et al. 1984, section 4.2.2).

    Args:
        table: the counts of the classes of each category: m x classes.

    Returns:
        Zeros and ones: splits x m; the first category, of few, is never in the subset.
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
