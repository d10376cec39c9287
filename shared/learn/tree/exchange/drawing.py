"""Pictures of decision trees as self-contained SVG, drawn from left to right.

A question is a box with its gain; each category leads along a line, the wider the more records, to
a child. A leaf has a bar of its class probabilities, its decision, and how many records that are
not randomized would tell as much.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from shared.domain import Variable
from shared.errors import OptionError
from shared.learn.tree.model import DecisionTree
from shared.learn.tree.node import Node
from shared.pictures.svg import (
    MIDDLE,
    PALETTE,
    box,
    breadth,
    document,
    key,
    outlined,
    short,
    text,
    titled,
)

_ROW, _BOX, _MARGIN, _BAR, _GAP = 50.0, 42.0, 18.0, 110.0, 40.0
_LONGEST, _NAME, _NOTE = 26, 14, 11
_WIDEST, _THINNEST = 9.0, 1.0
_QUESTION = "#3d4a57"


@dataclass(frozen=True)
class _Place:
    """A node in the picture: its level, the middle of its rows, and its children by category.

    `cut` says that the node is a question that is drawn as a leaf.
    """

    node: Node
    level: int
    y: float
    cut: bool
    children: tuple[tuple[str, _Place], ...]

    def __iter__(self) -> Iterator[_Place]:
        yield self
        for _, child in self.children:
            yield from child


def draw_tree(tree: DecisionTree, *, max_depth: int | None = None) -> str:
    """Return an SVG picture of a tree.

    Hovering over a node shows its class counts with their standard errors.

    Args:
        tree: the tree.
        max_depth: draw the questions below so many others as leaves that say what they leave out;
            None draws all.

    Raises:
        OptionError: a negative depth.
    """
    if max_depth is not None and max_depth < 0:
        raise OptionError(f"max_depth must be 0 or more, not {max_depth}.", where="max_depth")
    root = _placed(tree, tree.root, 0, _Rows(), max_depth)
    columns = _columns(root)
    legend, end = _legend(tree.target)
    top = 2 * _MARGIN + 26
    width = max(max(columns) + _MARGIN + _leaf_width(tree.target), end + _MARGIN)
    height = top + max(place.y for place in root) + _ROW / 2 + _MARGIN
    parts = [
        legend,
        f'<g transform="translate({_MARGIN:.0f},{top:.0f})">',
        *(line for place in root for line in _lines(tree, place, columns)),
        *(_node(tree, place, columns) for place in root),
        "</g>",
    ]
    return document(width, height, f"Decision tree for {tree.target.name}", parts)


class _Rows:
    """Gives each leaf the next row."""

    def __init__(self) -> None:
        self._taken = 0

    def next(self) -> float:
        self._taken += 1
        return (self._taken - 0.5) * _ROW


def _placed(tree: DecisionTree, node: Node, level: int, rows: _Rows, most: int | None) -> _Place:
    cut = node.split is not None and most is not None and level > most
    if node.split is None or cut:
        return _Place(node, level, rows.next(), cut, ())
    categories = tree.inputs[node.split.attribute].categories
    children = tuple(
        (category, _placed(tree, child, level + 1, rows, most))
        for category, child in zip(categories, node.children, strict=True)
    )
    middle = (children[0][1].y + children[-1][1].y) / 2
    return _Place(node, level, middle, cut=False, children=children)


def _columns(root: _Place) -> list[float]:
    """Return where each level begins: beside the widest box above it and its longest category."""
    levels = max(place.level for place in root) + 1
    widths, labels = [0.0] * levels, [0.0] * levels
    for place in root:
        if place.children:
            widths[place.level] = max(widths[place.level], _box_width(place.node))
            longest = max(breadth(_short(category), 12) for category, _ in place.children)
            labels[place.level] = max(labels[place.level], longest)
    starts = [0.0]
    for width, label in zip(widths[:-1], labels[:-1], strict=True):
        starts.append(starts[-1] + width + label + 2 * _GAP)
    return starts


def _lines(tree: DecisionTree, place: _Place, columns: list[float]) -> Iterator[str]:
    """Yield a node's lines to its children, with their categories."""
    whole = tree.root.classes.total
    x0 = columns[place.level] + (_box_width(place.node) if place.children else 0.0)
    for category, child in place.children:
        x1 = columns[child.level] - 6
        share = min(max(child.node.classes.total / whole, 0.0), 1.0)
        wide = _THINNEST + (_WIDEST - _THINNEST) * share
        turn = x0 + _GAP
        path = (
            f'<path d="M{x0:.1f},{place.y:.1f} C{turn:.1f},{place.y:.1f} {x0 + 8:.1f},{child.y:.1f}'
            f' {turn:.1f},{child.y:.1f} L{x1:.1f},{child.y:.1f}" fill="none" stroke="#9aa5b0"'
            f' stroke-width="{wide:.2f}"/>'
        )
        label = text(turn + 6, child.y + 4, _short(category), 12, "#222", outlined(5))
        yield titled(f"{category}: {100 * share:.1f} % of the records", path, label)


