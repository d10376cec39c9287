"""One style for every picture: ten inches wide, legible at 1000 pixels, safe for the colour-blind.

The colours are those of Okabe and Ito (2008); curves that belong to one series also differ in line
style or marker, so that a grey print can be read.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLACK, GREY = "#222222", "#8a8a8a"
BLUE, ORANGE, GREEN, RED, PURPLE, SKY = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
)
MARKERS = "os^DvPX*<>"

_WIDTH = 10.0
_DPI = 150
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
}


def png(title: str, source: str, draw: Callable[[Figure], None], height: float) -> bytes:
    """Return a picture as PNG, 1500 pixels wide.

    Args:
        title: written above.
        source: written below, at the right.
        draw: draws on the figure.
        height: in inches.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    buffer = io.BytesIO()
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(_WIDTH, height), layout="constrained")
        draw(figure)
        figure.suptitle(title, x=0.01, ha="left", fontsize=13, fontweight="bold")
        figure.supxlabel(source, x=0.995, ha="right", fontsize=9, color="#666666")
        figure.savefig(buffer, format="png", dpi=_DPI)
    return buffer.getvalue()


def shades(count: int) -> list[tuple[float, float, float, float]]:
    """Return colours from dark to light for an ordered series, distinct also in grey."""
    from matplotlib import colormaps

    return [colormaps["viridis"](share) for share in np.linspace(0.0, 0.85, count)]


def no_grid(axis: Axes, which: str) -> None:
    """Leave the grid lines of one direction out (`x` or `y`)."""
    (axis.xaxis if which == "x" else axis.yaxis).grid(visible=False)
