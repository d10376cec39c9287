"""Noise on the counts of a tree whose structure is public, and what is made of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pramana_core.errors import ModelError
from pramana_core.mixed.table import Floats, MixedTable
from pramana_core.model_sharing.core.tree import Leaf, Node, SharedTree, Split
from pramana_core.model_sharing.private.noise import Noise
from pramana_core.model_sharing.private.options import PrivateTree, Spent, require_epsilon


def noise_counts(tree: SharedTree, epsilon: float, noise: Noise) -> PrivateTree:
    """Return a tree with discrete Laplace noise on the counts of all classes in its leaves.

    It is differentially private only if its structure is public: drawn at random, given by others,
    or bounded by an epsilon of its own (which then adds). A structure learned from the records
    tells of them whatever is done to the counts.

    Replacing a record changes two counts by 1 each, or none. With noise of scale 2 / epsilon on
    each, the probability of no outcome changes by more than a factor e^epsilon. What is made of
    the noised counts looks at nothing else, so it costs nothing: negative ones become 0.

    Args:
        tree: the tree; its leaves count all classes (`count_records`).
        epsilon: for the replacement of one record, 1e-6 to 1000.
        noise: draws the noise.

    Raises:
        OptionError: epsilon is out of its range.
        ModelError: a leaf does not count all classes, or not in whole numbers.
    """
    require_epsilon(epsilon)
    return noised(tree, epsilon, noise)


def noised(tree: SharedTree, epsilon: float, noise: Noise) -> PrivateTree:
    """Return what `noise_counts` does, for a part of an epsilon that was checked as a whole."""
    leaves = tree.leaves
    counts = np.array([leaf.distribution or (np.nan,) * tree.schema.classes for leaf in leaves])
    if not np.array_equal(counts, np.rint(counts)):
        raise ModelError(
            "Noise can be put on a tree whose leaves count the records of all classes only.",
            where="counts",
            remedy="Count the owner's records in it first (count_records).",
        )
    scale = 2 / epsilon
    drawn = np.array([[count + noise.laplace(scale) for count in row] for row in counts])
    spent = (Spent("the counts of the leaves", epsilon),)
    return PrivateTree(with_counts(tree, drawn), epsilon, spent, drawn)


def count_records(tree: SharedTree, table: MixedTable, classes: npt.NDArray[np.intp]) -> SharedTree:
    """Return a tree of the same structure with the counts of other records in its leaves.

    Args:
        tree: gives the structure.
        table: the attributes of n records.
        classes: their class codes, n.

    Raises:
        MissingColumn, TableError, UnknownCategory: as `TreeSchema.read`.
    """
    counts = np.zeros((len(tree.leaves), tree.schema.classes))
    np.add.at(counts, (tree.leaf_of(table), classes), 1)
    return with_counts(tree, counts)


def with_counts(tree: SharedTree, counts: Floats) -> SharedTree:
    """Return a tree of the same structure with other counts in its leaves: leaves x classes.

    Negative counts become 0. A leaf that then has none tells the class of the nearest node above
    it that has some, all of whose counts are added up before.
    """
    kept: Floats = np.maximum(counts, 0)
    return SharedTree(tree.schema, _counted(tree.root, kept, 0))


def _counted(node: Node, counts: Floats, label: int) -> Node:
    """Return a node with counts in its leaves, given the class of the node above it."""
    told = counts.sum(axis=0)
    if told.any():
        label = int(told.argmax())
    if isinstance(node, Leaf):
        hit = float(told[label])
        return Leaf(label, hit, float(told.sum()) - hit, tuple(map(float, told)))
    parts, first = [], 0
    for condition, below in node.parts:
        last = first + _leaves(below)
        parts.append((condition, _counted(below, counts[first:last], label)))
        first = last
    return Split(node.attribute, tuple(parts))


def _leaves(node: Node) -> int:
    waiting, found = [node], 0
    while waiting:
        here = waiting.pop()
        if isinstance(here, Leaf):
            found += 1
        else:
            waiting += [below for _, below in here.parts]
    return found
