"""Pictures of trees with any kind of node, drawn from left to right.

A question is a box with its name and notes. Each answer is a line to a child, which is wider for
more records. A leaf shows a bar of its classes, its predicted class, and notes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pramana_core.pictures.svg import (
    MIDDLE,
    Box,
    Group,
    Line,
    Point,
    Shape,
    Text,
    breadth,
    colour,
    key,
    short,
)

MARGIN = 18.0
_GAP = 40.0
"""The length over which a line curves, on each side of its label."""

_THINNEST, _WIDEST = 1.0, 9.0
"""The minimum and the maximum width of a line, which grows with its share of the records."""

_LONGEST, _NAME, _NOTE, _LABEL = 26, 14, 11, 12
_QUESTION, _LINE = "#3d4a57", "#9aa5b0"
UNKNOWN = "#d9d9d9"
"""The colour of records whose class is unknown."""

_KEYS = 12
"""The maximum number of classes in the legend."""

NodeT = TypeVar("NodeT")


@dataclass(frozen=True)
class Item:
    """A node of a tree picture.

    Attributes:
        words, notes, details: the question or class, the lines below it, and the text under the
            pointer.
        bar, fill: for a leaf, the shares of its classes with their colours, and its own colour.
        interval: for a leaf, the low end of the interval of its class share, the share, and the
            high end.
        answers: for each line, the label, the share of all records, and the child.
    """

    words: str
    notes: Sequence[str] = ()
    details: str = ""
    bar: Sequence[tuple[float, str]] = ()
    fill: str = "#555"
    interval: tuple[float, float, float] | None = None
    answers: Sequence[tuple[str, float, Item]] = ()


def fitting_depth(
    root: NodeT, children: Callable[[NodeT], Sequence[NodeT]], depth: int, most: int
) -> int:
    """Return the depth to which a tree fits into `most` rows; depth 0 is the root's question."""

    def rows(node: NodeT, levels: int) -> int:
        below = children(node)
        return sum(rows(one, levels - 1) for one in below) if below and levels else 1

    return next((d for d in range(1, depth + 1) if rows(root, d + 1) > most), depth + 1) - 1


