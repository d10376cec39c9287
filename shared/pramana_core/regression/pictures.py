"""Pictures of regressions: coefficients or curves, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pramana_core.pictures import plots
from pramana_core.pictures.plots import Chart
from pramana_core.pictures.svg import breadth, short
from pramana_core.regression.model import Coefficient, Curve, RegressionModel
from pramana_core.regression.words import number, said_of_model

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROWS_DRAWN = 60
"""Of more coefficients only the first are drawn."""

_LONGEST = 40

_HEIGHT = 1.9
"""Inches of a curve."""


def effects_chart(model: RegressionModel) -> Chart:
    """Return the picture of what the model says of its features.

    Of a linear model it is the coefficients, each times its column's standard deviation, so that
    those of different units can be compared; of all others the curves of the mean prediction.
    """
    linear = model.options.model == "linear" or not model.curves
    return _coefficients_chart(model) if linear else _curves_chart(model)


def _coefficients_chart(model: RegressionModel) -> Chart:
    shown = model.coefficients[1 : 1 + ROWS_DRAWN]
    notes = [_written(one) for one in shown]

    def draw(axes: Sequence[Axes]) -> None:
        (axis,) = axes
        plots.rows(axis, [one.term for one in shown], notes)
        for row, one in enumerate(shown):
            scale = one.deviation
            low, high = one.interval
            sure = not low <= 0 <= high
            plots.interval(
                axis, row, one.estimate * scale, (low * scale, high * scale),
                f"{one.term}: {notes[row]}", plots.BLUE, hollow=not sure,
            )  # fmt: skip
        axis.axvline(0.0, color="#555555", linewidth=1)
        label = f"change of {short(model.target, _LONGEST)} by one standard deviation of the term"
        axis.set_xlabel(label, fontsize=9, parse_math=False)

    width, height = plots.size_of([one.term for one in shown], notes)
    heading = _heading(model)
    size = max(width, breadth(heading, 10) / 72 + 0.4), height + 0.35
    return Chart("Regression: coefficients", "coefficients", size, draw, heading)


def _curves_chart(model: RegressionModel) -> Chart:
    """Return how the mean prediction moves with each feature, with bands, one below another."""

    def draw(axes: Sequence[Axes]) -> None:
        ends = [end for curve in model.curves for end in (*curve.low, *curve.high)]
        beside = 0.05 * (max(ends) - min(ends)) or 1.0
        for axis, curve in zip(axes, model.curves, strict=True):
            _draw_curve(axis, curve)
            axis.set_ylim(min(ends) - beside, max(ends) + beside)
            axis.set_xlabel(short(curve.feature, _LONGEST), fontsize=9, parse_math=False)
            axis.tick_params(labelsize=9)

    heading = f"{_heading(model)}\nmean prediction of {short(model.target, _LONGEST)}"
    size = max(5.5, breadth(_heading(model), 10) / 72 + 0.4), 0.5 + _HEIGHT * len(model.curves)
    return Chart(
        "Regression: curves of the mean prediction", "curves", size, draw, heading,
        max(1, len(model.curves)),
    )  # fmt: skip


def _draw_curve(axis: Axes, curve: Curve) -> None:
    if isinstance(curve.at[0], str):
        places = np.arange(len(curve.at))
        error = np.abs(np.array([curve.low, curve.high]) - np.array(curve.mean))
        axis.errorbar(places, curve.mean, error, fmt="o", color=plots.BLUE, capsize=3)
        labels = [short(str(label), 14) for label in curve.at]
        axis.set_xticks(places, labels, parse_math=False)
        axis.set_xlim(-0.6, len(places) - 0.4)
        return
    places = np.array(curve.at, dtype=np.float64)
    axis.fill_between(places, curve.low, curve.high, color=plots.BLUE, alpha=0.2, linewidth=0)
    axis.plot(places, curve.mean, color=plots.BLUE)


def _heading(model: RegressionModel) -> str:
    score = "" if model.score is None else f"; R2 by records left out {number(model.score.r2, 3)}"
    return f"{said_of_model(model)}{score}"


def _written(one: Coefficient) -> str:
    return f"{number(one.estimate, 3)} ± {number(one.se, 2)}"
