"""Decision trees as rules in plain text, in the form of scikit-learn's `export_text`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from pramana_core.errors import OptionError
from pramana_core.learn.tree.exchange.words import (
    decided,
    own_records,
    said_of_model,
    said_of_parent,
    shown_children,
    tested,
    told,
)
from pramana_core.learn.tree.model import DecisionTree
from pramana_core.learn.tree.node import Node

_INDENT = "|   "

_WIDTH, _NARROW = 98, 40
"""Columns of a line, and the fewest left to the words of a deep node."""


def write_tree_text(
    tree: DecisionTree,
    *,
    max_depth: int | None = None,
    show_weights: bool = False,
    decimals: int = 0,
) -> str:
    """Return the rules of a tree, a line for each category asked and each leaf.

        |--- tear-production-rate = normal
        |   |--- class: soft

    Of a pruned tree answers that lead to leaves of one class stand in one line. With weights each
    has its own; a line before each question says what its attribute tells of the class, with the
    95 % interval and the test that it passed; and a leaf has two lines more: the probabilities that
    decided its class and how far they lean on its parent's, and what its own records say, with
    95 % intervals against the population. See `words`. A tree through a model begins by saying so.

    Args:
        tree: the tree.
        max_depth: leave out the questions below so many others, saying how deep the branch is;
            None writes all.
        show_weights: write what decided each question and each class.
        decimals: of the percentages.

    Raises:
        OptionError: a negative depth or number of decimals.
    """
    if decimals < 0 or (max_depth is not None and max_depth < 0):
        raise OptionError("A depth and a number of decimals must be 0 or more.", where="max_depth")
    weights = decimals if show_weights else None
    lines = list(_lines(tree, tree.root, 0, max_depth, weights))
    if show_weights and tree.through is not None:
        lines = [*textwrap.wrap(said_of_model(tree), _WIDTH), "", *lines]
    return "\n".join(lines) + "\n"


def _lines(
    tree: DecisionTree, node: Node, depth: int, most: int | None, decimals: int | None
) -> Iterator[str]:
    lead = _INDENT * depth + "|--- "
    if node.split is None:
        yield f"{lead}class: {tree.target.categories[node.classes.decision]}"
        if decimals is not None:
            yield from _weights(tree, node, _INDENT * depth + "|      ", decimals)
        return
    if most is not None and depth > most:
        # As there, the depth of a branch counts its nodes and not its questions.
        yield f"{lead}truncated branch of depth {node.depth + 1}"
        return
    attribute = tree.inputs[node.split.attribute]
    if decimals is not None:
        said = "; ".join(filter(None, (told(node.split, tree), tested(node.split, tree))))
        yield from _wrapped(f"{_INDENT * depth}|  ", f"{attribute.name} tells {said}")
        each = zip(attribute.categories, node.children, strict=True)
        answers: list[tuple[tuple[str, ...], Node]] = [((label,), child) for label, child in each]
    else:
        answers = shown_children(tree, node)
    for categories, child in answers:
        bars = _INDENT * depth + "|   "
        said = f"{attribute.name} = {', '.join(categories)}"
        first, *more = _cut(said, max(_WIDTH - len(lead), _NARROW))
        yield f"{lead}{first}"
        yield from (f"{bars}  {line}" for line in more)
        yield from _lines(tree, child, depth + 1, most, decimals)


def _cut(said: str, width: int) -> list[str]:
    """Return what is said in lines of a width, names whole; as it is where it fits into one."""
    if len(said) <= width:
        return [said]
    return textwrap.wrap(said, width, break_long_words=False, break_on_hyphens=False)


def _weights(tree: DecisionTree, leaf: Node, lead: str, decimals: int) -> Iterator[str]:
    leaned = said_of_parent(leaf.classes)
    because = decided(tree.target, leaf.classes, decimals)
    yield from _wrapped(lead, f"decided by {because}{leaned and f'; {leaned}'}")
    yield from _wrapped(lead, own_records(tree.target, leaf.classes, decimals))


def _wrapped(lead: str, said: str) -> Iterator[str]:
    """Yield what is said in lines of about `_WIDTH` columns, those after the first set in."""
    lines = textwrap.wrap(said, max(_WIDTH - len(lead), _NARROW), break_long_words=False)
    for number, line in enumerate(lines):
        yield f"{lead}{'  ' if number else ''}{line}"