class TreePicture:
    """A tree laid out on a plane with a width and a height.

    The legend shows `target`, which is the name of the class variable and its categories. A node
    has 1 or 2 lines of notes (`lines`). The text `said` is below the legend, and `foot` at the
    bottom.
    """

    def __init__(
        self,
        root: Item,
        target: tuple[str, Sequence[str]],
        lines: int = 1,
        *,
        said: str = "",
        foot: str = "",
    ) -> None:
        self._more, self._foot = lines - 1, foot
        self._row, self._box = 44.0 + 18 * self._more, 38.0 + 16 * self._more
        self._bar = 90.0 + 20 * self._more
        self._places: list[tuple[Item, int, float]] = []
        self._heights: dict[int, float] = {}
        self._rows = 0
        self._place(root, 0)
        self._starts = self._columns()
        self._legend, end = _legend(*target, said)
        leaf = max(
            self._starts[level] + self._leaf_width(item)
            for item, level, _ in self._places
            if not item.answers
        )
        self._top = 2 * MARGIN + 26
        self._bottom = self._top + self._rows * self._row + MARGIN
        self.width = max(leaf + 2 * MARGIN, end + MARGIN)
        self.height = self._bottom + (20 if foot else 0)

    def parts(self) -> Iterator[Shape]:
        """Yield the shapes of the picture."""
        yield Group([self._legend], place=(0, 0))
        drawn: list[Shape] = [line for place in self._places for line in self._lines(*place)]
        drawn += [self._node(*place) for place in self._places]
        yield Group(drawn, place=(MARGIN, self._top), apart=True)
        if self._foot:
            yield Text(MARGIN, self._bottom + 4, self._foot, _NOTE, "#555")

    def _place(self, item: Item, level: int) -> float:
        at = len(self._places)
        self._places.append((item, level, 0.0))
        if item.answers:
            below = [self._place(child, level + 1) for _, _, child in item.answers]
            y = (below[0] + below[-1]) / 2
        else:
            self._rows += 1
            y = (self._rows - 0.5) * self._row
        self._places[at] = (item, level, y)
        self._heights[id(item)] = y
        return y

    def _columns(self) -> list[float]:
        """Return the x coordinate where each level starts, to the right of the previous level."""
        levels = max(level for _, level, _ in self._places) + 1
        wide = [0.0] * levels
        labels = [0.0] * levels
        for item, level, _ in self._places:
            if item.answers:
                wide[level] = max(wide[level], _box_width(item))
                longest = max(breadth(_short(label), _LABEL) for label, _, _ in item.answers)
                labels[level] = max(labels[level], longest)
        starts = [0.0]
        for box, label in zip(wide[:-1], labels[:-1], strict=True):
            starts.append(starts[-1] + box + label + 2 * _GAP)
        return starts

    def _lines(self, item: Item, level: int, y: float) -> Iterator[Group]:
        x = self._starts[level] + (_box_width(item) if item.answers else 0.0)
        for label, share, child in item.answers:
            end = self._starts[level + 1] - 6, self._heights[id(child)]
            line = _line((x, y), end, share, _LINE)
            shown = _short(label)
            # White between the words and a little around them: no line touches them.
            ground = Box(x + _GAP, end[1] - 8, breadth(shown, _LABEL) + 14, 16, "#fff")
            words = Text(x + _GAP + 6, end[1] + 4, shown, _LABEL, "#222")
            yield Group([line, ground, words], f"{label}: {100 * share:.1f} % of the records")

    def _node(self, item: Item, level: int, y: float) -> Group:
        x = self._starts[level]
        drawn: Shape
        if item.answers:
            drawn = self._question(item, x, y)
        elif item.bar or item.notes:
            drawn = self._leaf(item, x, y)
        else:
            drawn = Text(x, y + 4, item.words, _LABEL, item.fill)
        return Group([drawn], item.details)

    def _question(self, item: Item, x: float, y: float) -> Shape:
        middle = x + _box_width(item) / 2
        first = y + 13 - 6 * self._more
        return (
            Box(x, y - self._box / 2, _box_width(item), self._box, _QUESTION, rounding=9),
            Text(middle, y - 2 - 7 * self._more, _short(item.words), _NAME, "#fff", MIDDLE),
            *(
                Text(middle, first + 13 * place, note, _NOTE, "#dde3e8", MIDDLE)
                for place, note in enumerate(item.notes)
            ),
        )

    def _leaf(self, item: Item, x: float, y: float) -> Shape:
        top = y - 8 - 12 * self._more
        bars, at = [], x
        for share, fill in item.bar:
            bars.append(Box(at, top, self._bar * share, 16, fill))
            at += self._bar * share
        beside, first = x + self._bar + 8, y + 13 - 5 * self._more
        return (
            *bars,
            Box(x, top, self._bar, 16, "none", stroke="#777"),
            self._whisker(item, x, y + 5),
            Text(beside, y - 2 - 6 * self._more, item.words, 13, item.fill, bold=True),
            *(
                Text(beside, first + 14 * place, note, _NOTE, "#555")
                for place, note in enumerate(item.notes)
            ),
        )

    def _whisker(self, item: Item, x: float, y: float) -> Shape:
        """Return the interval of the predicted class, drawn on the scale of the bar."""
        if item.interval is None:
            return ()
        low, own, high = (self._bar * share for share in item.interval)
        return (
            Box(x, y - 0.5, self._bar, 1, "#ddd"),
            Box(x + low, y - 1.5, max(high - low, 1.0), 3, item.fill),
            Box(x + own - 1.5, y - 5, 3, 10, item.fill),
        )

    def _leaf_width(self, item: Item) -> float:
        if not item.bar and not item.notes:
            return breadth(item.words, _LABEL)
        notes = (breadth(note, _NOTE) for note in item.notes)
        return self._bar + 8 + max(breadth(item.words, 13), *notes)


def _legend(name: str, categories: Sequence[str], said: str) -> tuple[Shape, float]:
    y = MARGIN + 13
    heading = Text(MARGIN, y, name, _NAME, "#222", bold=True)
    groups = [(_short(label), colour(code)) for code, label in enumerate(categories)]
    more = [(f"and {len(groups) - _KEYS} more", UNKNOWN)] if len(groups) > _KEYS else []
    keys, end = key(MARGIN + breadth(name) + 14, y - 11, [*groups[:_KEYS], *more])
    if not said:
        return (heading, keys), end
    below = Text(MARGIN, y + 20, said, _NOTE, "#555")
    return (heading, keys, below), max(end, MARGIN + breadth(said, _NOTE))


def _line(start: Point, end: Point, share: float, fill: str) -> Line:
    (x, y0), (_, y1) = start, end
    wide = _THINNEST + (_WIDEST - _THINNEST) * min(max(share, 0.0), 1.0)
    turn = x + _GAP
    return Line(start, (((turn, y0), (x + 8, y1), (turn, y1)), (end,)), wide, fill)


def _box_width(item: Item) -> float:
    notes = (breadth(note, _NOTE) for note in item.notes)
    return 24 + max(breadth(_short(item.words), _NAME), *notes)


def _short(words: str) -> str:
    return short(words, _LONGEST)
