"""A regression as rows of numbers and as text, and what its diagnostics mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from pramana_core.csv_text import csv_text
from pramana_core.regression.model import (
    Coefficient,
    KernelForm,
    RegressionModel,
    TreeForm,
    TreeNode,
)


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
    del row["deviation"]
    return {**row, "low": low, "high": high}


def diagnostic_rows(model: RegressionModel) -> list[dict[str, Any]]:
    """Return the diagnostics, a row for each copy."""
    return [asdict(one) for one in model.diagnostics]


def write_regression_csv(model: RegressionModel) -> str:
    """Return the rows of `rows_of` as CSV, with a header."""
    rows = rows_of(model)
    return csv_text(rows[0] if rows else (), (row.values() for row in rows))


_NAMES = {"linear": "linear regression", "kernel": "kernel regression", "tree": "regression tree"}


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
        what = f"polynomial regression of degree {model.options.degree}"
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
    return said


def warnings(model: RegressionModel) -> list[str]:
    """Return what must be known before a model is trusted, a sentence each."""
    said = list(model.notes)
    if model.constant:
        said.append(f"Left out, for they do not vary: {', '.join(model.constant)}.")
    if model.redundant:
        said.append(f"Left out, for others tell them exactly: {', '.join(model.redundant)}.")
    if isinstance(model.form, KernelForm):
        said.append("Bands are of the smoothed curve: what smoothing flattens is not in them.")
    if isinstance(model.form, TreeForm):
        said.append("Errors of leaves do not know that the questions were chosen on these records.")
    return said


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
