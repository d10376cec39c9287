"""Decision trees as rules in plain text, in the form of scikit-learn's `export_text`."""

from __future__ import annotations

from collections.abc import Iterator

from shared.errors import OptionError
from shared.learn.tree.model import DecisionTree
from shared.learn.tree.node import Node

_INDENT = "|   "


def write_tree_text(
    tree: DecisionTree,
    *,
    max_depth: int | None = None,
    show_weights: bool = False,
    decimals: int = 2,
) -> str:
    """Return the rules of a tree, a line for each category asked and each leaf.

        |--- tear-production-rate = normal
        |   |--- class: soft

    Args:
        tree: the tree.
        max_depth: leave out the questions below so many others, saying how deep the branch is;
            None writes all.
        show_weights: write before each class the estimated counts of all classes, each with its
            standard error against the population.
        decimals: of these counts.

    Raises:
        OptionError: a negative depth or number of decimals.
    """
    if decimals < 0 or (max_depth is not None and max_depth < 0):
        raise OptionError("A depth and a number of decimals must be 0 or more.", where="max_depth")
    weights = decimals if show_weights else None
    return "\n".join(_lines(tree, tree.root, 0, max_depth, weights)) + "\n"


def _lines(
    tree: DecisionTree, node: Node, depth: int, most: int | None, decimals: int | None
) -> Iterator[str]:
    lead = _INDENT * depth + "|--- "
    if node.split is None:
        yield lead + _leaf(tree, node, decimals)
        return
    if most is not None and depth > most:
        # As there, the depth of a branch counts its nodes and not its questions.
        yield f"{lead}truncated branch of depth {node.depth + 1}"
        return
    attribute = tree.inputs[node.split.attribute]
    for category, child in zip(attribute.categories, node.children, strict=True):
        yield f"{lead}{attribute.name} = {category}"
        yield from _lines(tree, child, depth + 1, most, decimals)


def _leaf(tree: DecisionTree, leaf: Node, decimals: int | None) -> str:
    decided = f"class: {tree.target.categories[leaf.classes.decision]}"
    if decimals is None:
        return decided
    known = zip(leaf.classes.counts, leaf.classes.se_population, strict=True)
    weights = ", ".join(f"{count:.{decimals}f} ± {se:.{decimals}f}" for count, se in known)
    return f"weights: [{weights}] {decided}"
