"""How good a global model is, and how alike two are (Sharkey 2008, section 4)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pramana_core.errors import EmptyTable, ModelError, TableError
from pramana_core.mixed.table import Floats, MixedTable
from pramana_core.model_sharing.core.attributes import CategoricalAttribute, TreeSchema
from pramana_core.model_sharing.core.conditions import Condition, Interval
from pramana_core.model_sharing.core.tree import Leaf, Node, Path, SharedTree, whole
from pramana_core.model_sharing.global_models.model import Codes, GlobalModel
from pramana_core.model_sharing.growing.allowed import impurity


@dataclass(frozen=True)
class Share:
    """A share of records, with its standard error sqrt(p (1 - p) / n) as of independent records."""

    value: float
    records: int

    @property
    def standard_error(self) -> float:
        """The standard error against the population that the records are from."""
        return math.sqrt(self.value * (1 - self.value) / self.records)


def accuracy(model: GlobalModel, table: MixedTable, classes: Codes) -> Share:
    """Return the share of n records whose class a model tells.

    Args:
        model: the model.
        table: the attributes of the records.
        classes: their class codes, n.

    Raises:
        EmptyTable: there are no records.
        TableError: there are not as many classes as records.
        MissingColumn, UnknownCategory: as `TreeSchema.read`.
    """
    _require_records(table)
    if len(classes) != table.records:
        raise TableError(f"There are {len(classes)} classes of {table.records} records.")
    return Share(float((model.predict(table) == classes).mean()), table.records)


def class_match(one: GlobalModel, other: GlobalModel, table: MixedTable) -> Share:
    """Return the share of records that two models predict alike.

    Raises:
        ModelError: they tell different classes.
        EmptyTable: there are no records.
        MissingColumn, TableError, UnknownCategory: as `TreeSchema.read`.
    """
    if one.schema.target != other.schema.target:
        raise ModelError("The two models do not tell the same classes.", where="target")
    _require_records(table)
    return Share(float((one.predict(table) == other.predict(table)).mean()), table.records)


def path_match(one: SharedTree, other: SharedTree, *, with_class: bool = False) -> float:
    """Return the share of paths that two trees have in common: those of both among those of either.

    A path is here the conjunction of its conditions, without its counts; the paper leaves open
    whether its class belongs to it. Ends of intervals must be equal as numbers, so that trees on
    numbers seldom share paths.

    Args:
        one: a tree.
        other: another; attributes and categories are compared by name.
        with_class: whether paths of the same conditions and different classes are different.
    """
    ours, theirs = (
        {_labels(tree.schema, p, with_class) for p in tree.paths()} for tree in (one, other)
    )
    return len(ours & theirs) / len(ours | theirs)


def told_by_attribute(trees: Sequence[SharedTree]) -> dict[str, float]:
    """Return what the splits by each attribute tell of the class, in bits for each record.

    The entropy of the classes that a split lowers among the records that it parts, by the counts of
    the leaves, added up over the splits of a tree; the mean over the trees. Those of one tree add
    up to what it tells of the class in all.

    Args:
        trees: at least one, all of one schema.
    """
    told = dict.fromkeys(trees[0].schema.names, 0.0)
    for tree in trees:
        share = 1 / (len(trees) * tree.records) if tree.records else 0.0
        _add_told(tree.root, tree.schema.classes, share, told)
    return told


def _add_told(node: Node, classes: int, share: float, told: dict[str, float]) -> Floats:
    """Add what a node and those below it tell; return its counts of classes."""
    if isinstance(node, Leaf):
        return node.classes(classes)
    parts = np.array([_add_told(below, classes, share, told) for _, below in node.parts])
    counts: Floats = parts.sum(axis=0)
    lost = float(entropy_bits(counts[None, :])[0] - entropy_bits(parts).sum())
    told[node.attribute] += share * max(lost, 0.0)
    return counts


def entropy_bits(counts: Floats) -> Floats:
    """Return the entropy of the classes in each of m rows of counts, times its records, in bits."""
    return impurity(counts, "entropy") / math.log(2)


def _labels(schema: TreeSchema, path: Path, with_class: bool) -> frozenset[object]:
    """Return a path by names; conditions that always hold are none."""
    asked: set[object] = {
        (name, _named(schema, name, condition))
        for name, condition in path.conditions.items()
        if condition != whole(schema, name)
    }
    if with_class:
        asked.add(schema.target.categories[path.leaf.label])
    return frozenset(asked)


def _named(schema: TreeSchema, name: str, condition: Condition) -> object:
    attribute = schema[name]
    if isinstance(condition, Interval) or not isinstance(attribute, CategoricalAttribute):
        return condition
    return frozenset(attribute.categories[code] for code in condition.codes)


def _require_records(table: MixedTable) -> None:
    if not table.records:
        raise EmptyTable("There are no records to measure a model by.")
