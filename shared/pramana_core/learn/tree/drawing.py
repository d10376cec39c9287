"""Pictures of decision trees, drawn from left to right.

A question is a box with its information and its p-value; each category leads along a line, the
wider the more records, to a child. A leaf has a bar of the probabilities that decided its class;
under it what its own records say of that class, a mark within its 95 % interval; and how many
records that are not randomized would say as much, and how far it leans on its parent.
"""

from __future__ import annotations

from functools import partial

from pramana_core.errors import OptionError
from pramana_core.learn.tree.model import DecisionTree
from pramana_core.learn.tree.node import Node
from pramana_core.learn.tree.text import (
    BoundedClasses,
    own_records,
    p_value,
    percent,
    said_of_parent,
    shown_children,
    tested,
    told,
)
from pramana_core.pictures.svg import Layout, colour, short
from pramana_core.pictures.trees import Item, TreePicture, fitting_depth

ROWS = 40
"""Rows of a picture of the top of a tree."""


def draw_tree(tree: DecisionTree, *, max_depth: int | None = None) -> Layout:
    """Return a picture of a tree.

    Of a pruned tree answers that lead to leaves of one class are drawn together. Hovering over a
    node shows its class counts with their standard errors.

    Args:
        tree: the tree.
        max_depth: draw the questions below so many others as leaves that say what they leave out;
            None draws the top: as many levels as have at most `ROWS` rows, and one in any case.

    Raises OptionError.
    """
    if max_depth is not None and max_depth < 0:
        raise OptionError(f"max_depth must be 0 or more, not {max_depth}.", where="max_depth")
    depth = max_depth
    if depth is None:
        depth = fitting_depth(tree.root, partial(_below, tree), tree.root.depth, ROWS)
    target = tree.target.name, tree.target.categories
    drawn = TreePicture(_item(tree, tree.root, depth), target, 2, said=_left_out(tree, depth))
    parts = [*drawn.parts()]
    return Layout(drawn.width, drawn.height, f"Decision tree for {tree.target.name}", parts)


def _below(tree: DecisionTree, node: Node) -> list[Node]:
    return [child for _, child in shown_children(tree, node)]


def _leaves(node: Node) -> int:
    return sum(1 for below in node if below.split is None)


def _left_out(tree: DecisionTree, depth: int) -> str:
    """Say how much lies below the levels that are drawn; "" if nothing does."""
    level, drawn = [tree.root], 0
    while drawn <= depth and any(node.split is not None for node in level):
        level, drawn = [child for node in level for child in _below(tree, node)], drawn + 1
    below = sum(_leaves(node) for node in level if node.split is not None)
    if not below:
        return ""
    return (
        f"The top {drawn} of {tree.root.depth} levels of questions:"
        f" {below:,} of {len(tree.leaves):,} leaves lie below"
    )


def _item(tree: DecisionTree, node: Node, depth: int) -> Item:
    """Return a node with the questions down to a depth as it is drawn."""
    if node.split is not None and depth >= 0:
        whole = tree.root.classes.total
        answers = [
            (
                ", ".join(labels),
                min(max(child.classes.total / whole, 0.0), 1.0),
                _item(tree, child, depth - 1),
            )
            for labels, child in shown_children(tree, node)
        ]
        test = p_value(node.split) if tree.through is None else "by the model"
        notes = (told(node.split, tree), test)
        return Item(node.split.attribute, notes, _details(tree, node), answers=answers)
    classes = node.classes
    code, own = classes.decision, classes.proportions
    itself = "no records of its own"
    if own is not None:
        ends = f"{percent(classes.low[code])} to {percent(classes.high[code])}"
        itself = f"by itself {percent(own[code])} % ({ends})"
    leaned = said_of_parent(classes)
    note = f"worth {classes.effective:,.0f} records" + (leaned and f"; {leaned}")
    if node.split is not None:
        note = f"{_leaves(node)} leaves left out"
    return Item(
        f"{short(tree.target.categories[code], 26)} {percent(classes.probabilities[code])} %",
        (itself, note),
        _details(tree, node),
        [(share, colour(at)) for at, share in enumerate(classes.probabilities)],
        colour(code),
        None if own is None else (classes.low[code], own[code], classes.high[code]),
    )


def _details(tree: DecisionTree, node: Node) -> str:
    """Return what hovering shows: counts with errors, intervals, and of a question its test."""
    known = node.classes
    most = "at most " if isinstance(known, BoundedClasses) else ""
    lines = [
        f"{category}: {count:,.0f} ± {most}{given:,.0f} (population ± {most}{drawn:,.0f});"
        f" decided by {percent(share, 1)} %"
        for category, count, given, drawn, share in zip(
            tree.target.categories,
            known.counts,
            known.se_records,
            known.se_population,
            known.probabilities,
            strict=True,
        )
    ]
    lines += [own_records(tree.target, known), said_of_parent(known)]
    if node.split is not None:
        lines += [f"tells {told(node.split, tree)}", tested(node.split, tree)]
    return "\n".join(filter(None, lines))
