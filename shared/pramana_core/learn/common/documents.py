"""JSON documents of models: strict parts, variables, and messages that say where a fault is."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import MISSING, fields
from functools import cached_property
from typing import Annotated, Any, Generic, Literal, TypeVar, get_type_hints

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    PlainSerializer,
    PlainValidator,
    ValidationError,
    create_model,
)

from pramana_core.domain import Domain, Variable
from pramana_core.errors import InputError
from pramana_core.marginals.counts import Tensor

_FAULTS_SHOWN = 3

_LONGEST_PLACE = 100


class DocumentPart(BaseModel):
    """A part of a document. It rejects unknown fields, and text where a number is expected."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, strict=True, defer_build=True)


PartT = TypeVar("PartT", bound=BaseModel)
ModelT = TypeVar("ModelT")


def _numbers(listed: Any) -> Tensor:
    cells = np.array(listed, dtype=object)
    if any(isinstance(cell, str | bool | list | dict) for cell in cells.ravel()):
        raise ValueError("must be an array of numbers")
    flat = [math.nan if cell is None else float(cell) for cell in cells.ravel()]
    return np.array(flat).reshape(cells.shape)


def _as_lists(numbers: Tensor) -> Any:
    cells = numbers.astype(object)
    cells[np.isnan(numbers)] = None
    return cells.tolist()


def _ends(listed: Any) -> tuple[float, float]:
    """Return the two ends of an interval as numbers; null stands for an infinite end."""
    ends = list(listed) if isinstance(listed, list | tuple) else []
    if len(ends) != 2 or not all(e is None or type(e) in (int, float) for e in ends):
        raise ValueError("must be two numbers, null for an infinite end")
    low, high = ends
    return -math.inf if low is None else float(low), math.inf if high is None else float(high)


def _known(number: Any) -> float:
    if number is not None and type(number) not in (int, float):
        raise ValueError("must be a number, or null if unknown")
    return math.nan if number is None else float(number)


def finite(number: float | None) -> float | None:
    """Return a number as JSON data, with null for an unknown or infinite number."""
    return None if number is None or not math.isfinite(number) else number


Numbers = Annotated[Tensor, PlainValidator(_numbers), PlainSerializer(_as_lists)]
"""An array of numbers. In a document it is nested lists, with null for an unknown number."""

Known = Annotated[float, PlainValidator(_known), PlainSerializer(finite)]
"""A number. In a document an unknown number is null."""

Ends = Annotated[
    tuple[float, float], PlainValidator(_ends), PlainSerializer(lambda ends: [*map(finite, ends)])
]
"""The two ends of an interval. In a document an infinite end is null."""

_Inputs = Annotated[
    tuple[Variable, ...],
    AfterValidator(Domain),
    PlainSerializer(lambda domain: [variable_json(v) for v in domain]),
]
_Target = Annotated[Variable, PlainSerializer(lambda variable: variable_json(variable))]
_DOCUMENT_TYPES = {Domain: _Inputs, Variable: _Target}


class DocumentForm(Generic[ModelT]):
    """The JSON document of a model that is a dataclass, with the model's kind and all its fields.

    `what` is the name of the model in messages, with an article. `types` gives the types of fields
    that have another type in the document.
    """

    def __init__(self, kind: str, model: type[ModelT], what: str, **types: Any) -> None:
        self.kind, self._model, self._what, self._types = kind, model, what, types

    @cached_property
    def _form(self) -> type[DocumentPart]:
        types = get_type_hints(self._model, include_extras=True)
        own: dict[str, Any] = {"kind": (Literal[self.kind], ...)}
        own |= {
            field.name: (
                self._types.get(
                    field.name, _DOCUMENT_TYPES.get(types[field.name], types[field.name])
                ),
                ... if field.default is MISSING else field.default,
            )
            for field in fields(self._model)  # type: ignore[arg-type]
        }
        return create_model(self._model.__name__, __base__=DocumentPart, **own)

    def write(self, model: ModelT) -> dict[str, Any]:
        """Return a model as JSON data, with every number in full precision."""
        names = (field.name for field in fields(self._model))  # type: ignore[arg-type]
        values: dict[str, Any] = {"kind": self.kind} | {n: getattr(model, n) for n in names}
        return self._form.model_construct(**values).model_dump(mode="json")

    def read(self, text: str) -> ModelT:
        """Read a model from the JSON text of a document that `write` returned.

        Raises InputError: the text is not such a document, or an option is outside its range. Other
        errors: the constructor of the model rejects the content.
        """
        remedy = f"Give the JSON of {self._what} as pramana wrote it."
        document = read_json(self._form, text, self._what, remedy)
        return self._model(**{name: value for name, value in document if name != "kind"})


def variable_json(variable: Variable) -> dict[str, Any]:
    """Return a variable as JSON data, with its representatives if it has them."""
    numbers = variable.representatives
    return {
        "name": variable.name,
        "categories": list(variable.categories),
        **({} if numbers is None else {"representatives": list(numbers)}),
    }


def write_json(document: Mapping[str, Any]) -> str:
    """Return a document as one line of JSON, with every number in full precision.

    Indentation would need more space than the content of a tree with many nodes.
    """
    return json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def read_json(form: type[PartT], text: str, what: str, remedy: str) -> PartT:
    """Read JSON text as an instance of the model class `form`.

    `what` is the name of the document in messages, with an article. `remedy` is a sentence on where
    to get such a document. Raises InputError: the text is not JSON, or a part of it is wrong.
    """
    try:
        return form.model_validate_json(text)
    except ValidationError as error:
        raise InputError(
            f"The text is not {what} in JSON: {faults(error)}.", remedy=remedy
        ) from None


def parse_json(text: str | bytes) -> Any:
    """Return the content of JSON text.

    Raises ValueError: the text is not JSON, is nested too deeply, or contains a number that is NaN,
    infinite, or too large for a float.
    """
    try:
        return json.loads(text, parse_constant=_number, parse_float=_number, parse_int=_whole)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("it contains a number that is not finite")
    return number


def _whole(text: str) -> int:
    _number(text)
    return int(text)


def faults(error: ValidationError) -> str:
    """Return text on where a document is faulty and why, without the faulty values."""
    errors: list[Mapping[str, Any]] = list(error.errors(include_input=False, include_url=False))
    lines = []
    for fault in errors:
        place, why = ".".join(map(str, fault["loc"])) or "the document", fault["msg"]
        if len(place) > _LONGEST_PLACE:
            place = f"{place[:_LONGEST_PLACE]}..."
        if fault["type"] == "union_tag_invalid":
            # Pydantic's message would quote the tag.
            why = f"{fault['ctx']['discriminator']} must be one of {fault['ctx']['expected_tags']}"
        lines.append(f"{place}: {why}")
    more = len(lines) - _FAULTS_SHOWN
    return "; ".join(lines[:_FAULTS_SHOWN]) + (f"; and {more} more" if more > 0 else "")
