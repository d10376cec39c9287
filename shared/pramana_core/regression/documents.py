"""Regressions as JSON, written without loss and read back equal, in words and in pictures.

Also here:

* Regressions as rows of numbers: coefficients, nodes of a tree, or points of curves.
* A regression in words: as text with its numbers, and what its diagnostics mean.
* Pictures of regressions: coefficients or curves with intervals, leaves, residuals and fits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any, Literal, get_type_hints

import numpy as np
from pydantic import create_model
from pydantic_core import to_jsonable_python
from scipy import stats

from pramana_core.csv_text import csv_text
from pramana_core.errors import InputError, PramanaError
from pramana_core.learn.common.documents import DocumentPart, read_json, write_json
from pramana_core.mixed import CategoricalColumn, MixedTable, NumericColumn
from pramana_core.pictures import plots
from pramana_core.pictures.plots import Chart
from pramana_core.pictures.svg import breadth, short
from pramana_core.regression.model import (
    Coefficient,
    Curve,
    KernelForm,
    RegressionModel,
    TreeForm,
    TreeNode,
)
from pramana_core.regression.terms import Feature

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Regressions as rows of numbers: coefficients, nodes of a tree, or points of curves.


def rows_of(model: RegressionModel) -> list[dict[str, Any]]:
    """Return the main numbers of a model, a row each.

    Returns:
        of least squares its coefficients; of a tree its nodes, with their `place`; of a kernel
        regression the points of its curves: `feature`, `at`, `mean`, `low`, `high`.
    """
    if model.coefficients:
        return [coefficient_row(one) for one in model.coefficients]
    if isinstance(model.form, TreeForm):
        return [{"place": place, **asdict(node)} for place, node in enumerate(model.form.nodes)]
    return [
        {"feature": curve.feature, "at": at, "mean": mean, "low": low, "high": high}
        for curve in model.curves
        for at, mean, low, high in zip(curve.at, curve.mean, curve.low, curve.high, strict=True)
    ]


def coefficient_row(one: Coefficient) -> dict[str, Any]:
    """Return a coefficient as a row: its interval as `low` and `high`."""
    row = {field.name: getattr(one, field.name) for field in fields(Coefficient)}
    low, high = row.pop("interval")
    inflation = row.pop("inflation")
    del row["deviation"]
    return {**row, "low": low, "high": high, "inflation": inflation}


def diagnostic_rows(model: RegressionModel) -> list[dict[str, Any]]:
    """Return the diagnostics, a row for each copy: of tests the p-values."""
    rows = []
    for one in model.diagnostics:
        row = {field.name: getattr(one, field.name) for field in fields(one)}
        tests = {name: getattr(row[name], "p", None) for name in ("normality", "even")}
        rows.append(row | tests)
    return rows


KIND = "regression"


def regression_json(model: RegressionModel) -> dict[str, Any]:
    """Return a regression as what JSON can say."""
    document: dict[str, Any] = to_jsonable_python({"kind": KIND, **vars(model)})
    return document


def write_regression_json(model: RegressionModel) -> str:
    """Return a regression as JSON text; every number is written so that none is lost."""
    return write_json(regression_json(model))


def read_regression_json(text: str) -> RegressionModel:
    """Read a regression from the text of `write_regression_json`; it predicts the same.

    Raises:
        InputError: the text is no such document, or its parts do not belong together.
        OptionError: an option is out of its range.
    """
    document = read_json(
        _Document,
        text,
        "a regression",
        "Give the JSON of a regression as `write_regression_json` or the miner gives it.",
    )
    model = RegressionModel(**{name: value for name, value in document if name != "kind"})
    try:
        model.predict(_nobody(model.features))
    except (PramanaError, ValueError, LookupError):
        raise InputError(
            "The text is not a regression in JSON: its form asks for what its features do not"
            " have.",
            where="form",
        ) from None
    return model


def write_regression_csv(model: RegressionModel) -> str:
    """Return the rows of `rows_of` as CSV, with a header."""
    rows = rows_of(model)
    return csv_text(rows[0] if rows else (), (row.values() for row in rows))


def _nobody(features: tuple[Feature, ...]) -> MixedTable:
    """Return a table without a record."""
    columns = (
        NumericColumn(f.name, np.empty(0))
        if f.categories is None
        else CategoricalColumn(f.name, np.empty(0, dtype=np.intp), f.categories)
        for f in features
    )
    return MixedTable(tuple(columns), 0)


_Document = create_model(
    "_Document",
    __base__=DocumentPart,
    kind=Literal["regression"],
    **get_type_hints(RegressionModel),
)


# A regression in words: as text with its numbers, and what its diagnostics mean.

LARGE_INFLATION = 10.0
"""From here on a coefficient is said to be hard to tell from others (Marquardt 1970)."""

_NAMES = {"linear": "linear regression", "kernel": "kernel regression", "tree": "regression tree"}

DOUBT = 0.01
"""A test whose p-value is below this is said to speak against."""


def number(value: float | None, digits: int = 4) -> str:
    """Return a number of a few digits."""
    return "n/a" if value is None or np.isnan(value) else f"{value:.{digits}g}"


def chance(p: float | None) -> str:
    """Return a p-value: never 0."""
    if p is None:
        return "n/a"
    return "< 1e-16" if p < 1e-16 else f"{p:.2g}"


def write_regression_text(model: RegressionModel) -> str:
    """Return a regression as text: what was fitted, its numbers with their errors, its tests."""
    parts = [said_of_model(model), *facts(model), ""]
    if model.coefficients:
        parts += _table(model.coefficients, model.options.confidence)
    elif isinstance(model.form, TreeForm):
        parts += list(tree_lines(model.form))
    elif isinstance(model.form, KernelForm):
        form = model.form
        parts.append(
            f"{len(form.points)} kernels of bandwidth {number(form.bandwidth)}, penalty"
            f" {number(form.penalty)}, {number(form.freedom)} effective parameters"
        )
    return "\n".join([*parts, "", *warnings(model)]).rstrip() + "\n"


def said_of_model(model: RegressionModel) -> str:
    """Return what was fitted, in a line."""
    what = _NAMES.get(model.options.model, "")
    if not what:
        products = " with products" if model.options.interactions else ""
        what = f"polynomial regression of degree {model.options.degree}{products}"
    copies = f", {model.copies} masked copies" if model.copies > 1 else ""
    count = len(model.features)
    return (
        f"{what} of {model.target} on {count} column{'s' if count > 1 else ''},"
        f" {model.records:,} records{copies}"
    )


def facts(model: RegressionModel) -> list[str]:
    """Return the main numbers, each with what it is."""
    r2, adjusted, sd = (number(model.mean(n)) for n in ("r2", "adjusted_r2", "residual_sd"))
    said = [f"R2 {r2}, adjusted {adjusted}; residual standard deviation {sd}"]
    if model.score is not None:
        said.append(
            f"R2 by records left out {number(model.score.r2)} (s.e. {number(model.score.se, 2)}),"
            f" their typical error {number(model.score.rmse)}"
        )
    if model.overall is not None:
        between = ", ".join(number(f) for f in model.overall.freedom)
        said.append(
            f"F({between}) = {number(model.overall.statistic)}, p {chance(model.overall.p)}"
        )
    return said


def warnings(model: RegressionModel) -> list[str]:
    """Return what must be known before a model is trusted, a sentence each."""
    said = list(model.notes)
    if model.constant:
        said.append(f"Left out, for they do not vary: {', '.join(model.constant)}.")
    if model.redundant:
        said.append(f"Left out, for others tell them exactly: {', '.join(model.redundant)}.")
    strong = [one.term for one in model.coefficients if (one.inflation or 0.0) >= LARGE_INFLATION]
    if strong and model.options.model == "linear":
        said.append(
            "These are nearly told by others, so that their coefficients are uncertain (variance"
            f" inflation {LARGE_INFLATION:g} or more): {', '.join(strong)}."
        )
    if _speaks(model, "even"):
        said.append(
            "The residuals' variance differs between records (Breusch-Pagan): take the robust"
            " standard errors."
        )
    if _speaks(model, "normality"):
        said.append(
            "The residuals are not normal (Jarque-Bera): with few records, intervals may not hold"
            " at their rate."
        )
    if isinstance(model.form, KernelForm):
        said.append("Bands are of the smoothed curve: what smoothing flattens is not in them.")
    if isinstance(model.form, TreeForm):
        said.append("Errors of leaves do not know that the questions were chosen on these records.")
    return said


def p_values(model: RegressionModel, name: str) -> list[float]:
    """Return the p-values of a test of the diagnostics, a copy each, where there is one."""
    tests = [getattr(one, name) for one in model.diagnostics]
    return [test.p for test in tests if test is not None]


def tree_lines(form: TreeForm) -> Iterator[str]:
    """Yield a tree as lines, deeper ones further to the right."""
    waiting = [(0, "", 0)]
    while waiting:
        place, said, depth = waiting.pop()
        node = form.nodes[place]
        yield f"{'|  ' * depth}{said}{_mean(node)}"
        if node.column is not None and node.below is not None and node.above is not None:
            low, high = asked(node)
            waiting += [(node.above, f"{high}: ", depth + 1), (node.below, f"{low}: ", depth + 1)]


def asked(node: TreeNode) -> tuple[str, str]:
    """Return a question's two answers: up to the threshold, and above."""
    column = str(node.column)
    if "=" in column and node.threshold == 0.5:
        name, _, category = column.partition("=")
        return f"{name} is not {category}", f"{name} is {category}"
    at = number(node.threshold, 5)
    return f"{column} <= {at}", f"{column} > {at}"


def _mean(node: TreeNode) -> str:
    error = "" if node.se is None else f" (s.e. {number(node.se, 2)})"
    return f"{number(node.mean)}{error}, {node.records:,.0f} records"


def _speaks(model: RegressionModel, name: str) -> bool:
    """Whether a test speaks against the model in the middle one of the copies."""
    found = p_values(model, name)
    return bool(found) and float(np.median(found)) < DOUBT


def _table(coefficients: Sequence[Coefficient], confidence: float) -> list[str]:
    heading = ["term", "estimate", "s.e.", "robust s.e.", "t", "p", f"{confidence:.0%} interval"]
    rows = [
        [
            one.term,
            number(one.estimate),
            number(one.se, 3),
            number(one.se_robust, 3),
            number(one.t, 3),
            chance(one.p),
            f"{number(one.interval[0])} to {number(one.interval[1])}",
        ]
        for one in coefficients
    ]
    widths = [max(map(len, column)) for column in zip(heading, *rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in (heading, *rows)
    ]


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
