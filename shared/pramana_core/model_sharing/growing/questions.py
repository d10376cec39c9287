"""Trees of questions with two answers, and the shared tree that they make.

Questions for one attribute that follow one another become a single split of several parts: two
questions for a category are one split into three, as in the paper's figure 2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pramana_core.model_sharing.core.conditions import Condition, Interval, Values
from pramana_core.model_sharing.core.tree import Leaf, Node, Split


@dataclass(frozen=True)
class Question:
    """A question for one attribute: the two parts of what reaches it, and what comes after them."""

    attribute: str
    sides: tuple[tuple[Condition, Asked], tuple[Condition, Asked]]


Asked = Leaf | Question


def leaves_of(node: Asked) -> Iterator[Leaf]:
    """Return the leaves below a node."""
    if isinstance(node, Leaf):
        yield node
        return
    for _, below in node.sides:
        yield from leaves_of(below)


def contracted(node: Asked) -> Node:
    """Return the node that questions make: those of one attribute in a row are one split.

    Its parts are in order: intervals ascend, and sets of categories by their first.
    """
    if isinstance(node, Leaf):
        return node
    parts: list[tuple[Condition, Node]] = []
    waiting = list(node.sides)
    while waiting:
        condition, below = waiting.pop()
        if isinstance(below, Question) and below.attribute == node.attribute:
            waiting += below.sides
        else:
            parts.append((condition, contracted(below)))
    return Split(node.attribute, tuple(sorted(parts, key=lambda part: _rank(part[0]))))


def halves(extent: Interval, threshold: float) -> tuple[Interval, Interval]:
    """Return the numbers of an interval up to a threshold, and those above."""
    return Interval(extent.above, threshold), Interval(threshold, extent.up_to)


def apart(extent: Values, codes: set[int]) -> tuple[Values, Values]:
    """Return the categories of a set that are among some codes, and those that are not."""
    inside = tuple(code for code in extent.codes if code in codes)
    return Values(inside), Values(tuple(code for code in extent.codes if code not in codes))


def _rank(condition: Condition) -> float:
    return condition.above if isinstance(condition, Interval) else condition.codes[0]
