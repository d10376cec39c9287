"""Pictures of decision trees, drawn from left to right.

A question is a box with what it tells and its p-value; each category leads along a line, the wider
the more records, to a child. A leaf has a bar of the probabilities that decided its class; under it
what its own records say of that class, a mark within its 95 % interval; and how many records that
are not randomized would tell as much, and how far it leans on its parent.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from pramana_core.domain import Variable
from pramana_core.errors import OptionError
from pramana_core.learn.tree.model import DecisionTree
from pramana_core.learn.tree.node import Node, NodeClasses
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
from pramana_core.pictures.svg import (
    GAP,
    MIDDLE,
    Box,
    Group,
    Layout,
    Place,
    Shape,
    Text,
    bar,
    breadth,
    colour,
    columns,
    key,
    laid_out,
    line,
    short,
)

_ROW, _BOX, _MARGIN, _BAR = 62.0, 54.0, 18.0, 110.0
_LONGEST, _NAME, _NOTE = 26, 14, 11
ROWS = 40
"""Rows of a picture of the top of a tree."""

_QUESTION = "#3d4a57"
_Place = Place[Node]
_LONGEST_NOTE = "worth 000,000 records; leans 00 % on its parent"


def draw_tree(tree: DecisionTree, *, max_depth: int | None = None) -> Layout:
    """Return a picture of a tree.

    Of a pruned tree answers that lead to leaves of one class are drawn together. Hovering over a
    node shows its class counts with their standard errors.

    Args:
        tree: the tree.
        max_depth: draw the questions below so many others as leaves that say what they leave out;
            None draws the top: as many levels as have at most `ROWS` rows, and one in any case.

    Raises:
        OptionError: a negative depth.
    """
    if max_depth is not None and max_depth < 0:
        raise OptionError(f"max_depth must be 0 or more, not {max_depth}.", where="max_depth")
    root = laid_out(tree.root, partial(_children, tree), _ROW, 0)
    for most in range(1, tree.root.depth) if max_depth is None else (max_depth,):
        deeper = laid_out(tree.root, partial(_children, tree), _ROW, most)
        if max_depth is None and sum(1 for place in deeper if not place.children) > ROWS:
            break
        root = deeper
    starts = _columns(tree, root)
    legend, end = _legend(tree.target, _left_out(tree, root))
    top = 2 * _MARGIN + 26
    width = max(max(starts) + _MARGIN + _leaf_width(tree.target), end + _MARGIN)
    height = top + max(place.y for place in root) + _ROW / 2 + _MARGIN
    drawn = [shape for place in root for shape in _lines(tree, place, starts)]
    drawn += [_node(tree, place, starts) for place in root]
    parts = [legend, Group(drawn, place=(_MARGIN, top), apart=True)]
    return Layout(width, height, f"Decision tree for {tree.target.name}", parts)


def _left_out(tree: DecisionTree, root: _Place) -> str:
    """Say how much lies below what is drawn; "" if nothing does."""
    below = sum(_leaves(place.node) for place in root if place.cut)
    if not below:
        return ""
    drawn = max(place.level for place in root if place.children) + 1
    return (
        f"The top {drawn} of {tree.root.depth} levels of questions:"
        f" {below:,} of {len(tree.leaves):,} leaves lie below"
    )


def _leaves(node: Node) -> int:
    return sum(1 for below in node if below.split is None)


def _columns(tree: DecisionTree, root: _Place) -> list[float]:
    return columns(root, partial(_box_width, tree), lambda category: breadth(_short(category), 12))


def _children(tree: DecisionTree, node: Node) -> list[tuple[str, Node]]:
    return [(", ".join(labels), child) for labels, child in shown_children(tree, node)]


def _lines(tree: DecisionTree, place: _Place, starts: list[float]) -> Iterator[Group]:
    """Yield a node's lines to its children, with their categories."""
    whole = tree.root.classes.total
    x0 = starts[place.level] + (_box_width(tree, place.node) if place.children else 0.0)
    for category, child in place.children:
        share = min(max(child.node.classes.total / whole, 0.0), 1.0)
        path = line((x0, place.y), (starts[child.level] - 6, child.y), share)
        shown = _short(category)
        # White also between the words, and a little before and behind, so that no line touches.
        ground = Box(x0 + GAP, child.y - 8, 0.9 * breadth(shown, 12) + 12, 16, "#fff")
        label = Text(x0 + GAP + 6, child.y + 4, shown, 12, "#222")
        yield Group([path, ground, label], f"{category}: {100 * share:.1f} % of the records")


