"""Linear classifiers as JSON: written without loss, and read back equal."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, Literal

from pydantic import ValidationError

from shared.domain import Domain
from shared.errors import InputError
from shared.learn.common.documents import Part, VariablePart, faults, variable_json
from shared.learn.linear.columns import Column
from shared.learn.linear.model import Accuracy, Basis, LinearClassifier, Plane, Weight
from shared.learn.linear.options import Counts, Encoding, LinearOptions, Loss

KIND = "linear-classifier"


def linear_json(model: LinearClassifier) -> dict[str, Any]:
    """Return a classifier as what JSON can say."""
    return {
        "kind": KIND,
        "target": variable_json(model.target),
        "inputs": [variable_json(variable) for variable in model.inputs],
        "columns": [
            {
                "variable": column.variable,
                "name": column.name,
                "values": list(column.values),
                "deviation": column.deviation,
            }
            for column in model.columns
        ],
        "planes": [
            {"positive": p.positive, "weights": [_weight(w) for w in p.weights]}
            for p in model.planes
        ],
        "options": asdict(model.options)
        | {"numeric": {name: list(v) for name, v in model.options.numeric.items()}},
        "basis": model.basis,
        "records": model.records,
        "sampled": model.sampled,
        "seed": model.seed,
        "accuracy": None if model.accuracy is None else asdict(model.accuracy),
        "notes": list(model.notes),
    }


def write_linear_json(model: LinearClassifier) -> str:
    """Return a classifier as JSON text; every number is written so that none is lost."""
    text = json.dumps(linear_json(model), ensure_ascii=False, allow_nan=False, indent=1)
    return text + "\n"


def read_linear_json(text: str) -> LinearClassifier:
    """Read a classifier from the text of `write_linear_json`.

    Raises:
        InputError: the text is not such a document.
        DomainError, UnknownVariable, UnknownCategory, OptionError: it is, but describes no
            classifier.
    """
    try:
        document = _Document.model_validate(json.loads(text))
    except ValidationError as error:
        raise _not_one(faults(error)) from error
    except (ValueError, RecursionError) as error:
        raise _not_one("it is not JSON") from error
    return document.classifier()


class _Column(Part):
    variable: str
    name: str
    values: list[float]
    deviation: float


class _Weight(Part):
    column: str
    estimate: float
    se: float | None
    se_records: float | None
    interval: list[float] | None = None


class _Plane(Part):
    positive: str
    weights: list[_Weight]


class _Options(Part):
    loss: Loss
    l2: float
    encoding: Encoding
    numeric: dict[str, list[float]]
    counts: Counts | None
    steps: int
    sample: int


class _Accuracy(Part):
    estimate: float
    se: float | None
    se_records: float | None


class _Document(Part):
    kind: Literal["linear-classifier"]
    target: VariablePart
    inputs: list[VariablePart]
    columns: list[_Column]
    planes: list[_Plane]
    options: _Options
    basis: Basis
    records: int
    sampled: int | None
    seed: int
    accuracy: _Accuracy | None
    notes: list[str]

    def classifier(self) -> LinearClassifier:
        options = self.options
        numeric = {name: tuple(numbers) for name, numbers in options.numeric.items()}
        return LinearClassifier(
            Domain(tuple(variable.variable() for variable in self.inputs)),
            self.target.variable(),
            tuple(Column(c.variable, c.name, tuple(c.values), c.deviation) for c in self.columns),
            tuple(
                Plane(
                    p.positive,
                    tuple(Weight(w.column, w.estimate, w.se, w.se_records) for w in p.weights),
                )
                for p in self.planes
            ),
            LinearOptions(**(options.model_dump() | {"numeric": numeric})),
            self.basis,
            self.records,
            self.sampled,
            self.seed,
            None if self.accuracy is None else Accuracy(**self.accuracy.model_dump()),
            tuple(self.notes),
        )


def _weight(weight: Weight) -> dict[str, Any]:
    interval = None if weight.interval is None else list(weight.interval)
    return {**asdict(weight), "interval": interval}


def _not_one(why: str) -> InputError:
    return InputError(
        f"The text is not a linear classifier in JSON: {why}.",
        remedy="Give the JSON of a linear classifier as `write_linear_json` or the miner gives it.",
    )
