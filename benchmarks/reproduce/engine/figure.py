"""An experiment's picture: ten inches wide, legible at 1000 pixels."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pramana_core.pictures.plots import picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WIDTH = 10.0
_DPI = 150


def png(title: str, source: str, draw: Callable[[Figure], None], height: float) -> bytes:
    """Return a picture as PNG, 1500 pixels wide.

    Args:
        title: written above.
        source: written below, at the right.
        draw: draws on the figure.
        height: in inches.
    """

    def whole(figure: Figure) -> None:
        draw(figure)
        figure.suptitle(title, x=0.01, ha="left", fontsize=13, fontweight="bold")
        figure.supxlabel(source, x=0.995, ha="right", fontsize=9, color="#666666")

    return picture(whole, (_WIDTH, height), "png", title, dpi=_DPI)