def _node(tree: DecisionTree, place: _Place, starts: list[float]) -> Group:
    x, node = starts[place.level], place.node
    drawn = _question(tree, node, x, place.y) if place.children else _leaf(tree, place, x)
    return Group([drawn], _details(tree, node))


def _question(tree: DecisionTree, node: Node, x: float, y: float) -> Shape:
    if node.split is None:
        return ()
    width = _box_width(tree, node)
    middle = x + width / 2
    test = p_value(node.split) if tree.through is None else "by the model"
    return (
        Box(x, y - _BOX / 2, width, _BOX, _QUESTION, rounding=9),
        Text(middle, y - 9, _short(node.split.attribute), _NAME, "#fff", MIDDLE),
        Text(middle, y + 7, told(node.split, tree), _NOTE, "#dde3e8", MIDDLE),
        Text(middle, y + 20, test, _NOTE, "#dde3e8", MIDDLE),
    )


def _leaf(tree: DecisionTree, place: _Place, x: float) -> Shape:
    classes, y = place.node.classes, place.y
    code = classes.decision
    share = f"{percent(classes.probabilities[code])} %"
    decided = f"{_short(tree.target.categories[code])} {share}"
    below = _leaves(place.node)
    worth = f"worth {_count(classes.effective)} records"
    leaned = said_of_parent(classes)
    note = f"{below} leaves left out" if place.cut else worth + (leaned and f"; {leaned}")
    beside = x + _BAR + 8
    shares = ((share * _BAR, colour(at)) for at, share in enumerate(classes.probabilities))
    return (
        bar(shares, x, y - 20, _BAR),
        _whisker(classes, x, y + 5),
        Text(beside, y - 8, decided, 13, colour(code), bold=True),
        Text(beside, y + 8, _itself(classes), _NOTE, "#555"),
        Text(beside, y + 22, note, _NOTE, "#555"),
    )


def _itself(classes: NodeClasses) -> str:
    """Say what a leaf's own records tell of the class decided for."""
    own, code = classes.proportions, classes.decision
    if own is None:
        return "no records of its own"
    ends = f"{percent(classes.low[code])} to {percent(classes.high[code])}"
    return f"by itself {percent(own[code])} % ({ends})"


def _whisker(classes: NodeClasses, x: float, y: float) -> Shape:
    """Draw the interval of the share of the class decided for, on the scale of the bar."""
    own, code = classes.proportions, classes.decision
    if own is None:
        return ()
    low, high = classes.low[code] * _BAR, classes.high[code] * _BAR
    return (
        Box(x, y - 0.5, _BAR, 1, "#ddd"),
        Box(x + low, y - 1.5, max(high - low, 1.0), 3, colour(code)),
        Box(x + own[code] * _BAR - 1.5, y - 5, 3, 10, colour(code)),
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


def _legend(target: Variable, left_out: str) -> tuple[Shape, float]:
    """Return the target's name, its categories' colours and what is left out, and where it ends."""
    y = _MARGIN + 13
    heading = Text(_MARGIN, y, target.name, _NAME, "#222", bold=True)
    groups = ((_short(name), colour(code)) for code, name in enumerate(target.categories))
    keys, end = key(_MARGIN + breadth(target.name) + 14, y - 11, groups)
    if not left_out:
        return (heading, keys), end
    said = Text(_MARGIN, y + 20, left_out, _NOTE, "#555")
    return (heading, keys, said), max(end, _MARGIN + breadth(left_out, _NOTE))


def _leaf_width(target: Variable) -> float:
    named = max(breadth(f"{_short(category)} 100 %", 13) for category in target.categories)
    return _BAR + 8 + max(named, breadth(_LONGEST_NOTE, _NOTE)) + _MARGIN


def _box_width(tree: DecisionTree, node: Node) -> float:
    if node.split is None:
        return 24
    name = breadth(_short(node.split.attribute), _NAME)
    return 24 + max(name, breadth(told(node.split, tree), _NOTE))


def _count(number: float) -> str:
    return f"{number:,.0f}"


def _short(words: str) -> str:
    return short(words, _LONGEST)
