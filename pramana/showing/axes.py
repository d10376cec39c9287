"""The axes that people pass to `plot`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pramana.frames.tables import shown
from pramana_core.errors import OptionError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pramana_core.pictures.chart import Picture


def plotted(picture: Picture, ax: object) -> Axes:
    """Draw a picture on axes, on those of a new figure if `ax` is None, and return them.

    Raises:
        OptionError: `ax` is no axes of matplotlib's.
    """
    from matplotlib.axes import Axes

    if ax is not None and not isinstance(ax, Axes):
        raise OptionError(
            f"ax must be one matplotlib Axes, not {_told(ax)}; write fig, ax = plt.subplots() and"
            " pass ax, or leave it out.",
            where="ax",
        )
    return picture.on(ax)


def _told(ax: object) -> str:
    shape = getattr(ax, "shape", None)
    return f"an array of them of shape {shape}" if shape is not None else shown(ax)
