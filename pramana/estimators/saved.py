"""The saved form of a fitted estimator: JSON with version, options, source and model.

    {"format": "pramana-model", "version": 1, "kind": "decision-tree", "estimator": "DecisionTree",
     "params": {...}, "learned_from": {"records", "plans", "gamma", "epsilon", "estimated_by", ...},
     "document": {...}}

`document` is the model as `pramana_core` writes it. An infinite gamma or epsilon is null.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, PlainSerializer, PlainValidator, TypeAdapter, ValidationError

from pramana.frames.sentences import quoted
from pramana_core.errors import InputError, OptionError
from pramana_core.learn.common.documents import DocumentPart, faults, finite, parse_json
from pramana_core.learn.common.worth import Worth

FORMAT = "pramana-model"
VERSION = 1

_LONGEST = 40
"""The longest part of an unknown name in a message."""


def _bound(number: Any) -> float:
    if number is not None and (type(number) not in (int, float) or not number >= 0):
        raise ValueError("must be a number of at least 0, or null")
    return math.inf if number is None else float(number)


Bound = Annotated[float, PlainValidator(_bound), PlainSerializer(finite)]
"""A bound; null in a document if infinite."""


def _worth(found: Any) -> Worth | None:
    worth: Worth | None = TypeAdapter(Worth | None).validate_python(found)
    return worth


_Texts = Annotated[tuple[str, ...], Field(strict=False)]


class LearnedFrom(DocumentPart, frozen=True):
    """The source of a model, and the model's assessment; see `Estimator`.

    `masking` describes the masking of the records in words.
    """

    records: Annotated[int, Field(ge=0)]
    estimated_by: str
    plans: _Texts = ()
    gamma: Bound = math.inf
    epsilon: Bound = math.inf
    lack_of_fit: _Texts = ()
    masking: _Texts = ()
    filled_in: str = ""
    worth: Annotated[
        Worth | None,
        PlainValidator(_worth),
        PlainSerializer(lambda worth: worth and asdict(worth), return_type=dict[str, Any] | None),
    ] = None


class SavedModel(DocumentPart):
    """The parts of a saved model."""

    format: Literal["pramana-model"]
    version: Literal[1]
    kind: str
    estimator: str
    params: dict[str, Any]
    learned_from: LearnedFrom
    document: dict[str, Any]

    @classmethod
    def of(cls, document: object, argument: str = "document") -> SavedModel:
        """Read a saved model. Raises InputError."""
        if not isinstance(document, Mapping) or document.get("format") != FORMAT:
            raise InputError(
                f"{argument} is not a saved model, a JSON object whose format is"
                f" {FORMAT!r}, as `save` writes it.",
                where=argument,
            )
        if document.get("version") != VERSION:
            raise InputError(
                f"{argument} has version {quoted([document.get('version')])} of the format of"
                f" saved models; this version of pramana reads version {VERSION}.",
                where=argument,
            )
        try:
            return cls.model_validate(dict(document))
        except ValidationError as error:
            raise InputError(
                f"{argument} is not a saved model: {faults(error)}.", where=argument
            ) from None

    def among(self, known: Iterable[type[Any]], argument: str) -> Any:
        """Return the unfitted estimator that this document names. Raises InputError."""
        for found in known:
            if (found.__name__, found.kind) == (self.estimator, self.kind):
                break
        else:
            raise InputError(
                f"{argument} contains an estimator {self.estimator[:_LONGEST]} of the kind"
                f" {quoted([self.kind])}, which this version of pramana cannot read.",
                where=argument,
            )
        try:
            return found(**self.params)
        except (TypeError, OptionError) as error:
            words = str(error).removesuffix(".")
            raise InputError(
                f"{argument} contains invalid options for {self.estimator}: {words}.",
                where=argument,
            ) from None


def parse(text: str, argument: str = "text") -> Any:
    """Return the content of JSON text. Raises InputError."""
    try:
        return parse_json(text)
    except (ValueError, TypeError) as error:
        raise InputError(f"{argument} is not JSON: {error}.", where=argument) from None


def plain(option: Any) -> Any:
    """Return an option as JSON data; sequences become lists."""
    if isinstance(option, np.generic):
        return option.item()
    if isinstance(option, Mapping):
        return {str(name): plain(value) for name, value in option.items()}
    if hasattr(option, "tolist"):
        return plain(option.tolist())
    if isinstance(option, list | tuple | set | frozenset):
        return [plain(value) for value in option]
    return option