def _node(tree: DecisionTree, place: _Place, columns: list[float]) -> str:
    x, node = columns[place.level], place.node
    drawn = _question(node, x, place.y) if place.children else _leaf(tree, place, x)
    return titled(_details(tree, node), drawn)


def _question(node: Node, x: float, y: float) -> str:
    if node.split is None:
        return ""
    width = _box_width(node)
    middle = x + width / 2
    return (
        box(x, y - _BOX / 2, width, _BOX, _QUESTION, 'rx="9"')
        + text(middle, y - 3, _short(node.split.attribute), _NAME, "#fff", MIDDLE)
        + text(middle, y + 13, _gain(node), _NOTE, "#dde3e8", MIDDLE)
    )


def _leaf(tree: DecisionTree, place: _Place, x: float) -> str:
    classes, y = place.node.classes, place.y
    decided = _short(tree.target.categories[classes.decision])
    below = sum(1 for node in place.node if node.split is None)
    note = f"{below} leaves left out" if place.cut else f"worth {_count(classes.effective)} records"
    beside = x + _BAR + 8
    return (
        _bar(classes.probabilities, x, y - 8)
        + text(beside, y, decided, 13, _colour(classes.decision), 'font-weight="600"')
        + text(beside, y + 14, note, _NOTE, "#555")
    )


def _bar(probabilities: tuple[float, ...], x: float, y: float) -> str:
    parts, at = [], x
    for code, probability in enumerate(probabilities):
        width = probability * _BAR
        parts.append(box(at, y, width, 16, _colour(code)))
        at += width
    return "".join(parts) + box(x, y, _BAR, 16, "none", 'stroke="#777"')


def _details(tree: DecisionTree, node: Node) -> str:
    """Return what hovering shows: the counts of all classes, and of a question its test."""
    known = node.classes
    lines = [
        f"{category}: {count:.0f} ± {given:.0f} (population ± {drawn:.0f}), p = {share:.3f}"
        for category, count, given, drawn, share in zip(
            tree.target.categories,
            known.counts,
            known.se_records,
            known.se_population,
            known.probabilities,
            strict=True,
        )
    ]
    if node.split is not None:
        lines.append(
            f"gain {_gain(node)}; by chance {node.split.chance:.2g}, p-value"
            f" {node.split.p_value:.2g}"
        )
    return "\n".join([*lines, f"tells as much as {_count(known.effective)} clean records"])


def _legend(target: Variable) -> tuple[str, float]:
    """Return the target's name and its categories' colours, and where they end."""
    y = _MARGIN + 13
    heading = text(_MARGIN, y, target.name, _NAME, "#222", 'font-weight="600"')
    groups = ((_short(name), _colour(code)) for code, name in enumerate(target.categories))
    keys, end = key(_MARGIN + breadth(target.name) + 14, y - 11, groups)
    return heading + keys, end


def _leaf_width(target: Variable) -> float:
    named = max(breadth(_short(category), 13) for category in target.categories)
    return _BAR + 8 + max(named, 110.0) + _MARGIN


def _box_width(node: Node) -> float:
    name = node.split.attribute if node.split is not None else ""
    return 24 + max(breadth(_short(name), _NAME), breadth(_gain(node), _NOTE))


def _gain(node: Node) -> str:
    if node.split is None:
        return ""
    return f"{node.split.gain:.3f} ± {node.split.se:.3f} bits"


def _colour(code: int) -> str:
    return PALETTE[code % len(PALETTE)]


def _count(number: float) -> str:
    return f"{number:,.0f}"


def _short(words: str) -> str:
    return short(words, _LONGEST)
