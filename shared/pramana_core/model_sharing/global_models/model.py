"""What a global model is: it tells the class of records of a schema, and is plain data.

Also here:

* How good a global model is, and how alike two are (Sharkey 2008, section 4).
* How many people stand behind what a model of pseudo-records says, and how sure it is of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from pramana_core.errors import EmptyTable, ModelError, TableError
from pramana_core.mixed import Floats, MixedTable
from pramana_core.model_sharing.attributes import CategoricalAttribute, TreeSchema
from pramana_core.model_sharing.growing import impurity
from pramana_core.model_sharing.tree import Condition, Interval, Leaf, Node, Path, SharedTree, whole
from pramana_core.ties import first_largest_of_rows

Codes = npt.NDArray[np.intp]


class GlobalModel(Protocol):
    """A model that tells the class of records, and how probable each class is."""

    @property
    def kind(self) -> str:
        """Its name in options and documents."""

    @property
    def schema(self) -> TreeSchema:
        """The class and the attributes."""

    def predict(self, table: MixedTable) -> Codes:
        """Return the class code of each of n records.

        Raises:
            MissingColumn, TableError, UnknownCategory: as `TreeSchema.read`.
        """

    def probabilities(self, table: MixedTable) -> Floats:
        """Return the probability of each class of n records, n x classes; raises as `predict`."""


@dataclass(frozen=True)
class TreeModel:
    """A single tree."""

    tree: SharedTree
    kind: Literal["tree"] = "tree"

    @property
    def schema(self) -> TreeSchema:
        """The class and the attributes."""
        return self.tree.schema

    def predict(self, table: MixedTable) -> Codes:
        """Return the class code of each of n records; see `GlobalModel`."""
        return self.tree.predict(table)

    def probabilities(self, table: MixedTable) -> Floats:
        """Return the probability of each class, n x classes; see `GlobalModel`."""
        return self.tree.probabilities(table)


@dataclass(frozen=True)
class ForestModel:
    """Trees whose probabilities are averaged; the most probable class is predicted.

    Raises:
        ModelError: there are no trees, or they are of different schemas.
    """

    trees: tuple[SharedTree, ...]
    kind: Literal["forest"] = "forest"

    def __post_init__(self) -> None:
        if not self.trees or any(tree.schema != self.schema for tree in self.trees):
            raise ModelError(
                "A forest must have at least one tree, and all of one schema.", where="trees"
            )

    @property
    def schema(self) -> TreeSchema:
        """The class and the attributes."""
        return self.trees[0].schema

    def predict(self, table: MixedTable) -> Codes:
        """Return the class code of each of n records; of a tie the first. See `GlobalModel`."""
        return likeliest(self.probabilities(table))

    def probabilities(self, table: MixedTable) -> Floats:
        """Return the probability of each class, n x classes; see `GlobalModel`."""
        records = self.schema.read(table)
        total = np.zeros((records.records, self.schema.classes))
        for tree in self.trees:
            total += tree.probabilities(records)
        return total / len(self.trees)


@dataclass(frozen=True)
class RuleModel:
    """A conjunctive rule: what is known of the records that meet all conditions, and of the others.

    Attributes:
        conditions: the condition on each attribute that is asked for; a record must meet all.
        covered: the counts of all classes among the records that the rule was learned from and
            that meet it.
        others: those among the rest.

    Raises:
        ModelError: counts are negative or not of all classes, there are none, or a condition is on
            no attribute.
    """

    schema: TreeSchema
    conditions: tuple[tuple[str, Condition], ...]
    covered: tuple[float, ...]
    others: tuple[float, ...]
    kind: Literal["conjunctive"] = "conjunctive"

    def __post_init__(self) -> None:
        counts = (*self.covered, *self.others)
        if not all(len(c) == self.schema.classes for c in (self.covered, self.others)):
            raise ModelError("A rule must count all classes.", where="covered")
        if not all(0 <= count < np.inf for count in counts) or not sum(counts):
            raise ModelError(
                "The counts of a rule must not be negative, and there must be some.",
                where="covered",
            )
        asked = [name for name, _ in self.conditions]
        if len(set(asked)) < len(asked) or not set(asked) <= set(self.schema.names):
            raise ModelError(
                "The conditions of a rule must be on attributes of the schema, one on each.",
                where="conditions",
            )

    def covers(self, table: MixedTable) -> npt.NDArray[np.bool_]:
        """Return which of n records meet all conditions; see `GlobalModel` for what it raises."""
        return meeting(self.schema.read(table), self.conditions)

    def predict(self, table: MixedTable) -> Codes:
        """Return the class code of each of n records; of a tie the first. See `GlobalModel`."""
        return likeliest(self.probabilities(table))

    def probabilities(self, table: MixedTable) -> Floats:
        """Return the probability of each class, n x classes; see `GlobalModel`."""
        covered, others = np.array(self.covered), np.array(self.others)
        if not covered.sum():
            covered = others
        if not others.sum():
            others = covered
        shares = np.array([others / others.sum(), covered / covered.sum()])
        found: Floats = shares[self.covers(table).astype(int)]
        return found


def meeting(
    records: MixedTable, conditions: tuple[tuple[str, Condition], ...]
) -> npt.NDArray[np.bool_]:
    """Return which of n records, as a schema reads them, meet all of some conditions."""
    found = np.ones(records.records, dtype=bool)
    for name, condition in conditions:
        found &= condition.holds(records[name])
    return found


def likeliest(probabilities: Floats) -> Codes:
    """Return the most probable class of each of n records; of a tie the first."""
    return first_largest_of_rows(probabilities)


# How good a global model is, and how alike two are (Sharkey 2008, section 4).


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
    information = dict.fromkeys(trees[0].schema.names, 0.0)
    for tree in trees:
        share = 1 / (len(trees) * tree.records) if tree.records else 0.0
        _add_told(tree.root, tree.schema.classes, share, information)
    return information


def _add_told(node: Node, classes: int, share: float, information: dict[str, float]) -> Floats:
    """Add what a node and those below it tell; return its counts of classes."""
    if isinstance(node, Leaf):
        return node.classes(classes)
    parts = np.array([_add_told(below, classes, share, information) for _, below in node.parts])
    counts: Floats = parts.sum(axis=0)
    lost = float(entropy_bits(counts[None, :])[0] - entropy_bits(parts).sum())
    information[node.attribute] += share * max(lost, 0.0)
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


# How many people stand behind what a model of pseudo-records says, and how sure it is of it.

_AT_ONCE = 65_536
"""Pseudo-records whose probabilities are kept at the same time."""


def counting_people(
    model: GlobalModel, table: MixedTable, known: Callable[[MixedTable], Floats], people: float
) -> GlobalModel:
    """Return a model of pseudo-records that counts people in its leaves, by what is known of them.

    A tree learned from pseudo-records that are each of their likeliest class is sure of all that it
    says, and the more of them are drawn the more they seem to be. Here a leaf says the mean of what
    is known of its pseudo-records, and counts the people for whom these stand.

    Args:
        model: what was learned from the records; models other than trees and rules stay as they
            are.
        table: n pseudo-records with their attributes and class.
        known: returns the probability of each class of some of them, by class.
        people: for how many they stand together.
    """
    trees = _trees_of(model)
    counts = [np.zeros((len(tree.leaves), tree.schema.classes)) for tree in trees]
    rule = np.zeros((2, model.schema.classes))
    each = people / max(table.records, 1)
    for start in range(0, table.records, _AT_ONCE):
        some = table.rows(np.arange(start, min(start + _AT_ONCE, table.records)))
        records, shares = model.schema.read(some), each * known(some)
        for tree, own in zip(trees, counts, strict=True):
            np.add.at(own, tree.leaf_of(records), shares)
        if isinstance(model, RuleModel):
            np.add.at(rule, model.covers(records).astype(int), shares)
    if isinstance(model, RuleModel):
        others, covered = (tuple(row) for row in rule.tolist())
        return replace(model, covered=covered, others=others)
    again = tuple(t.with_leaves(map(Leaf.of, own)) for t, own in zip(trees, counts, strict=True))
    if isinstance(model, ForestModel):
        return ForestModel(again)
    return TreeModel(again[0]) if again else model


def _trees_of(model: GlobalModel) -> tuple[SharedTree, ...]:
    if isinstance(model, ForestModel):
        return model.trees
    return (model.tree,) if isinstance(model, TreeModel) else ()
