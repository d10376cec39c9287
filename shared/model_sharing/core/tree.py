"""Shared trees: nodes that split by one attribute into some parts, and leaves with counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shared.errors import ModelError
from shared.mixed.table import Floats, MixedTable
from shared.model_sharing.core.attributes import CategoricalAttribute, TreeSchema
from shared.model_sharing.core.conditions import Condition, Interval, Values

MOST_DEPTH = 200
"""Trees deeper than this are refused: what walks through them may nest so deep."""


@dataclass(frozen=True)
class Leaf:
    """A leaf: its class, how many records are of it (`hit`) and of others (`miss`) (section 2.1).

    Counts may be fractions: those that are estimated, or noised. `distribution` has the counts of
    all classes where they are known: `hit` is then that of `label`, and `miss` the sum of the rest.
    """

    label: int
    hit: float
    miss: float
    distribution: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if not (0 <= self.hit < np.inf and 0 <= self.miss < np.inf):
            raise ModelError(f"Counts must not be negative; a leaf has {self.hit}, {self.miss}.")

    @classmethod
    def of(cls, counts: Floats | tuple[float, ...]) -> Leaf:
        """Return the leaf of records whose classes are counted; of a tie the first class."""
        known = tuple(float(count) for count in counts)
        label = int(np.argmax(known))
        return cls(label, known[label], sum(known) - known[label], known)

    @property
    def records(self) -> float:
        """How many records it has."""
        return self.hit + self.miss

    def classes(self, number: int) -> Floats:
        """Return the counts of all classes: as known, or the misses spread evenly (section 3.1)."""
        if self.distribution is not None:
            return np.array(self.distribution, dtype=np.float64)
        found = np.full(number, self.miss / max(number - 1, 1))
        found[self.label] = self.hit
        return found


@dataclass(frozen=True)
class Split:
    """A node that asks for one attribute: its parts, whose conditions cover it without overlap."""

    attribute: str
    parts: tuple[tuple[Condition, Node], ...]


Node = Leaf | Split


@dataclass(frozen=True)
class Path:
    """The way from the root to a leaf: a condition on each attribute that was asked for."""

    conditions: dict[str, Condition]
    leaf: Leaf


@dataclass(frozen=True)
class SharedTree:
    """A decision tree over a schema.

    Raises:
        ModelError: a split asks for an attribute that the schema does not have, its parts overlap
            or leave something out of what reaches it, or it is too deep.
    """

    schema: TreeSchema
    root: Node

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The leaves, in the order of the paths."""
        return tuple(path.leaf for path in self.paths())

    @property
    def records(self) -> float:
        """How many records its leaves have together."""
        return sum(leaf.records for leaf in self.leaves)

    @property
    def depth(self) -> int:
        """The most splits on a way from the root to a leaf."""
        deepest, waiting = 0, [(self.root, 0)]
        while waiting:
            node, depth = waiting.pop()
            deepest = max(deepest, depth)
            if isinstance(node, Split):
                waiting += [(below, depth + 1) for _, below in node.parts]
        return deepest

    def paths(self) -> Iterator[Path]:
        """Return the ways to all leaves; of an attribute asked for twice the narrowest condition."""
        waiting: list[tuple[Node, dict[str, Condition]]] = [(self.root, {})]
        while waiting:
            node, known = waiting.pop()
            if isinstance(node, Leaf):
                yield Path(known, node)
                continue
            for condition, below in reversed(node.parts):
                waiting.append((below, {**known, node.attribute: condition}))

    def leaf_of(self, table: MixedTable) -> npt.NDArray[np.intp]:
        """Return in which leaf each record is: n places in `leaves`.

        Raises:
            MissingColumn, TableError, UnknownCategory: as `TreeSchema.read`.
        """
        records = self.schema.read(table)
        found = np.full(records.records, -1, dtype=np.intp)
        waiting: list[tuple[Node, npt.NDArray[np.intp]]] = [(self.root, np.arange(records.records))]
        place = 0
        while waiting:
            node, rows = waiting.pop()
            if isinstance(node, Leaf):
                found[rows] = place
                place += 1
                continue
            column = records[node.attribute]
            here = column.rows(rows)
            for condition, below in reversed(node.parts):
                waiting.append((below, rows[condition.holds(here)]))
        return found

    def class_counts(self) -> Floats:
        """Return the counts of all classes in each leaf: leaves x classes."""
        return np.array([leaf.classes(self.schema.classes) for leaf in self.leaves])

    def probabilities(self, table: MixedTable) -> Floats:
        """Return the probability of each class of n records: n x classes.

        A leaf without records gives each class the same.
        """
        counts = self.class_counts()
        totals = counts.sum(axis=1, keepdims=True)
        even = np.full_like(counts, 1 / self.schema.classes)
        shares = np.divide(counts, totals, out=even, where=totals > 0)
        found: Floats = shares[self.leaf_of(table)]
        return found

    def predict(self, table: MixedTable) -> npt.NDArray[np.intp]:
        """Return the class code of each of n records."""
        labels = np.array([leaf.label for leaf in self.leaves], dtype=np.intp)
        return labels[self.leaf_of(table)]


def whole(schema: TreeSchema, name: str) -> Condition:
    """Return the condition that always holds of an attribute. Raises MissingColumn."""
    attribute = schema[name]
    if isinstance(attribute, CategoricalAttribute):
        return Values(tuple(range(len(attribute.categories))))
    return Interval()
