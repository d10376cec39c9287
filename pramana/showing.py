"""Display of results as pictures on axes and, in notebooks, as HTML that loads and runs nothing."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pramana.frames.sentences import one_sentence
from pramana.frames.tables import shown
from pramana_core.errors import OptionError
from pramana_core.pictures import plots
from pramana_core.pictures.plots import Chart
from pramana_core.pictures.svg import escape, short

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from pramana_core.pictures.plots import Picture

DIGITS = 12
"""The number of digits shown of a plan's digest."""

ROWS = 12
"""The largest number of rows of a table in a card."""

_LARGEST = 1_000_000
"""The largest SVG in a card, in characters; a larger picture is replaced by a hint to draw it."""

_SMALLEST = 0.6
"""The smallest scale of a picture; in a narrower cell the picture scrolls."""

_LONGEST = 60
"""The longest text in a cell, in characters."""

_CARD = "max-width:100%;box-sizing:border-box;line-height:1.4"
_HEAD = "font-weight:600;overflow-wrap:anywhere"
_SCROLL = "max-width:100%;overflow:auto;margin:0.5em 0"
_WHITE = "background:#fff;color:#222;border:1px solid rgba(128,128,128,0.4);border-radius:4px"
_FAINT = "opacity:0.75;overflow-wrap:anywhere"


class Drawn:
    """A result with a picture; a notebook also shows its printed form, notes and main numbers."""

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the picture and return the axes.

        Args:
            ax: matplotlib axes to draw on; None creates a figure of the picture's size. A grid of
                axes needs `layout="constrained"`, to make room for names on the left of an axis.

        Raises NotFitted, OptionError.
        """
        return plotted(self._picture(), ax)

    @abstractmethod
    def _picture(self) -> Picture:
        """Return the picture of `plot`."""

    def _notes(self) -> Sequence[str]:
        return ()

    def _numbers(self) -> pd.DataFrame | None:
        return None

    def _repr_html_(self) -> str | None:
        with one_sentence():
            notes = "".join(_line(words, _FAINT) for words in self._notes())
            picture, table = _drawn(self._picture().svg()), self._numbers()
        rows = "" if table is None else _table(table)
        return f'<div style="{_CARD}">{_line(repr(self), _HEAD)}{notes}{picture}{rows}</div>'


def _line(words: str, style: str) -> str:
    return f'<div style="{style}">{escape(words)}</div>'


def _drawn(svg: str) -> str:
    if len(svg) > _LARGEST:
        return _line("The picture is large; plot() draws it.", _FAINT)
    head, rest = svg.split(">", 1)
    _, _, width, _ = head.split('viewBox="')[1].split('"')[0].split()
    points = 'width="' in head and "pt" in head
    least = _SMALLEST * float(width) * (96 / 72 if points else 1)
    style = f"max-width:100%;min-width:{least:.0f}px;height:auto;display:block"
    return f'<div style="{_SCROLL};{_WHITE};max-height:48em">{head} style="{style}">{rest}</div>'


def _table(frame: pd.DataFrame) -> str:
    import pandas as pd

    html: str = (
        frame.head(ROWS)
        .map(_cell)
        .to_html(
            index=not isinstance(frame.index, pd.RangeIndex),
            border=0,
            float_format=lambda x: f"{x:.4g}" if abs(x) < 1000 else f"{x:,.1f}",
            na_rep="",
        )
    )
    more = f"the first {ROWS} of {len(frame):,} rows" if len(frame) > ROWS else ""
    return f'<div style="{_SCROLL};white-space:nowrap">{html}</div>{more and _line(more, _FAINT)}'


def _cell(value: object) -> object:
    if isinstance(value, frozenset):
        value = ", ".join(sorted(map(str, value)))
    return short(value, _LONGEST) if isinstance(value, str) else value


MOST = 40
"""The largest number of rows in a chart."""

_CATEGORY = "="
"""The text between a variable and its category."""


def counts_chart(frame: pd.DataFrame, names: Sequence[str], between: str = ", ") -> Chart:
    """Return a chart of a table's cells, one row per cell, with the count and its interval.

    The thick line spans one standard error given these records, the error by randomization alone,
    on each side of the estimate. The thin line is the interval against the population.
    """
    shown = frame.head(MOST)
    value = "share" if "share" in frame.columns else "count"
    labels = [between.join(map(str, row)) for row in shown[list(names)].to_numpy(dtype=object)]
    numbers = shown[[value, "se_records", "low", "high"]].to_numpy(dtype=float)
    notes = [_count(number) if value == "count" else f"{number:.3f}" for number in numbers[:, 0]]

    def draw(axes: Sequence[Axes]) -> None:
        (axis,) = axes
        plots.rows(axis, labels, notes)
        for row, (estimate, noise, low, high) in enumerate(numbers):
            words = f"{labels[row]}: {notes[row]} ({_count(low)} to {_count(high)})"
            if noise > 0:
                ends = [estimate - noise, estimate + noise]
                axis.plot(ends, [row] * 2, color=plots.BLUE, linewidth=6, alpha=0.35)
            plots.interval(axis, row, estimate, (low, high), words)
        axis.axvline(0.0, color="#555555", linewidth=1)
        axis.set_xlabel(
            f"{value}\nline: interval against the population; band: the noise alone, one standard"
            " error",
            fontsize=9,
        )
        axis.set_title(heading, parse_math=False)

    cut = f": the first {MOST} of {len(frame):,} cells" if len(frame) > MOST else ""
    of = "of each variable" if between == _CATEGORY else f"by {', '.join(names)}"
    heading = f"Estimated {value}s {of}{cut}"
    width, height = plots.size_of(labels, notes)
    return Chart(heading, "counts", (width, height), draw)


def _count(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 10 else f"{number:.3g}"


def plotted(picture: Picture, ax: object) -> Axes:
    """Draw a picture on axes, or on a new figure if `ax` is None, and return the axes."""
    from matplotlib.axes import Axes

    if ax is not None and not isinstance(ax, Axes):
        raise OptionError(
            f"ax must be one matplotlib Axes, not {_describe(ax)}; write fig, ax ="
            " plt.subplots() and pass ax, or omit ax.",
            where="ax",
        )
    return picture.on(ax)


def _describe(ax: object) -> str:
    shape = getattr(ax, "shape", None)
    return f"an array of them of shape {shape}" if shape is not None else shown(ax)
