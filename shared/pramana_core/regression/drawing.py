"""Pictures of regressions: coefficients or curves with intervals, leaves, residuals and fits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from pramana_core.pictures import plots
from pramana_core.pictures.chart import Chart
from pramana_core.pictures.svg import breadth, short
from pramana_core.regression.documents import asked, number, said_of_model
from pramana_core.regression.forms import TreeForm, TreeNode
from pramana_core.regression.model import Coefficient, Curve, RegressionModel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROWS_DRAWN = 60
"""Of more coefficients or leaves only the first are drawn."""

_LONGEST = 40

_HEIGHT = 1.9
"""Inches of a curve."""


def effects_chart(model: RegressionModel) -> Chart:
    """Return the picture of what the model says of its features.

    Of a linear model it is the coefficients, each times its column's standard deviation, so that
    those of different units can be compared; of a tree the means of its leaves; of all others
    the curves of the mean prediction.
    """
    if isinstance(model.form, TreeForm):
        return _leaves_chart(model, model.form)
    if model.options.model == "linear" or not model.curves:
        return _coefficients_chart(model)
    return curves_chart(model)


def draw_effects(model: RegressionModel) -> str:
    """Return `effects_chart` as self-contained SVG."""
    return effects_chart(model).svg()


def draw_curves(model: RegressionModel) -> str:
    """Return `curves_chart` as self-contained SVG."""
    return curves_chart(model).svg()


def draw_fit(model: RegressionModel) -> str:
    """Return `fit_chart` as self-contained SVG."""
    return fit_chart(model).svg()


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


def _leaves_chart(model: RegressionModel, form: TreeForm) -> Chart:
    leaves = _paths(form)[:ROWS_DRAWN]
    names = [path or "all records" for path, _ in leaves]
    notes = [f"{number(node.mean)}, {node.records:,.0f} records" for _, node in leaves]
    half = float(stats.norm.isf((1 - model.options.confidence) / 2))

    def draw(axes: Sequence[Axes]) -> None:
        (axis,) = axes
        plots.rows(axis, names, notes)
        for row, (path, node) in enumerate(leaves):
            error = 0.0 if node.se is None else half * node.se
            ends = node.mean - error, node.mean + error
            plots.interval(axis, row, node.mean, ends, f"{path}: {notes[row]}")
        axis.axvline(form.nodes[0].mean, color="#555555", linewidth=1)
        label = f"mean of {short(model.target, _LONGEST)} in each leaf; the line is that of all"
        axis.set_xlabel(label, fontsize=9, parse_math=False)

    width, height = plots.size_of(names, notes)
    size = max(width, breadth(_heading(model), 10) / 72 + 0.4), height + 0.35
    return Chart("Regression tree: leaves", "leaves", size, draw, _heading(model))


def curves_chart(model: RegressionModel) -> Chart:
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


def fit_chart(model: RegressionModel) -> Chart:
    """Return two parts: observed by fitted values, and residuals by fitted values.

    Cells are shaded by their records, those of few left blank; a mark is the mean residual of a
    strip of records and the line across it their standard deviation either way.
    """

    def draw(axes: Sequence[Axes]) -> None:
        above, below = axes
        _draw_cells(above, model)
        at = [strip.fitted for strip in model.strips]
        mean = [strip.residual for strip in model.strips]
        sd = [strip.sd for strip in model.strips]
        below.axhline(0.0, color="#555555", linewidth=1)
        below.errorbar(at, mean, sd, fmt="o", color=plots.BLUE, markersize=4, linewidth=1.2)
        below.set_ylabel("residual", fontsize=9)
        for axis in axes:
            axis.set_xlabel(f"fitted {short(model.target, _LONGEST)}", fontsize=9, parse_math=False)
            axis.tick_params(labelsize=9)

    hidden = f"{model.cells.hidden:.0%} of the records are in cells too small to be shown"
    return Chart("Regression: fits and residuals", "fits", (5.5, 7.0), draw, hidden, 2)


def _draw_cells(axis: Axes, model: RegressionModel) -> None:
    edges = np.array(model.cells.edges)
    shown = np.full((len(edges) - 1, len(edges) - 1), np.nan)
    for fitted, observed, count in model.cells.counts:
        shown[observed, fitted] = count
    axis.plot(edges[[0, -1]], edges[[0, -1]], color=plots.GREY, linewidth=1)
    if model.cells.counts:
        mesh = axis.pcolormesh(edges, edges, np.ma.masked_invalid(shown), cmap="Blues", vmin=0)
        bar = axis.figure.colorbar(mesh, ax=axis)
        bar.set_label("records", fontsize=9)
        bar.ax.tick_params(labelsize=9)
    axis.set_ylabel(f"observed {short(model.target, _LONGEST)}", fontsize=9, parse_math=False)


_Bounds = dict[str, tuple[float, float]]
"""Between which values the columns are that were asked for on a path."""


def _paths(form: TreeForm) -> list[tuple[str, TreeNode]]:
    """Return each leaf with the answers that lead to it, in words, those below first."""
    found = []
    waiting: list[tuple[int, _Bounds]] = [(0, {})]
    while waiting:
        place, bounds = waiting.pop()
        node = form.nodes[place]
        column, below, above = node.column, node.below, node.above
        if column is None or below is None or above is None:
            found.append((", ".join(map(_between, bounds.items())), node))
            continue
        low, high = bounds.get(column, (-math.inf, math.inf))
        at = 0.0 if node.threshold is None else node.threshold
        waiting.append((above, bounds | {column: (max(low, at), high)}))
        waiting.append((below, bounds | {column: (low, min(high, at))}))
    return found


def _between(bound: tuple[str, tuple[float, float]]) -> str:
    column, (low, high) = bound
    if math.isinf(low) or math.isinf(high):
        at = high if math.isinf(low) else low
        return asked(TreeNode(0, 0, None, 0, column, at))[math.isinf(high)]
    return f"{number(low, 5)} < {column} <= {number(high, 5)}"


def _heading(model: RegressionModel) -> str:
    score = "" if model.score is None else f"; R2 by records left out {number(model.score.r2, 3)}"
    return f"{said_of_model(model)}{score}"


def _written(one: Coefficient) -> str:
    return f"{number(one.estimate, 3)} ± {number(one.se, 2)}"
