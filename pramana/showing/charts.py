"""Charts of tables: estimated counts with their errors, and what is disclosed of each variable.

Also here:

* The axes that people pass to `plot`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pramana.frames.tables import shown
from pramana_core.errors import OptionError
from pramana_core.pictures import plots
from pramana_core.pictures.chart import Chart

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from pramana_core.pictures.chart import Picture


MOST = 40
"""Of more rows a chart shows the first."""

_PALE = 0.55

_CATEGORY = "="
"""Stands between a variable and its category."""


def counts_chart(frame: pd.DataFrame, names: Sequence[str], between: str = ", ") -> Chart:
    """Return a chart of a table's cells, a row each: the count and its interval.

    The thick line is the estimate with one standard error given these records to each side, the
    noise of randomization alone; the thin one the interval against the population.

    Args:
        frame: as `EstimatedCounts.table` returns it.
        names: the columns that say which cell it is.
        between: stands between their labels.
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


def privacy_chart(frame: pd.DataFrame, whole: float) -> Chart:
    """Return a chart of the epsilon of each variable's block, and of the whole record.

    Args:
        frame: as `Reports.privacy` returns it.
        whole: the epsilon of the whole record.
    """
    names = [*map(str, frame.index[:MOST]), "whole record"]
    values = [*map(float, frame["epsilon"].iloc[:MOST]), whole]
    finite = [value for value in values if math.isfinite(value)]
    most = max(finite, default=0.0) or 1.0
    kept = dict(zip(names, map(str, frame["channel"].iloc[:MOST]), strict=False))
    notes = [f"{_number(v)}  {kept.get(n, '')}".strip() for n, v in zip(names, values, strict=True)]

    def draw(axes: Sequence[Axes]) -> None:
        (axis,) = axes
        plots.rows(axis, names, notes)
        for row, value in enumerate(values):
            ends = math.isfinite(value)
            colour = plots.BLUE if row < len(values) - 1 else plots.BLACK
            (bar,) = axis.barh(
                row, value if ends else 1.15 * most, 0.6, color=colour if ends else plots.RED,
                alpha=1.0 if ends else _PALE, hatch="" if ends else "//",
            )  # fmt: skip
            plots.entitle(bar, f"{names[row]}: epsilon {notes[row]}")
        axis.set_xlim(0, 1.15 * most)
        unbounded = "; hatched: no bound" if len(finite) < len(values) else ""
        axis.set_xlabel(f"epsilon{unbounded}", fontsize=9)
        axis.set_title(heading, parse_math=False)

    heading = "What one record tells"
    width, height = plots.size_of(names, notes)
    return Chart(heading, "privacy", (width, height), draw)


def families_chart(frame: pd.DataFrame) -> Chart:
    """Return a chart of a design's families: the loss of each, by which they are ranked.

    Args:
        frame: as `Design.to_frame` returns it; what cannot do it is left out.
    """
    able = frame[frame["error"].notna()]
    names = list(map(str, able["family"]))
    losses = list(map(float, able["loss"]))
    chosen = list(map(bool, able["chosen"]))
    notes = [
        f"{loss:.3f}, error {100 * error:.3g} %, noise leaves {100 * kept:.0f} %"
        for loss, error, kept in zip(losses, able["error"], able["kept"], strict=True)
    ]

    def draw(axes: Sequence[Axes]) -> None:
        (axis,) = axes
        plots.rows(axis, names, notes)
        for row, (loss, one) in enumerate(zip(losses, chosen, strict=True)):
            (bar,) = axis.barh(row, loss, 0.6, color=plots.BLUE if one else plots.GREY)
            plots.entitle(bar, f"{names[row]}: {notes[row]}{' (chosen)' if one else ''}")
        axis.set_xlabel(
            "loss: 1 - correlation of associations as estimated and as they are; blue: chosen",
            fontsize=9,
        )
        axis.set_title(heading)

    heading = "Families side by side"
    return Chart(heading, "families", plots.size_of(names, notes), draw)


def _count(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 10 else f"{number:.3g}"


def _number(number: float) -> str:
    return f"{number:.3g}" if math.isfinite(number) else "no bound"


# The axes that people pass to `plot`.


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
