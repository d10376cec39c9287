"""One style for all pictures with axes, legible in print and to colour-blind readers.

Colours are from Okabe and Ito (2008); line styles or markers differ as well. Drawing a picture
again gives the same bytes. Pictures are drawn in turn, because matplotlib's settings are global.
"""

from __future__ import annotations

import io
import re
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pramana_core.pictures.svg import breadth, escape, own_axes, printable, short

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

BLACK, GREY = "#222222", "#8a8a8a"
BLUE, ORANGE, GREEN, RED, PURPLE, SKY = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
)

_ACROSS, _AROUND, _ROW = 5.5, 0.85, 0.25
"""Lengths in a picture with rows, in inches: axis width, height around the rows, row height."""

_STYLE: dict[Any, Any] = {
    "font.size": 11,
    "font.family": "DejaVu Sans",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 11,
    "axes.edgecolor": "#666666",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e6e6",
    "xtick.color": "#444444",
    "ytick.color": "#444444",
    "legend.frameon": False,
    "legend.fontsize": 10,
    "lines.linewidth": 1.8,
    "svg.fonttype": "none",
}

_OF_ROW = 0.85
"""The largest height of letters, as a share of the height of their row."""

_LONGEST = 60
"""The maximum length of the name, and of the note, of a row."""

_TITLE = "title: "
"""The prefix of the id of an SVG group that gets a title."""

_GROUP = re.compile(r"""<g id=(["'])(.*?)\1""", re.DOTALL)

_SHEET = re.compile(
    r"<defs>\s*<style[^>]*>\*\{stroke-linejoin: round; stroke-linecap: butt\}</style>\s*</defs>"
)
_LINES = ' stroke-linejoin="round" stroke-linecap="butt"'

_ONE_AT_A_TIME = threading.Lock()


def picture(
    draw: Callable[[Figure], None], size: tuple[float, float], form: str, salt: str, **how: Any
) -> bytes:
    """Return a figure with a width and height in inches, as `png` or `svg` of matplotlib.

    `draw` draws on the figure. `salt` makes the ids in the figure unique. `how` holds further
    arguments for `savefig`.
    """
    from matplotlib.figure import Figure

    buffer = io.BytesIO()
    with styled({"svg.hashsalt": salt}), warnings.catch_warnings():
        # The browser has fonts for characters that ours lack.
        warnings.filterwarnings("ignore", message="Glyph")
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        figure.savefig(buffer, format=form, **how)
    return buffer.getvalue()


@contextmanager
def styled(more: Mapping[Any, Any] = MappingProxyType({})) -> Iterator[None]:
    """Apply our style while a picture is drawn, in one thread at a time."""
    import matplotlib as mpl

    with _ONE_AT_A_TIME, mpl.rc_context({**_STYLE, **more}):
        yield


def svg(
    draw: Callable[[Figure], None], size: tuple[float, float], salt: str, title: str = ""
) -> str:
    """Return a figure as SVG that loads no other file and can be embedded in a page.

    `salt` must be unique within a page, so that ids never collide. Screen readers read `title`.
    """
    found = picture(draw, size, "svg", salt, metadata={"Date": None, "Creator": None})
    text = printable(found.decode())
    opening, rest = text[text.index("<svg") :].split(">", 1)
    rest = re.sub("<metadata>.*?</metadata>", "", rest, count=1, flags=re.DOTALL)
    # A style sheet would apply to the whole page, so the drawing has attributes instead.
    rest, sheets = _SHEET.subn("", rest, count=1)
    opening += _LINES * sheets
    named = f' role="img"><title>{escape(title)}</title>' if title else ">"
    return opening + named + _GROUP.sub(_group, rest)


def _group(found: re.Match[str]) -> str:
    """Return the opening tag of a group, with its title or, if it has none, without its id."""
    words = found[2].removeprefix(_TITLE)
    return "<g" if words == found[2] else f"<g><title>{words}</title"


def entitle(artist: Artist, words: str) -> None:
    """Give an artist a title, which SVG shows while the pointer is on the artist."""
    artist.set_gid(_TITLE + printable(words))


def size_of(names: Sequence[str], notes: Sequence[str] = ()) -> tuple[float, float]:
    """Return the width and height, in inches, of a picture with a row for each name."""
    beside = (max((breadth(_cut(t), 9) for t in texts), default=0.0) for texts in (names, notes))
    return _ACROSS + sum(beside) / 72, _AROUND + _ROW * max(len(names), 1)


def _cut(words: str) -> str:
    return short(words, _LONGEST)


def rows(axis: Axes, names: Sequence[str], notes: Sequence[str] = ()) -> None:
    """Give an axis a row for each name, with row 0 at the top and notes to the right of the rows.

    Letters have 9 points, or are smaller if rows are too low.
    """
    axis_height = axis.get_window_extent().height * 72 / axis.figure.dpi
    size = min(9, _OF_ROW * axis_height / max(len(names), 1))
    axis.set_ylim(max(len(names), 1) - 0.4, -0.6)
    axis.set_yticks(range(len(names)), list(map(_cut, names)), fontsize=size, parse_math=False)
    axis.tick_params(axis="x", labelsize=size)
    axis.tick_params(axis="y", length=0)
    no_grid(axis, "y")
    axis.spines["left"].set_visible(False)
    right = axis.get_yaxis_transform()
    for place, note in enumerate(notes):
        axis.text(
            1.02, place, _cut(note), transform=right, va="center_baseline", fontsize=size,
            parse_math=False,
        )  # fmt: skip


