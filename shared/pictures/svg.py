"""The elements of pictures whose layout is our own, as self-contained SVG."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

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


def document(width: float, height: float, title: str, parts: Iterable[str]) -> str:
    """Return a picture of parts on a plane from (0, 0) to (width, height)."""
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}"'
        f' width="{width:.0f}" height="{height:.0f}" role="img" font-family="sans-serif">'
    )
    return "\n".join([opening, f"<title>{escape(title)}</title>", *parts, "</svg>"])
