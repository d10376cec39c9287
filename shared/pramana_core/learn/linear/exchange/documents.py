"""Linear classifiers as JSON: written without loss, and read back equal."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any, Literal

from pydantic_core import to_jsonable_python

from pramana_core.domain import Domain, Variable
from pramana_core.learn.common.documents import DocumentPart, read_json, variable_json, write_json
from pramana_core.learn.linear.columns import Column
from pramana_core.learn.linear.model import Accuracy, Basis, LinearClassifier, Plane, Weight
from pramana_core.learn.linear.options import LinearOptions

KIND = "linear-classifier"


def linear_json(model: LinearClassifier) -> dict[str, Any]:
    """Return a classifier as what JSON can say."""
    planes = [
        {
            "positive": plane.positive,
            "weights": [asdict(w) | {"interval": _ends(w.interval)} for w in plane.weights],
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
            tuple(weight.read() for weight in plane.weights),
        )
        for plane in document.planes
    ]
    told = {name: value for name, value in document if name != "kind"}
    if isinstance(document.accuracy, _EarlierAccuracy):
        told["accuracy"] = None
    return LinearClassifier(**told | {"inputs": Domain(document.inputs), "planes": tuple(planes)})


def _ends(interval: tuple[float, float] | None) -> list[float | None] | None:
    """Return the ends of an interval, None for one that is infinite."""
    if interval is None:
        return None
    return [end if math.isfinite(end) else None for end in interval]


class _Weight(DocumentPart):
    """A weight as it is told; an end of its interval is null where it has none."""

    column: str
    estimate: float
    se: float | None
    se_records: float | None
    interval: tuple[float | None, float | None] | None = None

    def read(self) -> Weight:
        ends = None
        if self.interval is not None:
            low, high = self.interval
            ends = (-math.inf if low is None else low, math.inf if high is None else high)
        return Weight(self.column, self.estimate, self.se, self.se_records, ends)


class _Plane(DocumentPart):
    positive: str
    weights: list[_Weight]


class _EarlierAccuracy(DocumentPart):
    """That of the records that were learned from, in documents of earlier versions: not read."""

    estimate: float
    se: float | None
    se_records: float | None


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
    accuracy: Accuracy | _EarlierAccuracy | None
    notes: tuple[str, ...]
