"""Regressions as rows of numbers: coefficients, nodes of a tree, or points of curves."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from pramana_core.regression.forms import TreeForm
from pramana_core.regression.model import Coefficient, RegressionModel


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
