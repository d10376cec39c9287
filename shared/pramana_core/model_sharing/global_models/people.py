"""How many people stand behind what a model of pseudo-records says, and how sure it is of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from pramana_core.mixed.table import Floats, MixedTable
from pramana_core.model_sharing.core.tree import Leaf, Node, SharedTree, Split
from pramana_core.model_sharing.global_models.model import (
    ForestModel,
    GlobalModel,
    RuleModel,
    TreeModel,
)

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
    again = tuple(_counted(tree, own) for tree, own in zip(trees, counts, strict=True))
    if isinstance(model, ForestModel):
        return ForestModel(again)
    return TreeModel(again[0]) if again else model


def _trees_of(model: GlobalModel) -> tuple[SharedTree, ...]:
    if isinstance(model, ForestModel):
        return model.trees
    return (model.tree,) if isinstance(model, TreeModel) else ()


def _counted(tree: SharedTree, counts: Floats) -> SharedTree:
    """Return a tree with other counts in its leaves, in the order of `tree.leaves`."""
    leaves = iter(Leaf.of(row) for row in counts)

    def again(node: Node) -> Node:
        if isinstance(node, Leaf):
            return next(leaves)
        return Split(node.attribute, tuple((part, again(below)) for part, below in node.parts))

    return SharedTree(tree.schema, again(tree.root))
