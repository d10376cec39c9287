"""The elements of pictures whose layout is our own, as self-contained SVG."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

PALETTE = ("#2f6f9f", "#b5651d", "#4d7c3a", "#7d4f8f", "#8a8a1f", "#a63d57", "#3b8686", "#666666")
"""Fill colours of groups, dark enough for white text."""

MIDDLE = 'text-anchor="middle"'
"""Of a text whose place is its middle."""

_LETTER, _CAPITAL = 4 / 7, 0.73
"""Widths of letters by the size of their font: a little more than those of common fonts."""

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""The characters that no XML document may hold, not even escaped (XML 1.0, 2.2)."""


def printable(words: str) -> str:
    """Return text that XML may hold: what it forbids becomes U+FFFD."""
    return _NOT_XML.sub("\ufffd", words)


def escape(words: str) -> str:
    """Return text for the inside of SVG."""
    return html.escape(printable(words))


def short(words: str, most: int) -> str:
    """Return printable text on one line, cut to a number of letters."""
    line = " ".join(printable(words).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def breadth(words: str, size: float = 14) -> float:
    """Return about how wide a line of text is in a font of a size."""
    return size * sum(_CAPITAL if letter.isupper() else _LETTER for letter in words)


def text(x: float, y: float, words: str, size: int = 12, fill: str = "#333", more: str = "") -> str:
    """Return a line of text; `more` are further attributes."""
    place = f'x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{fill}"'
    return f"<text {place}{more and ' '}{more}>{escape(words)}</text>"


def outlined(width: int) -> str:
    """Return what lets a text be read upon lines: an outline as white as the ground."""
    return f'stroke="#fff" stroke-width="{width}" paint-order="stroke"'


def box(x: float, y: float, width: float, height: float, fill: str, more: str = "") -> str:
    """Return a rectangle; `more` are further attributes."""
    place = f'x="{x:.2f}" y="{y:.1f}" width="{width:.2f}" height="{height:.1f}" fill="{fill}"'
    return f"<rect {place}{more and ' '}{more}/>"


def titled(words: str, *parts: str, more: str = "") -> str:
    """Return parts that tell more where the pointer rests on them."""
    return f"<g{more and ' '}{more}><title>{escape(words)}</title>{''.join(parts)}</g>"


def key(x: float, y: float, groups: Iterable[tuple[str, str]]) -> tuple[str, float]:
    """Return a legend of names and their colours in a line, and where it ends."""
    parts = []
    for name, colour in groups:
        parts += [box(x, y, 13, 13, colour, 'rx="3"'), text(x + 19, y + 11, name, 13)]
        x += 40 + breadth(name, 13)
    return "".join(parts), x


_OPENING = re.compile(
    r'<svg\b[^>]*?viewBox="0 0 (?P<width>[\d.]+) (?P<height>[\d.]+)"[^>]*>', re.DOTALL
)

_CAPTION, _SMALLEST = 12, 10
"""The letters of a line below a picture, and as small as they become where it is narrow."""


def captioned(picture: str, words: str) -> str:
    """Return a picture with a line of text below it, on white; as it is if there is no text."""
    found = _OPENING.search(picture)
    if found is None or not words:
        return picture
    width, height = float(found["width"]), float(found["height"])
    size = max(_SMALLEST, min(_CAPTION, int((width - 16) / breadth(words, 1))))
    wider, more = max(width, breadth(words, size) + 16), 2 * size
    opening = found[0].replace(
        f'viewBox="0 0 {found["width"]} {found["height"]}"',
        f'viewBox="0 0 {wider:g} {height + more:g}"',
    )
    opening = _resized(opening, "width", wider / width)
    opening = _resized(opening, "height", (height + more) / height)
    line = text(8, height + 1.2 * size, words, size, more='font-family="sans-serif"')
    ground = box(0, height, wider, more, "#fff")
    start, end = found.span()
    body = picture[end:].rstrip().removesuffix("</svg>")
    return f"{picture[:start]}{opening}{body}{ground}{line}\n</svg>\n"


def _resized(opening: str, side: str, by: float) -> str:
    """Return the opening of a picture with one of its sides multiplied."""

    def grown(found: re.Match[str]) -> str:
        return f"{found[1]}{float(found[2]) * by:g}{found[3]}"

    return re.sub(rf'(\s{side}=")([\d.]+)((?:pt|px)?")', grown, opening, count=1)


def document(width: float, height: float, title: str, parts: Iterable[str]) -> str:
    """Return a picture of parts on a plane from (0, 0) to (width, height)."""
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}"'
        f' width="{width:.0f}" height="{height:.0f}" role="img" font-family="sans-serif">'
    )
    return "\n".join([opening, f"<title>{escape(title)}</title>", *parts, "</svg>"])


# How trees are laid out from left to right: the row of each node, the columns, and the lines.
#
# What a node looks like is drawn where it is known what a node is.

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
