"""Shared trees: nodes that split by one attribute into parts, and leaves with counts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from pramana_core.errors import LimitExceeded, ModelError
from pramana_core.mixed import CategoricalColumn, Floats, MixedTable
from pramana_core.model_sharing.attributes import TreeSchema
from pramana_core.model_sharing.combine_options import MOST_DEPTH
from pramana_core.model_sharing.conditions import Condition, Interval, Values, part_of, whole

MOST_LEAVES = 1_000_000
"""The maximum number of leaves of a tree."""

MOST_RECORDS = 1e15
"""The largest count; floats cannot add larger counts exactly."""

ROUNDING = 1e-9
"""The relative tolerance for counts that must be equal, because fractions are rounded."""


@dataclass(frozen=True)
class Leaf:
    """A leaf, with its class and the counts of records of that class (`hit`) and others (`miss`).

    `distribution` has the counts of all classes, if known. Counts may be fractions. Raises
    ModelError: a count is negative or too large, counts conflict, or the class does not exist.
    """

    label: int
    hit: float
    miss: float
    distribution: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        for count in (self.hit, self.miss, *(self.distribution or ())):
            if not 0 <= count <= MOST_RECORDS:
                raise ModelError(
                    f"Counts of a leaf must be from 0 to {MOST_RECORDS:g}; one is {count:g}.",
                    where="leaf",
                )
        if self.label < 0 or (
            self.distribution is not None and self.label >= len(self.distribution)
        ):
            raise ModelError(f"The class code of a leaf, {self.label}, is invalid.", where="leaf")
        if self.distribution is not None:
            self._require_consistent(self.distribution)

    def _require_consistent(self, counts: tuple[float, ...]) -> None:
        slack = ROUNDING * max(1.0, self.records)
        if (
            abs(counts[self.label] - self.hit) > slack
            or abs(math.fsum(counts) - self.records) > slack
            or max(counts) > self.hit + slack
        ):
            raise ModelError(
                "The counts of a leaf are inconsistent.",
                where="leaf",
                remedy="hit must be the leaf class's count and the largest of the distribution, and"
                " miss the sum of the other counts.",
            )

    @classmethod
    def of(cls, counts: Floats | tuple[float, ...]) -> Leaf:
        """Return the leaf with these class counts; ties go to the first. Raises ModelError."""
        known = tuple(float(count) for count in counts)
        if not known:
            raise ModelError("A leaf needs the count of at least one class.", where="leaf")
        label = max(range(len(known)), key=known.__getitem__)
        return cls(label, known[label], sum(known[:label] + known[label + 1 :]), known)

    @property
    def records(self) -> float:
        """The number of records in the leaf."""
        return self.hit + self.miss

    def classes(self, number: int) -> Floats:
        """Return the counts of all classes; if unknown, misses are spread evenly (section 3.1)."""
        if self.distribution is not None:
            return np.array(self.distribution, dtype=np.float64)
        found = np.full(number, self.miss / max(number - 1, 1))
        found[self.label] = self.hit
        return found


@dataclass(frozen=True)
class Split:
    """A node that splits by one attribute into two or more parts. Raises ModelError."""

    attribute: str
    parts: tuple[tuple[Condition, Node], ...]

    def __post_init__(self) -> None:
        if len(self.parts) < 2:
            raise ModelError(
                f"A split by {self.attribute!r} must have at least two parts.", where=self.attribute
            )


Node = Leaf | Split


@dataclass(frozen=True)
class Path:
    """A path from the root to a leaf, as one condition for each attribute that splits it."""

    conditions: dict[str, Condition]
    leaf: Leaf


@dataclass(frozen=True)
class SharedTree:
    """A decision tree with a schema; it is a `GlobalModel`.

    Raises ModelError: a split uses an attribute or a category that the schema lacks, its parts do
    not exactly cover its node, or a leaf has more or fewer classes than the schema. LimitExceeded:
    the tree has more than `MOST_DEPTH` splits on a path or more than `MOST_LEAVES` leaves.
    """

    kind: ClassVar = "tree"

    schema: TreeSchema
    root: Node

    def __post_init__(self) -> None:
        leaves = 0
        waiting: list[tuple[Node, dict[str, Condition], int]] = [(self.root, {}, 0)]
        while waiting:
            node, box, depth = waiting.pop()
            if isinstance(node, Leaf):
                leaves += 1
                require_classes(self.schema, node)
                continue
            if depth >= MOST_DEPTH or leaves + len(waiting) > MOST_LEAVES:
                raise LimitExceeded(
                    f"A tree must have at most {MOST_DEPTH} splits on a path and at most"
                    f" {MOST_LEAVES:,} leaves.",
                    where=node.attribute,
                    remedy="Grow or release a smaller tree.",
                )
            _require_cover(self.schema, node, box)
            waiting += [(n, {**box, node.attribute: part}, depth + 1) for part, n in node.parts]

    @cached_property
    def leaves(self) -> tuple[Leaf, ...]:
        """The leaves, in the order of the paths."""
        return tuple(leaves_below(self.root))

    def with_leaves(self, leaves: Iterable[Leaf]) -> SharedTree:
        """Return a tree of the same structure with other leaves, in the order of the paths."""
        return SharedTree(self.schema, _with_leaves(self.root, iter(leaves)))

    @cached_property
    def records(self) -> float:
        """The number of records in all leaves."""
        return math.fsum(leaf.records for leaf in self.leaves)

    @cached_property
    def depth(self) -> int:
        """The maximum number of splits on a path from the root to a leaf."""
        return _depth(self.root)

    def paths(self) -> Iterator[Path]:
        """Yield the paths to all leaves, with the last condition on each attribute."""
        yield from _paths(self.root, {})

    def leaf_of(self, table: MixedTable) -> npt.NDArray[np.intp]:
        """Return the index in `leaves` for each of n records.

        Raises the errors of `TreeSchema.read`.
        """
        records = self.schema.read(table)
        values = {
            column.name: column.codes if isinstance(column, CategoricalColumn) else column.values
            for column in records.columns
        }
        found = np.empty(records.records, dtype=np.intp)
        waiting: list[tuple[Node, npt.NDArray[np.intp]]] = [(self.root, np.arange(records.records))]
        place = 0
        while waiting:
            node, rows = waiting.pop()
            if isinstance(node, Leaf):
                found[rows] = place
                place += 1
                continue
            chosen = part_of([c for c, _ in node.parts], values[node.attribute][rows])
            inside = rows_of(chosen, rows, len(node.parts))
            waiting += [(below, i) for (_, below), i in zip(node.parts, inside, strict=True)][::-1]
        return found

    @cached_property
    def class_counts(self) -> Floats:
        """The counts of all classes in each leaf, leaves x classes, read-only."""
        found = np.array([leaf.classes(self.schema.classes) for leaf in self.leaves])
        found.flags.writeable = False
        return found

    def probabilities(self, table: MixedTable) -> Floats:
        """Return the probability of each class, n x classes, also for leaves without records."""
        counts = self.class_counts
        totals = counts.sum(axis=1, keepdims=True)
        even = np.full_like(counts, 1 / self.schema.classes)
        shares = np.divide(counts, totals, out=even, where=totals > 0)
        found: Floats = shares[self.leaf_of(table)]
        return found

    def predict(self, table: MixedTable) -> npt.NDArray[np.intp]:
        """Return the class codes of n records. Raises the errors of `leaf_of`."""
        labels = np.array([leaf.label for leaf in self.leaves], dtype=np.intp)
        return labels[self.leaf_of(table)]


def leaves_below(node: Node) -> Iterator[Leaf]:
    """Yield the leaves below a node, in the order of the paths."""
    if isinstance(node, Leaf):
        yield node
        return
    for _, below in node.parts:
        yield from leaves_below(below)


def _paths(node: Node, known: dict[str, Condition]) -> Iterator[Path]:
    if isinstance(node, Leaf):
        yield Path(known, node)
        return
    for condition, below in node.parts:
        yield from _paths(below, {**known, node.attribute: condition})


def _depth(node: Node) -> int:
    return 0 if isinstance(node, Leaf) else 1 + max(_depth(below) for _, below in node.parts)


def _with_leaves(node: Node, leaves: Iterator[Leaf]) -> Node:
    if isinstance(node, Leaf):
        return next(leaves)
    return Split(node.attribute, tuple((c, _with_leaves(n, leaves)) for c, n in node.parts))


def rows_of(
    chosen: npt.NDArray[np.intp], rows: npt.NDArray[np.intp], parts: int
) -> list[npt.NDArray[np.intp]]:
    """Return the rows of each part, in order; `chosen` has the index of each row's part."""
    if parts <= 4:
        return [rows[chosen == part] for part in range(parts)]
    ends = np.cumsum(np.bincount(chosen, minlength=parts))[:-1]
    return np.split(rows[np.argsort(chosen, kind="stable")], ends)


