"""Pictures of shared trees, and of global models that are made of them.

A tree is drawn from left to right, in the layout that all trees have. A split is a box with its
attribute and how many records reach it; each part leads along a line, the wider the more records,
to what comes below. A leaf has a bar of its classes, its class and its counts; misses of which the
class is not told are grey.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pramana_core.domain import Variable
from pramana_core.errors import ModelError, OptionError
from pramana_core.mixed import Floats
from pramana_core.model_sharing.conditions import Condition
from pramana_core.model_sharing.exchange.text import (
    number,
    part_words,
    records_words,
)
from pramana_core.model_sharing.global_models.model import GlobalModel, TreeModel
from pramana_core.model_sharing.global_models.votes import VotesModel
from pramana_core.model_sharing.tree import Leaf, Node, SharedTree
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

MOST_DRAWN = 60
"""Rows of a picture; deeper trees are cut so that they have no more."""

_ROW, _BOX, _MARGIN, _BAR = 44.0, 38.0, 18.0, 90.0
_LONGEST, _NAME, _NOTE = 26, 14, 11
_QUESTION, _PALE, _UNTOLD, _LINE = "#3d4a57", "#c9ced3", "#d9d9d9", "#9aa5b0"
_MERGED = "#b5651d"
_KEYS = 12
"""So many classes are named in the legend."""

Conditions = frozenset[tuple[str, Condition]]


@dataclass(frozen=True)
class Marks:
    """Which nodes of a tree look otherwise, by the conditions that lead to them.

    Attributes:
        gone: those that pruning took: drawn pale.
        merged: those that it made: drawn with a frame.
    """

    gone: frozenset[Conditions] = frozenset()
    merged: frozenset[Conditions] = frozenset()


@dataclass(frozen=True)
class _Item:
    """A node with the conditions that lead to it, and the records below it.

    `counts` are those of classes that are told, `untold` of those that are not. `left_out` counts
    the parts of a split in whose place it stands; such an item has no conditions.
    """

    node: Node
    known: Conditions | None
    counts: Floats
    untold: float
    leaves: int = 1
    left_out: int = 0
    below: tuple[tuple[str, _Item], ...] = ()

    @property
    def records(self) -> float:
        """How many records it has."""
        return float(self.counts.sum()) + self.untold

    @property
    def label(self) -> int:
        """The class of a leaf, or of the most records that are told."""
        return self.node.label if isinstance(self.node, Leaf) else int(np.argmax(self.counts))


class TreeDrawing:
    """A tree with its places; `parts` are its shapes, on a plane of its width and height.

    Args:
        tree: the tree.
        max_depth: see `draw_shared_tree`.
        marks: what looks otherwise.
        title: a line above.

    Raises:
        OptionError: a negative depth.
    """

    def __init__(self, tree: SharedTree, max_depth: int | None, marks: Marks, title: str) -> None:
        if max_depth is not None and max_depth < 0:
            raise OptionError(f"max_depth must be 0 or more, not {max_depth}.", where="max_depth")
        self._tree, self._marks, self._title = tree, marks, title
        root = _items(tree, tree.root, {})
        depth = _fitting(root, tree.depth) if max_depth is None else max_depth
        self._root: Place[_Item] = laid_out(root, lambda item: item.below, _ROW, depth)
        self._cut = any(place.cut for place in self._root)
        self._depth = depth
        self._starts = columns(self._root, _box_width, lambda label: breadth(_short(label), 12))
        self._legend, end = _legend(tree.schema.target)
        self._top = 2 * _MARGIN + 26 + (24 if title else 0)
        rows = max(place.y for place in self._root)
        self._foot = self._top + rows + _ROW / 2 + _MARGIN
        leaf = max(
            self._starts[place.level] + _leaf_width(tree.schema.target, place)
            for place in self._root
            if not place.children
        )
        named = breadth(title, _NAME) + 2 * _MARGIN
        self.width = max(leaf + 2 * _MARGIN, end + _MARGIN, named)
        self.height = self._foot + (20 if self._cut else 0)

    def parts(self) -> Iterator[Shape]:
        """Yield the shapes of the picture."""
        above = 24 if self._title else 0
        if self._title:
            yield Text(_MARGIN, _MARGIN + 13, self._title, _NAME, "#222", bold=True)
        yield Group([self._legend], place=(0, above))
        drawn = [shape for place in self._root for shape in self._lines(place)]
        drawn += [self._node(place) for place in self._root]
        yield Group(drawn, place=(_MARGIN, self._top), apart=True)
        if self._cut:
            said = f"Splits below {self._depth + 1} others are left out, as the rows say."
            yield Text(_MARGIN, self._foot + 4, said, _NOTE, "#555")

    def _lines(self, place: Place[_Item]) -> Iterator[Group]:
        x0 = self._starts[place.level] + (_box_width(place.node) if place.children else 0.0)
        for label, child in place.children:
            whole = self._root.node.records
            share = child.node.records / whole if whole else 0.0
            pale = child.node.known in self._marks.gone
            path = line(
                (x0, place.y),
                (self._starts[child.level] - 6, child.y),
                share,
                _PALE if pale else _LINE,
            )
            shown = _short(label)
            # White also between the words, and a little before and behind, so that no line touches.
            ground = Box(x0 + GAP, child.y - 8, 0.9 * breadth(shown, 12) + 12, 16, "#fff")
            words = Text(x0 + GAP + 6, child.y + 4, shown, 12, "#999" if pale else "#222")
            text = f"{label}: {100 * share:.1f} % of the records"
            yield Group([path, ground, words], text)

    def _node(self, place: Place[_Item]) -> Group:
        item, target = place.node, self._tree.schema.target
        x, y = self._starts[place.level], place.y
        drawn: Shape
        if place.children:
            drawn = _question(item, x, y)
        elif item.left_out:
            drawn = Text(x, y + 4, _left_out(item), 12, "#555")
        else:
            drawn = _leaf(target, place, x)
        if item.known in self._marks.merged:
            wide = _leaf_width(target, place) + 10
            drawn = (drawn, Box(x - 5, y - 19, wide, 38, "none", rounding=6, stroke=_MERGED))
        if item.known in self._marks.gone:
            drawn = Group([drawn], opacity="0.4")
        return Group([drawn], _details(target, item))


def _items(tree: SharedTree, node: Node, known: dict[str, Condition]) -> _Item:
    here = frozenset(known.items())
    if isinstance(node, Leaf):
        distribution = node.distribution
        alone = np.zeros(tree.schema.classes)
        alone[node.label] = node.hit
        counts = alone if distribution is None else np.array(distribution)
        return _Item(node, here, counts, node.miss if distribution is None else 0.0)
    attribute = tree.schema[node.attribute]
    every = [
        (part_words(attribute, part), _items(tree, below, {**known, node.attribute: part}))
        for part, below in node.parts
    ]
    shown = every if len(every) <= MOST_DRAWN else every[: MOST_DRAWN - 1]
    rest = [item for _, item in every[len(shown) :]]
    if rest:
        others = replace(_sum(node, None, rest), left_out=len(rest))
        shown = [*shown, ("others", others)]
    return replace(_sum(node, here, [item for _, item in every]), below=tuple(shown))


def _sum(node: Node, known: Conditions | None, items: Sequence[_Item]) -> _Item:
    counts: Floats = np.sum([item.counts for item in items], axis=0)
    leaves = sum(item.leaves for item in items)
    return _Item(node, known, counts, sum(item.untold for item in items), leaves)


def _fitting(root: _Item, depth: int) -> int:
    """Return the most depth at which there are few enough rows; at least that of the root."""
    best = 0
    for most in range(depth + 1):
        if _rows(root, most + 1) > MOST_DRAWN:
            return best
        best = most
    return best


def _rows(item: _Item, depth: int) -> int:
    if not item.below or not depth:
        return 1
    return sum(_rows(below, depth - 1) for _, below in item.below)


def _question(item: _Item, x: float, y: float) -> Shape:
    width = _box_width(item)
    middle = x + width / 2
    return (
        Box(x, y - _BOX / 2, width, _BOX, _QUESTION, rounding=9),
        Text(middle, y - 2, _asked(item), _NAME, "#fff", MIDDLE),
        Text(middle, y + 13, records_words(item.records), _NOTE, "#dde3e8", MIDDLE),
    )


def _asked(item: _Item) -> str:
    return "" if isinstance(item.node, Leaf) else _short(item.node.attribute)


def _leaf(target: Variable, place: Place[_Item], x: float) -> Shape:
    item, y = place.node, place.y
    decided, note = _said(target, place)
    beside = x + _BAR + 8
    return (
        _bar(item, x, y - 8),
        Text(beside, y - 2, decided, 13, colour(item.label), bold=True),
        Text(beside, y + 13, note, _NOTE, "#555"),
    )


def _bar(item: _Item, x: float, y: float) -> Shape:
    colours = [*(colour(code) for code in range(len(item.counts))), _UNTOLD]
    widths = [
        _BAR * float(count) / item.records if item.records else 0.0
        for count in [*item.counts, item.untold]
    ]
    return bar([part for part in zip(widths, colours, strict=True) if part[0]], x, y, _BAR)


def _said(target: Variable, place: Place[_Item]) -> tuple[str, str]:
    """Return the class of a leaf with its share, and its counts; of what is cut, how much it is."""
    item = place.node
    most = float(item.counts[item.label])
    share = f" {100 * most / item.records:.0f} %" if item.records else ""
    decided = f"{_short(target.categories[item.label])}{share}"
    if place.cut:
        return decided, f"{item.leaves:,} paths left out, {records_words(item.records)}"
    return decided, f"{number(most)} of {records_words(item.records)}"


def _left_out(item: _Item) -> str:
    parts = f"{item.left_out:,} more parts"
    return f"{parts} with {item.leaves:,} paths and {records_words(item.records)} left out"


def _details(target: Variable, item: _Item) -> str:
    """Return what hovering shows: the counts of the classes."""
    counts = zip(target.categories, item.counts, strict=True)
    lines = [f"{label}: {number(float(count))}" for label, count in counts if count]
    if item.untold:
        lines.append(f"other classes, untold which: {number(item.untold)}")
    return "\n".join(lines) or "no records"


def _legend(target: Variable) -> tuple[Shape, float]:
    """Return the target's name and its categories' colours, and where they end."""
    y = _MARGIN + 13
    heading = Text(_MARGIN, y, target.name, _NAME, "#222", bold=True)
    groups = [(_short(name), colour(code)) for code, name in enumerate(target.categories)]
    more = [(f"and {len(groups) - _KEYS} more", _UNTOLD)] if len(groups) > _KEYS else []
    keys, end = key(_MARGIN + breadth(target.name) + 14, y - 11, [*groups[:_KEYS], *more])
    return (heading, keys), end


def _leaf_width(target: Variable, place: Place[_Item]) -> float:
    if place.node.left_out:
        return breadth(_left_out(place.node), 12)
    decided, note = _said(target, place)
    return _BAR + 8 + max(breadth(decided, 13), breadth(note, _NOTE))


def _box_width(item: _Item) -> float:
    note = breadth(records_words(item.records), _NOTE)
    return 24 + max(breadth(_asked(item), _NAME), note)


def _short(words: str) -> str:
    return short(words, _LONGEST)


_VOTERS = 8
"""So many trees of votes are drawn; of the others it is said that they are not."""


def draw_shared_tree(
    tree: SharedTree, *, max_depth: int | None = None, marks: Marks | None = None, title: str = ""
) -> Layout:
    """Return a picture of a tree.

    Args:
        tree: the tree.
        max_depth: draw the splits below so many others as leaves that say what they leave out; by
            default the most at which the picture has no more than `MOST_DRAWN` rows.
        marks: what looks otherwise.
        title: a line above the picture.

    Raises:
        OptionError: a negative depth.
    """
    drawn = TreeDrawing(tree, max_depth, marks or Marks(), title)
    return Layout(drawn.width, drawn.height, _name(tree), [*drawn.parts()])


def draw_pruning(before: SharedTree, after: SharedTree, *, max_depth: int | None = None) -> Layout:
    """Return a picture of a tree before and after it was pruned, one above the other.

    Nodes that pruning took are pale in the first; those that it made have a frame in the second.
    The first is for whoever may see the records alone.

    Args:
        before: the tree before.
        after: what it became.
        max_depth: as of `draw_shared_tree`.

    Raises:
        OptionError: a negative depth.
    """
    old, new = _kinds(before), _kinds(after)
    gone = frozenset(known for known, leaf in old.items() if new.get(known, leaf) != leaf)
    gone |= frozenset(old) - frozenset(new)
    merged = frozenset(known for known, leaf in new.items() if leaf and not old.get(known, False))
    first = TreeDrawing(
        before, max_depth, Marks(gone=gone), f"Before: {_size(before)}; pale: merged"
    )
    second = TreeDrawing(
        after, max_depth, Marks(merged=merged), f"After: {_size(after)}; framed: made by merging"
    )
    width = max(first.width, second.width)
    below = Group([*second.parts()], place=(0, first.height), apart=True)
    parts = [*first.parts(), below]
    return Layout(width, first.height + second.height, _name(after), parts)


def _kinds(tree: SharedTree) -> dict[Conditions, bool]:
    """Return the nodes by the conditions that lead to them, and whether they are leaves."""
    found: dict[Conditions, bool] = {}
    waiting: list[tuple[Node, dict[str, Condition]]] = [(tree.root, {})]
    while waiting:
        node, known = waiting.pop()
        found[frozenset(known.items())] = isinstance(node, Leaf)
        if not isinstance(node, Leaf):
            waiting += [(below, {**known, node.attribute: part}) for part, below in node.parts]
    return found


def _size(tree: SharedTree) -> str:
    leaves = len(tree.leaves)
    return f"{leaves:,} path{'' if leaves == 1 else 's'}, {records_words(tree.records)}"


def _name(tree: SharedTree) -> str:
    return f"Decision tree for {tree.schema.target.name}"


def draw_model(model: GlobalModel, *, max_depth: int | None = None) -> Layout:
    """Return a picture of a global model that is made of trees.

    Args:
        model: a tree, or the votes of several, which are drawn one below another.
        max_depth: of each tree, as of `draw_shared_tree`.

    Raises:
        OptionError: a negative depth.
        ModelError: models of its kind are read as text and have no picture.
    """
    if isinstance(model, TreeModel):
        return draw_shared_tree(model.tree, max_depth=max_depth)
    if isinstance(model, VotesModel):
        return _draw_votes(model, max_depth)
    raise ModelError(
        f"A model of kind {model.kind!r} has no picture.",
        where="kind",
        remedy="Read its text (`write_model_text`).",
    )


def _draw_votes(model: VotesModel, max_depth: int | None) -> Layout:
    trees, number = model.trees[:_VOTERS], len(model.trees)
    drawn = [
        TreeDrawing(tree, max_depth, Marks(), f"Tree {place} of {number}: {_size(tree)}")
        for place, tree in enumerate(trees, 1)
    ]
    parts: list[Shape] = []
    top = 0.0
    for one in drawn:
        parts.append(Group([*one.parts()], place=(0, top), apart=True))
        top += one.height
    if number > len(trees):
        parts.append(Text(18, top, f"{number - len(trees)} more trees are not drawn.", 12, "#555"))
        top += 18
    return Layout(max(one.width for one in drawn), top, f"The votes of {number} trees", parts)
