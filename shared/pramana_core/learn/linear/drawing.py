"""Pictures of a linear classifier's weights with their errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pramana_core.learn.linear.columns import Column
from pramana_core.learn.linear.model import LinearClassifier, Plane, Weight
from pramana_core.pictures import plots
from pramana_core.pictures.plots import Chart
from pramana_core.pictures.svg import breadth, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PALE = 0.35
_MARGIN = 0.05
"""Space beyond bars and intervals on an axis, as a share of its width."""

_LONGEST = 36
"""The maximum length of a title; the intercept is written to its right."""

_AROUND = 24
"""The space on each side of the heading, in points."""


def weights_chart(model: LinearClassifier) -> Chart:
    """Return a picture of the weights, each multiplied by the standard deviation of its column.

    Lines are 95 % intervals. A bar is pale if the interval of its weight contains 0.
    """

    def draw(axes: Sequence[Axes]) -> None:
        for axis, plane in zip(axes, model.planes, strict=True):
            _draw_plane(axis, model, plane)
        axes[-1].set_xlabel("weight × standard deviation of its column", fontsize=9)

    notes = [_written(weight) for plane in model.planes for weight in plane.weights]
    width, height = plots.size_of([column.name for column in model.columns], notes)
    heading = (breadth(_summary(model), 10) + _AROUND) / 72
    size = max(width, heading), 0.55 + height * len(model.planes)
    title = "Linear classifier: weights"
    return Chart(title, "weights", size, draw, _summary(model) + "\n", len(model.planes))


def _draw_plane(axis: Axes, model: LinearClassifier, plane: Plane) -> None:
    intercept, *weights = plane.weights
    notes = [_written(weight) for weight in weights]
    plots.rows(axis, [column.name for column in model.columns], notes)
    axis.set_xlim(_reach(model.columns, weights))
    for row, (column, weight) in enumerate(zip(model.columns, weights, strict=True)):
        value, ends = weight.estimate * column.deviation, weight.interval
        sure = ends is None or not ends[0] <= 0 <= ends[1]
        colour = plots.BLUE if value >= 0 else plots.RED
        (bar,) = axis.barh(row, value, 0.6, color=colour, alpha=1.0 if sure else _PALE)
        plots.entitle(bar, f"{column.name}: {notes[row]}")
        if ends is not None:
            bounds = [end * column.deviation for end in ends]
            (line,) = axis.plot(
                bounds, [row] * 2, "|-", color=plots.BLACK, linewidth=1.4, markersize=7
            )
            plots.entitle(line, f"{column.name}: {ends[0]:.3g} to {ends[1]:.3g}")
    axis.axvline(0.0, color="#555555", linewidth=1)
    title = f"{model.target.name} = {plane.positive}"
    axis.set_title(short(title, _LONGEST), parse_math=False)
    axis.set_title(f"intercept {_written(intercept)}", loc="right", fontsize=9, fontweight="normal")


def _reach(columns: Sequence[Column], weights: Sequence[Weight]) -> tuple[float, float]:
    reach = [0.0]
    for column, weight in zip(columns, weights, strict=True):
        reach += [v * column.deviation for v in (weight.estimate, *(weight.interval or ()))]
    margin = _MARGIN * (max(reach) - min(reach)) or 1.0
    return min(reach) - margin, max(reach) + margin


def _written(weight: Weight) -> str:
    error = "" if weight.se is None else f" ± {weight.se:.2g}"
    return f"{weight.estimate:.3g}{error}"


def _summary(model: LinearClassifier) -> str:
    summary = f"{model.options.loss}, {model.records:,} records"
    known = any(weight.se is not None for plane in model.planes for weight in plane.weights)
    errors = "" if known else "; the errors of the weights are unknown"
    return f"{summary}; a bar is a weight times its column's standard deviation{errors}"