def require_classes(schema: TreeSchema, leaf: Leaf) -> None:
    """Raise ModelError unless a leaf has the classes of the schema."""
    if not leaf.label < schema.classes:
        raise ModelError("The class of a leaf is not in the schema.", where="leaf")
    if leaf.distribution is not None and len(leaf.distribution) != schema.classes:
        raise ModelError(
            f"A leaf counts {len(leaf.distribution)} classes; the schema has {schema.classes}.",
            where="leaf",
        )


def _require_cover(schema: TreeSchema, split: Split, box: Mapping[str, Condition]) -> None:
    name = split.attribute
    if name not in schema:
        raise ModelError(f"A split uses {name!r}, which is not an attribute.", where=name)
    extent = box.get(name) or whole(schema, name)
    parts = [part for part, _ in split.parts]
    if not all(isinstance(part, type(extent)) for part in parts):
        raise ModelError(f"A split by {name!r} mixes categories and intervals.", where=name)
    if isinstance(extent, Interval):
        pieces = sorted((p.above, p.up_to) for p in parts if isinstance(p, Interval))
        bounds = [extent.above, *(up_to for _, up_to in pieces)]
        fits = [above for above, _ in pieces] == bounds[:-1] and bounds[-1] == extent.up_to
    else:
        codes = sorted(code for p in parts if isinstance(p, Values) for code in p.codes)
        fits = codes == list(extent.codes)
    if not fits:
        raise ModelError(
            f"The parts of a split by {name!r} overlap, or do not cover its node.", where=name
        )
