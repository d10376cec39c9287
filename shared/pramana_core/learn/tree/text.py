"""Decision trees as plain text, in the layout of scikit-learn's ``export_text``."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from pramana_core.learn.tree import words
from pramana_core.learn.tree.model import DecisionTree
from pramana_core.learn.tree.node import Node

_INDENT = "|   "

_WIDTH, _NARROW = 98, 40
"""The maximum width of a line in characters, and the minimum width of the text of a deep node."""


def write_tree_text(tree: DecisionTree, *, show_weights: bool = False) -> str:
    """Return a tree as text, with one line per answer and per leaf.

        |--- tear-production-rate = normal
        |   |--- class: soft

    In a pruned tree, answers that lead to leaves of one class share a line. With `show_weights`, a
    question also shows its information and test, and a leaf its probabilities and its shares with
    95 % intervals.
    """
    lines = list(_lines(tree, tree.root, 0, weights=show_weights))
    if show_weights and tree.through is not None:
        lines = [*textwrap.wrap(words.model_note(tree), _WIDTH), "", *lines]
    return "\n".join(lines) + "\n"


def _lines(tree: DecisionTree, node: Node, depth: int, *, weights: bool) -> Iterator[str]:
    lead = _INDENT * depth + "|--- "
    if node.split is None:
        yield f"{lead}class: {tree.target.categories[node.classes.decision]}"
        if weights:
            yield from _leaf_weights(tree, node, _INDENT * depth + "|      ")
        return
    attribute = tree.inputs[node.split.attribute]
    if weights:
        parts = words.information(node.split, tree), words.likelihood_test(node.split, tree)
        note = f"{attribute.name} gives {'; '.join(filter(None, parts))}"
        yield from _wrapped(f"{_INDENT * depth}|  ", note)
        each = zip(attribute.categories, node.children, strict=True)
        answers: list[tuple[tuple[str, ...], list[Node]]] = [((n,), [child]) for n, child in each]
    else:
        answers = words.grouped_children(tree, node)
    for categories, (child, *_) in answers:
        question = f"{attribute.name} = {', '.join(categories)}"
        first, *more = _cut(question, max(_WIDTH - len(lead), _NARROW))
        yield f"{lead}{first}"
        yield from (f"{_INDENT * depth}|     {part}" for part in more)
        yield from _lines(tree, child, depth + 1, weights=weights)


def _cut(text: str, width: int) -> list[str]:
    if len(text) <= width:
        return [text]
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def _leaf_weights(tree: DecisionTree, leaf: Node, lead: str) -> Iterator[str]:
    leaned = words.lean(leaf.classes)
    because = words.probabilities(tree.target, leaf.classes)
    yield from _wrapped(lead, f"decided by {because}{leaned and f'; {leaned}'}")
    yield from _wrapped(lead, words.own_records(tree.target, leaf.classes))


def _wrapped(lead: str, text: str) -> Iterator[str]:
    lines = textwrap.wrap(text, max(_WIDTH - len(lead), _NARROW), break_long_words=False)
    for number, part in enumerate(lines):
        yield f"{lead}{'  ' if number else ''}{part}"
