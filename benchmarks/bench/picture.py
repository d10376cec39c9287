"""The bench as a picture: a row for each ratio, left of 1 where we are quicker."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from benchmarks.bench.measuring import Result
from pramana_core.pictures import plots

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def picture(results: Sequence[Result]) -> bytes:
    """Return the ratios that have an aim as PNG; where it was missed they are orange, and hollow.

    The others stand in the table.
    """
    shown = [one for one in results if one.shown and one.aim is not None]
    names = [one.name for one in shown]
    notes = [f"{one.ratio:.2g} of {one.reference}" for one in shown]
    size = plots.size_of(names, notes)
    return plots.picture(partial(_draw, shown, names, notes), size, "png", "bench", dpi=100)


def _draw(
    results: Sequence[Result], names: Sequence[str], notes: Sequence[str], figure: Figure
) -> None:
    axis = figure.subplots()
    axis.set_xscale("log")
    axis.xaxis.set_major_formatter(lambda ratio, _place: f"{ratio:g}")
    axis.axvline(1.0, color=plots.BLACK, linewidth=1.0)
    for row, one in enumerate(results):
        colour = plots.ORANGE if one.missed else plots.BLUE
        plots.interval(axis, row, one.ratio, one.spread, one.name, colour, hollow=one.missed)
        if one.aim is not None:
            axis.plot([one.aim], [row], "|", color=plots.GREY, markersize=9, markeredgewidth=2)
    plots.rows(axis, names, notes)
    axis.set_xlabel("ours / theirs, less is better; a grey bar is the aim", fontsize=9)
