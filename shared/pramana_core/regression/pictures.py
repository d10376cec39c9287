"""The picture of a regression: its coefficients with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pramana_core.pictures import plots
from pramana_core.pictures.plots import Chart
from pramana_core.pictures.svg import breadth, short
from pramana_core.regression.model import RegressionModel
from pramana_core.regression.words import number, summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROWS_DRAWN = 60
"""The maximum number of coefficients in a picture."""

_LONGEST = 40


def coefficients_chart(model: RegressionModel) -> Chart:
    """Return a picture of coefficients, each multiplied by the standard deviation of its term."""
    shown = model.coefficients[1 : 1 + ROWS_DRAWN]
    notes = [f"{number(one.estimate, 3)} ± {number(one.se, 2)}" for one in shown]

    def draw(axes: Sequence[Axes]) -> None:
        (axis,) = axes
        plots.rows(axis, [one.term for one in shown], notes)
        for row, one in enumerate(shown):
            scale = one.deviation
            low, high = one.interval
            plots.interval(
                axis, row, one.estimate * scale, (low * scale, high * scale),
                f"{one.term}: {notes[row]}", plots.BLUE, hollow=low <= 0 <= high,
            )  # fmt: skip
        axis.axvline(0.0, color="#555555", linewidth=1)
        label = f"change of {short(model.target, _LONGEST)} per standard deviation of the term"
        axis.set_xlabel(label, fontsize=9, parse_math=False)

    width, height = plots.size_of([one.term for one in shown], notes)
    score = "" if model.score is None else f"; R2 of left-out records {number(model.score.r2, 3)}"
    heading = f"{summary(model)}{score}"
    size = max(width, breadth(heading, 10) / 72 + 0.4), height + 0.35
    return Chart("Regression: coefficients", "coefficients", size, draw, heading)
