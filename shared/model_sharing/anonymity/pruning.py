"""Pruning until every path meets a requirement (section 3.2, whose figure 4 is lost)."""

from __future__ import annotations

import numpy as np

from shared.errors import RequirementUnmet
from shared.model_sharing.anonymity.requirements import Requirement
from shared.model_sharing.core.tree import Leaf, Node, SharedTree, Split


def prune(tree: SharedTree, requirement: Requirement) -> SharedTree:
    """Return a tree cut back so that every path meets a requirement.

    Raises:
        RequirementUnmet: nothing but the root would be left, or not even it meets the requirement.
    """
    root = _pruned(tree.root, requirement, tree.schema.classes)
    if not isinstance(root, Split):
        raise RequirementUnmet(
            "Pruned until it is anonymous enough, nothing is left of the tree but its root.",
            remedy="Ask for less (a smaller k or l, a larger c), or learn from more records.",
        )
    return SharedTree(tree.schema, root)


def _pruned(node: Node, requirement: Requirement, classes: int) -> Node:
    if isinstance(node, Leaf):
        return node
    parts = tuple((c, _pruned(below, requirement, classes)) for c, below in node.parts)
    if all(isinstance(b, Split) or requirement.met_by(b) for _, b in parts):
        return Split(node.attribute, parts)
    return Leaf.of(np.sum([_counts(below, classes) for _, below in parts], axis=0))


def _counts(node: Node, classes: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    if isinstance(node, Leaf):
        return node.classes(classes)
    found: np.ndarray[tuple[int], np.dtype[np.float64]] = np.sum(
        [_counts(below, classes) for _, below in node.parts], axis=0
    )
    return found
