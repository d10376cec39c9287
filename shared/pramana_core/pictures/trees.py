"""How trees are laid out from left to right: the row of each node, the columns, and the lines.

What a node looks like is drawn where it is known what a node is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

GAP = 40.0
"""Points that a line takes to turn, at either end of its label."""

WIDEST, THINNEST = 9.0, 1.0
"""Of lines, by the share of the records that they lead."""

NodeT = TypeVar("NodeT")

Children = Callable[[NodeT], Sequence[tuple[str, NodeT]]]
"""Returns the children of a node, each with the label of the line to it."""


@dataclass(frozen=True)
class Place(Generic[NodeT]):
    """A node in the picture: its level, the middle of its rows, and its children by label.

    `cut` says that the node has children that are not drawn.
    """

    node: NodeT
    level: int
    y: float
    cut: bool
    children: tuple[tuple[str, Place[NodeT]], ...]

    def __iter__(self) -> Iterator[Place[NodeT]]:
        yield self
        for _, child in self.children:
            yield from child


def laid_out(
    root: NodeT, children: Children[NodeT], row: float, max_depth: int | None = None
) -> Place[NodeT]:
    """Return the places of a tree's nodes.

    Args:
        root: the tree.
        children: of a node; none of a leaf.
        row: the height of a row; each leaf has one.
        max_depth: nodes below so many others are drawn as leaves.
    """
    rows = _Rows(row)
    return _placed(root, children, 0, rows, max_depth)


class _Rows:
    """Gives each leaf the next row."""

    def __init__(self, height: float) -> None:
        self._height, self._taken = height, 0

    def next(self) -> float:
        self._taken += 1
        return (self._taken - 0.5) * self._height


def _placed(
    node: NodeT, children: Children[NodeT], level: int, rows: _Rows, most: int | None
) -> Place[NodeT]:
    below = children(node)
    cut = bool(below) and most is not None and level > most
    if not below or cut:
        return Place(node, level, rows.next(), cut, ())
    placed = tuple(
        (label, _placed(child, children, level + 1, rows, most)) for label, child in below
    )
    middle = (placed[0][1].y + placed[-1][1].y) / 2
    return Place(node, level, middle, cut=False, children=placed)


def columns(
    root: Place[NodeT], width: Callable[[NodeT], float], label_width: Callable[[str], float]
) -> list[float]:
    """Return where each level begins: beside the widest node above it and its longest label."""
    levels = max(place.level for place in root) + 1
    widths, labels = [0.0] * levels, [0.0] * levels
    for place in root:
        if place.children:
            widths[place.level] = max(widths[place.level], width(place.node))
            longest = max(label_width(label) for label, _ in place.children)
            labels[place.level] = max(labels[place.level], longest)
    starts = [0.0]
    for wide, label in zip(widths[:-1], labels[:-1], strict=True):
        starts.append(starts[-1] + wide + label + 2 * GAP)
    return starts


def line(
    start: tuple[float, float], end: tuple[float, float], share: float, colour: str = "#9aa5b0"
) -> str:
    """Return a line from a node to a child, the wider the more records it leads."""
    (x0, y0), (x1, y1) = start, end
    wide = THINNEST + (WIDEST - THINNEST) * min(max(share, 0.0), 1.0)
    turn = x0 + GAP
    return (
        f'<path d="M{x0:.1f},{y0:.1f} C{turn:.1f},{y0:.1f} {x0 + 8:.1f},{y1:.1f}'
        f' {turn:.1f},{y1:.1f} L{x1:.1f},{y1:.1f}" fill="none" stroke="{colour}"'
        f' stroke-width="{wide:.2f}"/>'
    )
