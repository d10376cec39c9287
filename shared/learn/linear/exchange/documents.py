"""Linear classifiers as JSON: written without loss, and read back equal."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal

from pydantic_core import to_jsonable_python

from shared.domain import Domain, Variable
from shared.learn.common.documents import DocumentPart, read_json, variable_json, write_json
from shared.learn.linear.columns import Column
from shared.learn.linear.model import Accuracy, Basis, LinearClassifier, Plane, Weight
from shared.learn.linear.options import LinearOptions

KIND = "linear-classifier"


def linear_json(model: LinearClassifier) -> dict[str, Any]:
    """Return a classifier as what JSON can say."""
    planes = [
        {
            "positive": plane.positive,
            "weights": [asdict(weight) | {"interval": weight.interval} for weight in plane.weights],
        }
        for plane in model.planes
    ]
    document: dict[str, Any] = to_jsonable_python(
        {
            "kind": KIND,
            "target": variable_json(model.target),
            "inputs": [variable_json(variable) for variable in model.inputs],
            "columns": model.columns,
            "planes": planes,
            "options": model.options,
            "basis": model.basis,
            "records": model.records,
            "sampled": model.sampled,
            "seed": model.seed,
            "accuracy": model.accuracy,
            "notes": model.notes,
        }
    )
    return document


def write_linear_json(model: LinearClassifier) -> str:
    """Return a classifier as JSON text; every number is written so that none is lost."""
    return write_json(linear_json(model))


def read_linear_json(text: str) -> LinearClassifier:
    """Read a classifier from the text of `write_linear_json`.

    Raises:
        InputError: the text is no such document, or an option is out of its range.
        DomainError, UnknownVariable, UnknownCategory, OptionError: it is, but describes no
            classifier.
    """
    document = read_json(
        _Document,
        text,
        "a linear classifier",
        "Give the JSON of a linear classifier as `write_linear_json` or the miner gives it.",
    )
    planes = [
        Plane(
            plane.positive,
            tuple(Weight(w.column, w.estimate, w.se, w.se_records) for w in plane.weights),
        )
        for plane in document.planes
    ]
    told = {name: value for name, value in document if name != "kind"}
    return LinearClassifier(**told | {"inputs": Domain(document.inputs), "planes": tuple(planes)})


class _Weight(DocumentPart):
    """A weight as it is told: its interval follows from its error."""

    column: str
    estimate: float
    se: float | None
    se_records: float | None
    interval: list[float] | None = None


class _Plane(DocumentPart):
    positive: str
    weights: list[_Weight]


class _Document(DocumentPart):
    kind: Literal["linear-classifier"]
    target: Variable
    inputs: tuple[Variable, ...]
    columns: tuple[Column, ...]
    planes: list[_Plane]
    options: LinearOptions
    basis: Basis
    records: int
    sampled: int | None
    seed: int
    accuracy: Accuracy | None
    notes: tuple[str, ...]
