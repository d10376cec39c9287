"""Pictures with our own layout, as shapes that become SVG or are drawn on matplotlib axes.

On axes, letters and lines are scaled with the picture, whatever the size of the axes. Titles, which
SVG shows under the pointer, are left out there.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.patches import Patch
    from matplotlib.text import Text as DrawnText

PALETTE = ("#2f6f9f", "#b5651d", "#4d7c3a", "#7d4f8f", "#8a8a1f", "#a63d57", "#3b8686", "#666666")
"""Fill colours of groups; white text is legible on all of them."""

_LETTER, _CAPITAL = 4 / 7, 0.73
"""Widths of small and capital letters relative to the font size, a little above common fonts."""

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML documents must not contain, not even escaped (XML 1.0, 2.2)."""


def printable(words: str) -> str:
    """Return text in which U+FFFD replaces each character that XML forbids."""
    return _NOT_XML.sub("\ufffd", words)


def escape(words: str) -> str:
    """Return text escaped for SVG."""
    return html.escape(printable(words))


def short(words: str, most: int) -> str:
    """Return printable text on one line, shortened to at most `most` characters."""
    line = " ".join(printable(words).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def breadth(words: str, size: float = 14) -> float:
    """Return the approximate width of a line of text in a font of a size."""
    return size * sum(_CAPITAL if letter.isupper() else _LETTER for letter in words)


Point = tuple[float, float]

Shape: TypeAlias = "Text | Box | Line | Group | tuple[Shape, ...]"
"""A part of a picture; a tuple of shapes is drawn in order."""

MIDDLE, END = "middle", "end"
"""Anchors of texts: the given position is the middle or the end of the text."""

_SIDES = {"": "left", MIDDLE: "center", END: "right"}


@dataclass(frozen=True)
class Text:
    """A line of text. `anchor` is its part at (x, y), `outline` the width of its white outline."""

    x: float
    y: float
    words: str
    size: int = 12
    fill: str = "#333"
    anchor: str = ""
    bold: bool = False
    outline: int = 0

    def svg(self) -> str:
        look = f'font-size="{self.size}" fill="{self.fill}"'
        if self.anchor:
            look += f' text-anchor="{self.anchor}"'
        if self.bold:
            look += ' font-weight="600"'
        if self.outline:
            look += f' stroke="#fff" stroke-width="{self.outline}" paint-order="stroke"'
        return f'<text x="{self.x:.1f}" y="{self.y:.1f}" {look}>{escape(self.words)}</text>'

    def on(self, sheet: Sheet) -> None:
        """Draw the text no wider than in SVG, because DejaVu Sans is wider than browser fonts."""
        words = printable(self.words)
        text = sheet.axis.text(
            *sheet.at(round(self.x, 1), round(self.y, 1)),
            words,
            color=self.fill,
            alpha=sheet.opacity,
            ha=_SIDES[self.anchor],
            va="baseline",
            weight="bold" if self.bold else "normal",
            family="DejaVu Sans",
            parse_math=False,
        )
        wide = max(_drawn_breadth(text, self.size), 1.0)
        size = min(self.size, self.size * breadth(words, self.size) / wide)
        sheet.put(text, partial(_resize, text, size, self.outline))


@dataclass(frozen=True)
class Box:
    """A rectangle, optionally with round corners and a thin outline."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    rounding: int = 0
    stroke: str = ""

    def svg(self) -> str:
        size = f'width="{self.width:.2f}" height="{self.height:.1f}" fill="{self.fill}"'
        if self.rounding:
            size += f' rx="{self.rounding}"'
        if self.stroke:
            size += f' stroke="{self.stroke}"'
        return f'<rect x="{self.x:.2f}" y="{self.y:.1f}" {size}/>'

    def on(self, sheet: Sheet) -> None:
        from matplotlib.patches import FancyBboxPatch, Rectangle

        corner = sheet.at(round(self.x, 2), round(self.y, 1))
        sides = round(self.width, 2), round(self.height, 1)
        patch: Patch = Rectangle(corner, *sides)
        if self.rounding:
            style = f"round,pad=0,rounding_size={self.rounding}"
            patch = FancyBboxPatch(corner, *sides, boxstyle=style)
        sheet.patch(patch, self.fill, self.stroke or "none", 1)


@dataclass(frozen=True)
class Line:
    """A line of straight (one point) or curved (three) segments, optionally with an arrow."""

    start: Point
    stretches: Sequence[tuple[Point, ...]]
    width: float
    colour: str
    tip: bool = False

    def svg(self) -> str:
        path = f"M{self.start[0]:.1f},{self.start[1]:.1f}"
        for points in self.stretches:
            places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            path += f" {'L' if len(points) == 1 else 'C'}{places}"
        look = f'fill="none" stroke="{self.colour}" stroke-width="{self.width:.2f}"'
        return f'<path d="{path}" {look}{_TIPPED if self.tip else ""}/>'

    def on(self, sheet: Sheet) -> None:
        """Draw the line and its arrow, in the direction of the last segment."""
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path
        from matplotlib.transforms import Affine2D

        points = [self.start, *(point for points in self.stretches for point in points)]
        places = [sheet.at(round(x, 1), round(y, 1)) for x, y in points]
        codes = [Path.MOVETO]
        for stretch in self.stretches:
            codes += [Path.LINETO] if len(stretch) == 1 else [Path.CURVE4] * 3
        sheet.patch(PathPatch(Path(places, codes)), "none", self.colour, round(self.width, 2))
        if self.tip:
            (x0, y0), (x, y) = places[-2:]
            turned = Affine2D().rotate(math.atan2(y - y0, x - x0)).translate(x, y)
            shape = turned.transform_path(Path([*_TIP, _TIP[0]], closed=True))
            sheet.patch(PathPatch(shape), _TIP_COLOUR, "none", 1)


_TIP_COLOUR, _TIP = "#555", ((-4.0, -5.0), (6.0, 0.0), (-4.0, 5.0))
"""The colour of an arrow, and its corners relative to the end of a line toward the right."""

_TIPPED = ' marker-end="url(#tip)"'
_MARKER = (
    '<defs><marker id="tip" viewBox="0 0 10 10" refX="4" refY="5" markerWidth="10"'
    ' markerHeight="10" markerUnits="userSpaceOnUse" orient="auto">'
    f'<path d="M0,0 L10,5 L0,10 z" fill="{_TIP_COLOUR}"/></marker></defs>'
)


@dataclass(frozen=True)
class Group:
    """Shapes that belong together, placed at `place` in the surrounding picture.

    `title` appears under the pointer. With `apart`, each shape is on its own line of the SVG text.
    """

    parts: Sequence[Shape]
    title: str = ""
    opacity: str = ""
    place: Point | None = None
    apart: bool = False

    def svg(self) -> str:
        opening = "<g"
        if self.opacity:
            opening += f' opacity="{self.opacity}"'
        if self.place:
            opening += f' transform="translate({self.place[0]:.0f},{self.place[1]:.0f})"'
        opening += f"><title>{escape(self.title)}</title>" if self.title else ">"
        return ("\n" if self.apart else "").join([opening, *map(_written, self.parts), "</g>"])

    def on(self, sheet: Sheet) -> None:
        x, y = self.place or (0.0, 0.0)
        shade = sheet.opacity * float(self.opacity or 1)
        _draw(self.parts, replace(sheet, origin=sheet.at(round(x), round(y)), opacity=shade))


def _written(shape: Shape) -> str:
    return "".join(map(_written, shape)) if isinstance(shape, tuple) else shape.svg()


def _draw(shapes: Iterable[Shape], sheet: Sheet) -> None:
    for shape in shapes:
        if isinstance(shape, tuple):
            _draw(shape, sheet)
        else:
            shape.on(sheet)


_UNITS = 96
"""The number of units of a picture (pixels) in an inch."""

_LARGEST = 200.0
"""The largest side in inches, because matplotlib draws at most 65,535 pixels on a side."""


@dataclass(frozen=True)
class Layout:
    """A picture with our own layout, from (0, 0) to (width, height).

    Screen readers read `title`. Each part is on its own line of the SVG text. With `tips`, lines
    end in arrows.
    """

    width: float
    height: float
    title: str
    parts: Sequence[Shape]
    tips: bool = False

    def svg(self) -> str:
        """Return the picture as SVG that loads no other file."""
        width, height = f"{self.width:.0f}", f"{self.height:.0f}"
        opening = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
            f' width="{width}" height="{height}" role="img" font-family="sans-serif">'
        )
        lines = [opening, f"<title>{escape(self.title)}</title>", *([_MARKER] * self.tips)]
        return "\n".join([*lines, *map(_written, self.parts), "</svg>"])

    def on(self, axis: Axes | None = None) -> Axes:
        """Draw the picture to scale on axes, or on a new pyplot figure if None."""
        width, height = round(self.width), round(self.height)
        if axis is None:
            axis = own_axes((min(width / _UNITS, _LARGEST), min(height / _UNITS, _LARGEST)))
        axis.set(xlim=(0, width), ylim=(height, 0), aspect="equal")
        axis.axis("off")
        sheet = Sheet(axis, [])
        _draw(self.parts, sheet)
        axis.add_artist(_scaled(axis, sheet.resized))
        return axis


def own_axes(size: tuple[float, float]) -> Axes:
    """Return the axes of a new pyplot figure, whose width and height are given in inches."""
    from matplotlib import pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


_Resize = Callable[[float], None]
"""A function that resizes an artist, given how many points are one unit of the picture."""


@dataclass(frozen=True)
class Sheet:
    """Axes on which shapes are drawn relative to an origin, and the artists to resize with them.

    Positions are rounded as in SVG, so that both pictures are the same.
    """

    axis: Axes
    resized: list[_Resize]
    origin: Point = (0.0, 0.0)
    opacity: float = 1.0

    def at(self, x: float, y: float) -> Point:
        """Return the position on the axes of a point given in the sheet's coordinates."""
        return x + self.origin[0], y + self.origin[1]

    def patch(self, patch: Patch, fill: str, stroke: str, width: float) -> None:
        """Draw a filled patch with an outline of a width; the colour "none" means no colour."""
        patch.set(facecolor=fill, edgecolor=stroke, alpha=self.opacity, capstyle="butt")
        self.axis.add_patch(patch)
        self.put(patch, lambda scale: patch.set_linewidth(width * scale))

    def put(self, artist: Artist, resize: _Resize) -> None:
        """Add an artist above earlier artists, and exclude it from automatic layouts."""
        self.resized.append(resize)
        artist.set(zorder=2 + len(self.resized) / 1000, in_layout=False, clip_on=True)


def _drawn_breadth(text: DrawnText, size: float) -> float:
    from matplotlib.textpath import text_to_path

    font = text.get_fontproperties().copy()
    font.set_size(size)
    width, _, _ = text_to_path.get_text_width_height_descent(text.get_text(), font, ismath=False)
    return float(width)


def _resize(text: DrawnText, size: float, outline: float, scale: float) -> None:
    from matplotlib.patheffects import withStroke

    text.set_fontsize(size * scale)
    if outline:
        text.set_path_effects([withStroke(linewidth=outline * scale, foreground="#fff")])


def _scaled(axis: Axes, resized: Sequence[_Resize]) -> Artist:
    """Return an invisible artist that is drawn first and then resizes the other artists."""
    from matplotlib.artist import Artist

    class Scale(Artist):
        def draw(self, renderer: Any) -> None:  # noqa: ARG002 - matplotlib's
            (x0, _), (x1, _) = axis.transData.transform([(0, 0), (1, 0)])
            for resize in resized:
                resize((x1 - x0) * 72 / axis.figure.dpi)

    scale = Scale()
    scale.set(zorder=-1e9, in_layout=False)
    return scale


def colour(code: int) -> str:
    """Return the colour of a category by its code."""
    return PALETTE[code % len(PALETTE)]


def key(x: float, y: float, groups: Iterable[tuple[str, str]]) -> tuple[Shape, float]:
    """Return a line of the legend, names with their colours, and the x at which the line ends."""
    parts: list[Shape] = []
    for name, colour in groups:
        parts += [Box(x, y, 13, 13, colour, rounding=3), Text(x + 19, y + 11, name, 13)]
        x += 40 + breadth(name, 13)
    return tuple(parts), x


_OPENING = re.compile(r'<svg\b[^>]*?viewBox="0 0 ([\d.]+) ([\d.]+)"[^>]*>', re.DOTALL)
_SIDES_OF_IT = re.compile(r'\s(?:width|height)="[^"]*"')

_CAPTION, _SMALLEST = 12, 10
"""The letter size of a caption, and the smallest size, for narrow pictures."""


def captioned(picture: str, words: str) -> str:
    """Return a picture on white with a caption below; without words, return it unchanged."""
    found = _OPENING.search(picture)
    if found is None or not words:
        return picture
    width, height = float(found[1]), float(found[2])
    size = max(_SMALLEST, min(_CAPTION, int((width - 16) / breadth(words, 1))))
    wide, high = max(width, breadth(words, size) + 16), height + 2 * size
    unit = "pt" if 'pt"' in found[0] else ""
    inside = f'<svg width="{width:g}" height="{height:g}"'
    inside += _SIDES_OF_IT.sub("", found[0]).removeprefix("<svg")
    ground = Box(0, height, wide, 2 * size, "#fff").svg()
    line = Text(8, height + 1.2 * size, words, size).svg()
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:g} {high:g}"'
        f' width="{wide:g}{unit}" height="{high:g}{unit}" font-family="sans-serif">\n'
        f"{inside}{picture[found.end() :].rstrip()}\n{ground}{line}\n</svg>\n"
    )
