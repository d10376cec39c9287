"""Draws on a matplotlib axes what `svg.py` lays out, so that a picture has one drawing.

Only the part of SVG that our own layouts use is understood: groups with a translation and an
opacity, rectangles, paths of M, L, C and z in absolute coordinates, markers at the ends of paths,
and lines of text. Letters and lines keep their size in proportion to the picture, whatever the size
of the axes. Titles, which a pointer would show, are left out.
"""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pramana_core.pictures.svg import breadth

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.path import Path
    from matplotlib.text import Text

_SVG = "{http://www.w3.org/2000/svg}"
_NUMBER = r"-?(?:\d+\.?\d*|\.\d+)"
_MOVE = re.compile(r"translate\(([^,]+),([^)]+)\)")
_STEP = re.compile(f"([MLCz])|({_NUMBER})")
_BOLD = "bold"
_ANCHORS = {None: "left", "middle": "center", "end": "right"}

_Resize = Callable[[float], None]
"""Sizes something drawn, told how many points one unit of the picture is."""


def size_of(picture: str) -> tuple[float, float]:
    """Return the width and height of a picture of ours, in units (pixels)."""
    root = ET.fromstring(picture)  # noqa: S314 - drawn by us
    _, _, width, height = root.attrib["viewBox"].split()
    return float(width), float(height)


def draw_on(axis: Axes, picture: str) -> None:
    """Draw a picture of ours on an axes: equal scales, no frame, limits that hold all of it.

    Args:
        axis: the axes; it keeps its place.
        picture: what `svg.document` returned.

    Raises:
        ValueError: an element that is not among those that our layouts use.
    """
    width, height = size_of(picture)
    axis.set(xlim=(0, width), ylim=(height, 0), aspect="equal")
    axis.axis("off")
    root = ET.fromstring(picture)  # noqa: S314 - drawn by us
    drawing = _Drawing(axis, {f"url(#{tip.id})": tip for tip in _tips(root)}, [])
    drawing.all_of(root, (0.0, 0.0), 1.0)
    axis.add_artist(_scale_class()(drawing.resized))


@dataclass(frozen=True)
class _Tip:
    """A marker: its shape around the end of a line that leads to the right, and its colour."""

    id: str
    shape: Path
    fill: str


def _tips(root: ET.Element) -> Iterator[_Tip]:
    from matplotlib.transforms import Affine2D

    for marker in root.iter(f"{_SVG}marker"):
        (path,) = marker.findall(f"{_SVG}path")
        scale = float(marker.attrib["markerWidth"]) / float(marker.attrib["viewBox"].split()[2])
        x, y = float(marker.attrib["refX"]), float(marker.attrib["refY"])
        moved = Affine2D().translate(-x, -y).scale(scale).transform_path(_path(path.attrib["d"]))
        yield _Tip(marker.attrib["id"], moved, path.attrib["fill"])


