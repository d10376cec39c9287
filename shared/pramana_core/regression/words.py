"""A regression as text, and its coefficients as rows of numbers."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from pramana_core.csv_text import csv_text
from pramana_core.learn.common.worth import Figure, Worth
from pramana_core.marginals.score_interval import normal_quantile
from pramana_core.marginals.tables import LEVEL
from pramana_core.regression.model import RegressionModel


def coefficient_rows(model: RegressionModel) -> list[dict[str, Any]]:
    """Return a row for each coefficient, with its interval as `low` and `high`."""
    rows = []
    for one in model.coefficients:
        row = asdict(one)
        del row["deviation"]
        low, high = row.pop("interval")
        rows.append({**row, "low": low, "high": high})
    return rows


def write_regression_csv(model: RegressionModel) -> str:
    """Return the rows of `coefficient_rows` as CSV, with a header."""
    rows = coefficient_rows(model)
    return csv_text(rows[0], (row.values() for row in rows))


def number(value: float | None, digits: int = 4) -> str:
    """Return a number as text with a few significant digits."""
    return "n/a" if value is None else f"{value:.{digits}g}"


def p_value(p: float | None) -> str:
    """Return a p-value as text with two significant digits, but never as 0."""
    if p is None:
        return "n/a"
    return "< 1e-16" if p < 1e-16 else f"{p:.2g}"


def summary(model: RegressionModel) -> str:
    """Return one line of text that summarizes the fit."""
    degree = model.options.degree
    what = "linear regression" if degree == 1 else f"polynomial regression of degree {degree}"
    count = len(model.features)
    return (
        f"{what} of {model.target} on {count} column{'s' if count > 1 else ''},"
        f" {model.records:,} records"
    )


def worth(model: RegressionModel) -> Worth | None:
    """Return how much better than the mean a model predicts, or None if records are too few."""
    if model.score is None:
        return None
    value, half = model.score.r2, normal_quantile(LEVEL) * model.score.se
    verdict = "Better" if value > half else "No better"
    explained = Figure("variance of left-out records explained", value, value - half, value + half)
    return Worth(f"{verdict} than predicting the mean for everybody.", (explained,))


def warnings(model: RegressionModel) -> list[str]:
    """Return warnings for readers of the model, one sentence each."""
    sentences = list(model.notes)
    if model.constant:
        sentences.append(f"Omitted because they do not vary: {', '.join(model.constant)}.")
    if model.redundant:
        omitted = ", ".join(model.redundant)
        sentences.append(f"Omitted because other terms determine them: {omitted}.")
    return sentences
