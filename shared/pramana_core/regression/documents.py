"""Regressions as JSON, written without loss and read back equal."""

from __future__ import annotations

from typing import Any, Literal, get_type_hints

import numpy as np
from pydantic import create_model
from pydantic_core import to_jsonable_python

from pramana_core.errors import InputError, PramanaError
from pramana_core.learn.common.documents import DocumentPart, read_json, write_json
from pramana_core.mixed import CategoricalColumn, MixedTable, NumericColumn
from pramana_core.regression.model import RegressionModel
from pramana_core.regression.records import Feature

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