def above(axis: Axes, x: float, words: str, across: str) -> None:
    """Write words above an axis at x; the coordinates `across` are `data` or `axes fraction`."""
    axis.annotate(
        words, (x, 1), (0, 4), xycoords=(across, "axes fraction"), textcoords="offset points",
        fontsize=9, annotation_clip=False,
    )  # fmt: skip


def interval(
    axis: Axes,
    row: int,
    value: float,
    ends: tuple[float, float],
    words: str,
    colour: str = BLUE,
    mark: str = "o",
    *,
    hollow: bool = False,
) -> None:
    """Draw a mark at a value and a line over its interval, in a row, with `words` as the title."""
    (line,) = axis.plot(
        [value, np.nan, *ends],  # nan breaks the line: an estimate may be outside its interval.
        [row] * 4,
        mark,
        linestyle="-",
        linewidth=2.5,
        solid_capstyle="butt",
        color=(colour, 0.5),
        markevery=[0],
        markersize=6,
        markeredgecolor=colour,
        markerfacecolor="white" if hollow else colour,
    )
    entitle(line, words)


def shades(count: int) -> list[tuple[float, float, float, float]]:
    """Return colours for an ordered series, from dark to light, which also differ in grey."""
    from matplotlib import colormaps

    return [colormaps["viridis"](share) for share in np.linspace(0.0, 0.85, count)]


def no_grid(axis: Axes, which: str) -> None:
    """Remove the grid lines across one axis (`x` or `y`)."""
    (axis.xaxis if which == "x" else axis.yaxis).grid(visible=False)


_ABOVE, _NEAR = 20.0, 4.0
"""The distance, in points, from axes to their title, with and without a line of words between."""

_HEADING, _SMALL, _SMALLER = 10, 9, 8
"""Font sizes in points, of headings, and of text around axes that the caller gave."""


class Picture(Protocol):
    """A picture that can be shown in a page or drawn on axes."""

    def svg(self) -> str:
        """Return the picture as SVG that loads no other file."""

    def on(self, axis: Axes | None = None) -> Axes:
        """Draw the picture on axes, or on the axes of a new pyplot figure, and return the axes."""


@dataclass(frozen=True)
class Chart:
    """A picture that matplotlib draws.

    Attributes:
        title, heading: the text for screen readers, and the text above all parts if the chart has a
            figure of its own.
        salt: a text that makes ids differ from those of other pictures in a page.
        size: width and height in inches.
        draw, parts, columns: the function that draws on `parts` axes, in rows of `columns`.
        legend: whether a legend of the first part's marks is drawn below the parts.
    """

    title: str
    salt: str
    size: tuple[float, float]
    draw: Callable[[Sequence[Axes]], None]
    heading: str = ""
    parts: int = 1
    legend: bool = False
    columns: int = 1

    def svg(self) -> str:
        """Return the picture as SVG."""

        def draw(figure: Figure) -> None:
            rows = -(-self.parts // self.columns)
            axes = list(figure.subplots(rows, self.columns, squeeze=False).ravel())[: self.parts]
            self.draw(axes)
            self._around(figure, axes[0])

        return svg(draw, self.size, self.salt, self.title)

    def on(self, axis: Axes | None = None) -> Axes:
        """Draw the picture on axes; several parts are drawn inside the axes in rows."""
        with styled():
            own = axis is None
            axis = own_axes(self.size) if axis is None else axis
            parts = [axis]
            if self.parts > 1:
                axis.axis("off")
                parts = [axis.inset_axes(place) for place in _places(self.parts, self.columns)]
            self.draw(parts)
            for part in parts:
                part.spines[["top", "right"]].set_visible(False)
            if own:
                self._around(axis.figure, parts[0])
            else:
                self._within(parts)
        return axis

    def _around(self, figure: Figure | SubFigure, axis: Axes) -> None:
        if self.heading:
            figure.suptitle(self.heading, x=0.01, ha="left", fontsize=_HEADING, parse_math=False)
        if self.legend and axis.get_legend_handles_labels()[0]:
            figure.legend(loc="outside lower left", ncols=3, fontsize=9)

    def _within(self, parts: Sequence[Axes]) -> None:
        """Write the text around axes that the caller gave, in smaller letters and shorter lines."""
        for part in parts:
            title = part.get_title(loc="left").replace(": ", ":\n", 1)
            pad = _ABOVE if len(parts) == 1 else _NEAR
            part.set_title(title, loc="left", fontsize=_SMALL, pad=pad, parse_math=False)
            beside = part.get_title(loc="right")
            part.set_title(beside, loc="right", fontsize=_SMALLER, fontweight="normal", pad=pad)
            label = part.get_xlabel().replace("; ", ";\n")
            part.set_xlabel(label, fontsize=_SMALLER, parse_math=False)
        if self.legend and parts[0].get_legend_handles_labels()[0]:
            parts[0].legend(loc="upper left", bbox_to_anchor=(0, -0.16), ncols=3, fontsize=_SMALLER)


def _places(parts: int, columns: int) -> list[tuple[float, float, float, float]]:
    high, wide = 1.0 / -(-parts // columns), 1.0 / columns
    inside, tall = (1.0, 0.6) if columns == 1 else (0.8 * wide, 0.75)
    return [
        ((k % columns) * wide, 1.0 - high * (k // columns + 0.8), inside, tall * high)
        for k in range(parts)
    ]
