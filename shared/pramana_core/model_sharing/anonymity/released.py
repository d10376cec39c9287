"""What of a pruned tree leaves its owner: hits and misses, or the counts of all classes."""

from __future__ import annotations

from dataclasses import replace

from pramana_core.errors import ModelError, OptionError
from pramana_core.model_sharing.core.tree import Leaf, Node, SharedTree, Split

TELLS = ("hits", "distribution")


def released_form(tree: SharedTree, tell: str = "hits") -> SharedTree:
    """Return a tree whose leaves tell only what is released.

    Args:
        tree: the tree, pruned.
        tell: "hits", the hits and misses of each path, as in Sharkey (section 2.1); or
            "distribution", how many records of each class it has. The second lets a miner spread
            the misses as they are, and tells which classes a path has not.

    Raises:
        OptionError: there is no such form.
        ModelError: distributions are asked for, and a leaf does not have its own.
    """
    if tell not in TELLS:
        raise OptionError(f"tell must be one of {', '.join(TELLS)}, not {tell!r}.", where="tell")
    return SharedTree(tree.schema, _told(tree.root, tell))


def _told(node: Node, tell: str) -> Node:
    if isinstance(node, Split):
        return Split(node.attribute, tuple((c, _told(below, tell)) for c, below in node.parts))
    return _told_leaf(node, tell)


def _told_leaf(leaf: Leaf, tell: str) -> Leaf:
    if tell == "hits":
        return replace(leaf, distribution=None)
    if leaf.distribution is None:
        raise ModelError(
            "The leaves of this tree do not all tell the counts of their classes.",
            where="tell",
            remedy="Prune with exact counts, or tell hits and misses.",
        )
    return leaf
