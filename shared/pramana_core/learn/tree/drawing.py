"""Pictures of decision trees, drawn from left to right, with tests, probabilities and intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pramana_core.learn.tree import words
from pramana_core.learn.tree.model import DecisionTree
from pramana_core.learn.tree.node import Node
from pramana_core.pictures.svg import Layout, colour, short
from pramana_core.pictures.trees import Item, TreePicture, fitting_depth

ROWS = 25
"""The maximum number of rows of a picture; it shows as many top levels of the tree as fit."""

WIDTH = 1180.0
"""The maximum width of a picture of several levels, which is the width of a page."""


def draw_tree(tree: DecisionTree) -> Layout:
    """Return a picture of the top of a tree, with as many levels as fit on a page but at least one.

    A question is drawn as a leaf if the differences between its leaves may be due to errors. In a
    pruned tree, leaves of one class below a question are drawn as one. Hovering shows counts.
    """
    whole, tree = len(tree.leaves), replace(tree, root=distinct(tree.root))
    top: tuple[Node, ...] = (tree.root,)
    depth = fitting_depth(top, lambda nodes: _below(tree, nodes), tree.root.depth, ROWS)
    target = tree.target.name, tree.target.categories
    while True:
        note = _left_out(tree, depth, whole)
        drawn = TreePicture(_item(tree, [tree.root], depth), target, 2, said=note)
        if drawn.width <= WIDTH or depth <= 0:
            break
        depth -= 1
    parts = [*drawn.parts()]
    return Layout(drawn.width, drawn.height, f"Decision tree for {tree.target.name}", parts)


def _below(tree: DecisionTree, nodes: Sequence[Node]) -> list[tuple[Node, ...]]:
    return [tuple(some) for _, some in words.grouped_children(tree, nodes[0])]


def _leaves(node: Node) -> int:
    return sum(1 for below in node if below.split is None)


def distinct(node: Node) -> Node:
    """Return a tree without last questions whose leaves differ only within their errors.

    Two leaves differ if, for some class, the 95 % intervals of its share do not overlap.
    """
    if node.split is None:
        return node
    children = tuple(map(distinct, node.children))
    if any(child.split is not None for child in children):
        return Node(node.classes, node.split, children)
    low = np.max([child.classes.low for child in children], axis=0)
    high = np.min([child.classes.high for child in children], axis=0)
    return Node(node.classes, node.split, children) if (low > high).any() else Node(node.classes)


def _left_out(tree: DecisionTree, depth: int, whole: int) -> str:
    level, drawn = [tree.root], 0
    while drawn <= depth and any(node.split is not None for node in level):
        level, drawn = [child for node in level for child in node.children], drawn + 1
    below = sum(_leaves(node) for node in level if node.split is not None)
    alike = whole - len(tree.leaves)
    parts = []
    if below:
        parts.append(f"The top {drawn} of {tree.root.depth} levels: {below:,} leaves lie below")
    if alike:
        parts.append(f"{alike:,} of {whole:,} leaves do not differ from others beyond their errors")
    return "; ".join(parts)


def _item(tree: DecisionTree, nodes: Sequence[Node], depth: int) -> Item:
    (node, *others) = nodes
    if others:
        return _alike(tree, nodes)
    if node.split is None or depth < 0:
        return _leaf(tree, node)
    whole = tree.root.classes.total
    answers = [
        (
            ", ".join(labels),
            min(max(sum(one.classes.total for one in some) / whole, 0.0), 1.0),
            _item(tree, some, depth - 1),
        )
        for labels, some in words.grouped_children(tree, node)
    ]
    test = words.p_value(node.split) if tree.through is None else "by the model"
    notes = (words.information(node.split, tree), test)
    return Item(node.split.attribute, notes, _details(tree, node), answers=answers)


def _leaf(tree: DecisionTree, node: Node) -> Item:
    classes = node.classes
    code, own = classes.decision, classes.proportions
    alone, interval = "no records of its own", None
    if own is not None:
        low, high = classes.low[code], classes.high[code]
        ends = f"{words.percent(low)} to {words.percent(high)}"
        alone = f"alone {words.percent(own[code])} % ({ends})"
        interval = low, own[code], high
    leaned = words.lean(classes)
    note = f"worth {classes.effective:,.0f} records" + (leaned and f"; {leaned}")
    if node.split is not None:
        note = f"{_leaves(node)} leaves left out"
    details = _details(tree, node)
    return _bar(tree, code, classes.probabilities, (alone, note), details, interval)


def _alike(tree: DecisionTree, leaves: Sequence[Node]) -> Item:
    sizes = np.array([max(leaf.classes.total, 0.0) for leaf in leaves])
    weights = sizes / sizes.sum() if sizes.sum() > 0 else np.full(len(leaves), 1 / len(leaves))
    shares = weights @ np.array([leaf.classes.probabilities for leaf in leaves])
    worth = sum(leaf.classes.effective for leaf in leaves)
    notes = (f"{len(leaves)} answers together", f"worth {worth:,.0f} records")
    details = "\n\n".join(_details(tree, leaf) for leaf in leaves)
    return _bar(tree, leaves[0].classes.decision, shares.tolist(), notes, details, None)


def _bar(
    tree: DecisionTree,
    code: int,
    shares: Sequence[float],
    notes: tuple[str, str],
    details: str,
    interval: tuple[float, float, float] | None,
) -> Item:
    name = f"{short(tree.target.categories[code], 26)} {words.percent(shares[code])} %"
    parts = [(share, colour(at)) for at, share in enumerate(shares)]
    return Item(name, notes, details, parts, colour(code), interval)


def _details(tree: DecisionTree, node: Node) -> str:
    known = node.classes
    lines = [
        f"{category}: {count:,.0f} ± {given:,.0f} (population ± {drawn:,.0f});"
        f" decided by {100 * share:.1f} %"
        for category, count, given, drawn, share in zip(
            tree.target.categories,
            known.counts,
            known.se_records,
            known.se_population,
            known.probabilities,
            strict=True,
        )
    ]
    lines += [words.own_records(tree.target, known), words.lean(known)]
    if node.split is not None:
        information = words.information(node.split, tree)
        lines += [f"information {information}", words.likelihood_test(node.split, tree)]
    return "\n".join(filter(None, lines))
