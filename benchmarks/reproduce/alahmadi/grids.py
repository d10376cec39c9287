"""Small pictures in a grid: a row for each version of the records, a column for each relation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.reproduce.engine import Axes, Figure
from pramana_core.mask.pictures import share
from pramana_core.mixed.table import Floats
from pramana_core.pictures import plots

HIGH = 1.32
"""Inches of a row."""


def height(rows: int) -> float:
    """Return how high a grid of so many rows is, with what stands above and below, in inches."""
    return 1.1 + HIGH * rows


def grid(
    figure: Figure,
    rows: Sequence[str],
    columns: Sequence[str],
    draw: Callable[[Axes, int, int], None],
) -> None:
    """Draw small pictures whose axes are shared in each column.

    Args:
        figure: where.
        rows: the names of the rows, at the left.
        columns: the titles of the columns.
        draw: draws the picture of a row and a column.
    """
    axes = figure.subplots(len(rows), len(columns), squeeze=False)
    for row, name in enumerate(rows):
        for column, title in enumerate(columns):
            axis = axes[row, column]
            draw(axis, row, column)
            axis.tick_params(labelsize=7, length=2, pad=1.5)
            axis.locator_params(nbins=4)
            if row == 0:
                axis.set_title(title, fontsize=9, loc="center", parse_math=False)
            if column == 0:
                label = name.replace("nmegadp-", "nmegadp-\n").replace("synthetic-", "synthetic-\n")
                axis.set_ylabel(label, fontsize=9, rotation=0, ha="right", va="center")
            if row < len(rows) - 1:
                axis.set_xticklabels([])
    for column in range(len(columns)):
        share([axes[row, column] for row in range(len(rows))])


def note(axis: Axes, words: str) -> None:
    """Write a few words into the upper left corner of a small picture."""
    axis.text(
        0.04, 0.95, words, transform=axis.transAxes, ha="left", va="top", fontsize=7.5,
        parse_math=False, bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1},
    )  # fmt: skip


def refused(axis: Axes) -> None:
    """Say that a method refused."""
    axis.text(0.5, 0.5, "refused", transform=axis.transAxes, ha="center", fontsize=8,
              color=plots.GREY)  # fmt: skip


def dots(axis: Axes, x: Floats, y: Floats, colour: str = plots.BLUE) -> None:
    """Draw records as small dots."""
    axis.plot(x, y, ".", markersize=2.0, color=colour, alpha=0.5, markeredgewidth=0,
              rasterized=True)  # fmt: skip
