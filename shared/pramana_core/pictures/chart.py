"""A picture as a value: the same one as SVG, and on matplotlib axes of somebody's own.

A `Chart` is what matplotlib draws, an `svg.Layout` what we lay out ourselves. matplotlib's
`pyplot`, which keeps figures and shows them in notebooks, is loaded only where no axes are given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pramana_core.pictures import plots
from pramana_core.pictures.svg import own_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

_ABOVE, _NEAR = 20.0, 4.0
"""Points between axes and their title, with and without room for a line of words."""

_HEADING, _SMALL, _SMALLER = 10, 9, 8
"""Points: of what stands above, and of what stands around given axes."""


class Picture(Protocol):
    """What can be shown in a page and on axes."""

    def svg(self) -> str:
        """Return it as SVG that loads nothing."""

    def on(self, axis: Axes | None = None) -> Axes:
        """Draw it on axes, or on those of a new figure of pyplot's, and return them."""


@dataclass(frozen=True)
class Chart:
    """A picture that matplotlib draws.

    Attributes:
        title: what it shows, for those who cannot see it.
        salt: makes its ids differ from those of other pictures in a page.
        size: width and height in inches, of a figure of its own.
        draw: draws on as many axes as there are parts.
        heading: stands above all parts; left out on given axes, which have little room.
        parts: how many axes, one below another.
        legend: whether the names of the first part's marks stand below.
        columns: how many axes stand beside each other, row after row.
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
        """Return it as SVG."""

        def draw(figure: Figure) -> None:
            rows = -(-self.parts // self.columns)
            axes = list(figure.subplots(rows, self.columns, squeeze=False).ravel())[: self.parts]
            self.draw(axes)
            self._around(figure, axes[0])

        return plots.svg(draw, self.size, self.salt, self.title)

    def on(self, axis: Axes | None = None) -> Axes:
        """Draw it on axes; several parts stand inside them, row after row."""
        with plots.styled():
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
        """Write what stands above and below all parts."""
        if self.heading:
            figure.suptitle(self.heading, x=0.01, ha="left", fontsize=_HEADING, parse_math=False)
        if self.legend and axis.get_legend_handles_labels()[0]:
            figure.legend(loc="outside lower left", ncols=3, fontsize=9)

    def _within(self, parts: Sequence[Axes]) -> None:
        """Write in smaller letters and shorter lines what stands around given axes."""
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
    """Return where inside axes so many parts stand, each below a line for its title."""
    high, wide = 1.0 / -(-parts // columns), 1.0 / columns
    inside, tall = (1.0, 0.6) if columns == 1 else (0.8 * wide, 0.75)
    return [
        ((k % columns) * wide, 1.0 - high * (k // columns + 0.8), inside, tall * high)
        for k in range(parts)
    ]