@dataclass(frozen=True)
class _Drawing:
    """An axes that is drawn on, the markers by reference, and what is to be sized with it."""

    axis: Axes
    tips: Mapping[str, _Tip]
    resized: list[_Resize]

    def all_of(self, group: ET.Element, at: tuple[float, float], opacity: float) -> None:
        """Draw what is in a group that stands at a place."""
        for element in group:
            kind, told = element.tag.removeprefix(_SVG), element.attrib
            if kind == "g":
                move = _MOVE.fullmatch(told["transform"]) if "transform" in told else None
                x, y = map(float, move.groups()) if move else (0.0, 0.0)
                shade = opacity * float(told.get("opacity", 1))
                self.all_of(element, (at[0] + x, at[1] + y), shade)
            elif kind == "rect":
                self._box(told, at, opacity)
            elif kind == "path":
                self._line(told, at, opacity)
            elif kind == "text":
                self._text(told, element.text or "", at, opacity)
            elif kind not in ("title", "defs"):
                raise ValueError(f"A picture of ours has no <{kind}>.")

    def _box(self, told: Mapping[str, str], at: tuple[float, float], opacity: float) -> None:
        from matplotlib.patches import FancyBboxPatch, Rectangle

        corner = float(told["x"]) + at[0], float(told["y"]) + at[1]
        width, height, rounding = (float(told.get(key, 0)) for key in ("width", "height", "rx"))
        look = _look(told, opacity)
        if rounding:
            style = f"round,pad=0,rounding_size={rounding}"
            self._add(FancyBboxPatch(corner, width, height, boxstyle=style, **look), told)
        else:
            self._add(Rectangle(corner, width, height, **look), told)

    def _line(self, told: Mapping[str, str], at: tuple[float, float], opacity: float) -> None:
        from matplotlib.patches import PathPatch
        from matplotlib.transforms import Affine2D

        path = Affine2D().translate(*at).transform_path(_path(told["d"]))
        self._add(PathPatch(path, **_look(told, opacity)), told)
        tip = self.tips.get(told.get("marker-end", ""))
        if tip is not None:
            (x0, y0), (x, y) = np.asarray(path.vertices, dtype=np.float64)[-2:].tolist()
            turned = Affine2D().rotate(math.atan2(y - y0, x - x0)).translate(x, y)
            shape = turned.transform_path(tip.shape)
            self._add(PathPatch(shape, facecolor=tip.fill, edgecolor="none", alpha=opacity), {})

    def _add(self, patch: Any, told: Mapping[str, str]) -> None:
        self.axis.add_patch(patch)
        width = float(told.get("stroke-width", 1))
        self.resized.append(lambda scale: patch.set_linewidth(width * scale))
        self._place(patch)

    def _text(
        self, told: Mapping[str, str], words: str, at: tuple[float, float], opacity: float
    ) -> None:
        text = self.axis.text(
            float(told["x"]) + at[0],
            float(told["y"]) + at[1],
            words,
            color=told["fill"],
            alpha=opacity,
            ha=_ANCHORS[told.get("text-anchor")],
            va="baseline",
            weight=_BOLD if "font-weight" in told else "normal",
            family="DejaVu Sans",
            parse_math=False,
        )
        size = float(told["font-size"])
        size = min(size, size * breadth(words, size) / max(_breadth(text, size), 1.0))
        outline = told.get("stroke"), float(told.get("stroke-width", 0))
        self.resized.append(partial(_resize, text, size, *outline))
        self._place(text)

    def _place(self, artist: Artist) -> None:
        """Draw in the order of the elements, and let no layout measure what is inside the axes."""
        artist.set_zorder(2 + len(self.resized) / 1000)
        artist.set_in_layout(False)
        artist.set_clip_on(True)


def _look(told: Mapping[str, str], opacity: float) -> dict[str, Any]:
    return {
        "facecolor": told.get("fill", "#000"),
        "edgecolor": told.get("stroke", "none"),
        "alpha": opacity,
        "capstyle": "butt",
    }


def _path(words: str) -> Path:
    """Return a path of absolute moves, lines and curves."""
    from matplotlib.path import Path

    codes = {"M": [Path.MOVETO], "L": [Path.LINETO], "C": [Path.CURVE4] * 3}
    places: list[tuple[float, float]] = []
    kinds: list[Any] = []
    numbers: list[float] = []
    for letter, number in _STEP.findall(words):
        numbers += [float(number)] if number else []
        if letter == "z":
            places.append(places[0])
            kinds.append(Path.CLOSEPOLY)
        elif letter:
            kinds += codes[letter]
        if len(numbers) == 2:
            places.append((numbers[0], numbers[1]))
            # A letter that is followed by more places than it has is meant for all of them.
            kinds += [kinds[-1]] * (len(places) - len(kinds))
            numbers = []
    return Path(places, kinds)


def _breadth(text: Text, size: float) -> float:
    """Return how wide a text is in its own font at a size."""
    from matplotlib.textpath import text_to_path

    font = text.get_fontproperties().copy()
    font.set_size(size)
    width, _, _ = text_to_path.get_text_width_height_descent(text.get_text(), font, ismath=False)
    return float(width)


def _resize(text: Text, size: float, stroke: str | None, width: float, scale: float) -> None:
    from matplotlib.patheffects import withStroke

    text.set_fontsize(size * scale)
    if stroke is not None:
        text.set_path_effects([withStroke(linewidth=width * scale, foreground=stroke)])


@cache
def _scale_class() -> Callable[[list[_Resize]], Artist]:
    """Return what is drawn before all else, gives it its size, and shows nothing itself."""
    from matplotlib.artist import Artist

    class Scale(Artist):
        def __init__(self, resized: list[_Resize]) -> None:
            super().__init__()
            self.resized = resized
            self.set_zorder(-1e9)
            self.set_in_layout(False)

        def draw(self, renderer: Any) -> None:  # noqa: ARG002 - matplotlib's
            axis, figure = self.axes, self.get_figure(root=True)
            if axis is None or figure is None:
                return
            (x0, _), (x1, _) = axis.transData.transform([(0, 0), (1, 0)])
            for resize in self.resized:
                resize((x1 - x0) * 72 / figure.dpi)

    return Scale
