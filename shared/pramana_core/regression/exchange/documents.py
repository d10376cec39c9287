"""Regressions as JSON: written without loss, and read back equal."""

from __future__ import annotations

import csv
import io
from dataclasses import fields
from typing import Any, Literal

import numpy as np
from pydantic_core import to_jsonable_python

from pramana_core.errors import InputError, PramanaError
from pramana_core.learn.common.documents import DocumentPart, read_json, write_json
from pramana_core.mixed.table import CategoricalColumn, MixedTable, NumericColumn
from pramana_core.regression.exchange.frames import rows_of
from pramana_core.regression.forms import Form
from pramana_core.regression.inputs import Feature
from pramana_core.regression.model import (
    Cells,
    Coefficient,
    Curve,
    Diagnostics,
    RegressionModel,
    Score,
    Strip,
    Test,
)
from pramana_core.regression.options import RegressionOptions

KIND = "regression"


def regression_json(model: RegressionModel) -> dict[str, Any]:
    """Return a regression as what JSON can say."""
    told = {field.name: getattr(model, field.name) for field in fields(model)}
    document: dict[str, Any] = to_jsonable_python({"kind": KIND, **told})
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
    except (PramanaError, ValueError, LookupError) as error:
        raise InputError(
            "The text is not a regression in JSON: its form asks for what its features do not"
            " have.",
            where="form",
        ) from error
    return model


def write_regression_csv(model: RegressionModel) -> str:
    """Return the rows of `rows_of` as CSV, with a header."""
    rows = rows_of(model)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _nobody(features: tuple[Feature, ...]) -> MixedTable:
    """Return a table without a record."""
    columns = (
        NumericColumn(f.name, np.empty(0))
        if f.categories is None
        else CategoricalColumn(f.name, np.empty(0, dtype=np.intp), f.categories)
        for f in features
    )
    return MixedTable(tuple(columns), 0)


class _Document(DocumentPart):
    kind: Literal["regression"]
    target: str
    features: tuple[Feature, ...]
    options: RegressionOptions
    records: int
    copies: int
    form: Form
    coefficients: tuple[Coefficient, ...]
    overall: Test | None
    diagnostics: tuple[Diagnostics, ...]
    score: Score | None
    curves: tuple[Curve, ...]
    strips: tuple[Strip, ...]
    cells: Cells
    constant: tuple[str, ...]
    redundant: tuple[str, ...]
    notes: tuple[str, ...]
