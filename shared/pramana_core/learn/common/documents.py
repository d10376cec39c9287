"""What all models' JSON documents have in common: strict parts, variables, and named faults."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from pramana_core.domain import Variable
from pramana_core.errors import InputError

_FAULTS_SHOWN = 3

_LONGEST_PLACE = 100


class DocumentPart(BaseModel):
    """A part of a document: unknown fields are refused, and texts in place of numbers.

    So they are in the dataclasses that it holds.
    """

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, strict=True, defer_build=True)


PartT = TypeVar("PartT", bound=BaseModel)


def variable_json(variable: Variable) -> dict[str, Any]:
    """Return a variable; without representatives nothing is said of them."""
    numbers = variable.representatives
    return {
        "name": variable.name,
        "categories": list(variable.categories),
        **({} if numbers is None else {"representatives": list(numbers)}),
    }


def write_json(document: Mapping[str, Any]) -> str:
    """Return a document as JSON text; every number is written so that nothing of it is lost."""
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def read_json(form: type[PartT], text: str, what: str, remedy: str) -> PartT:
    """Read a document from JSON text.

    Args:
        form: what it must be.
        text: the JSON.
        what: it in words, with an article.
        remedy: where to get such a text.

    Raises:
        InputError: the text is not JSON, or a part of it is not what it must be.
    """
    try:
        return form.model_validate_json(text)
    except ValidationError as error:
        raise InputError(
            f"The text is not {what} in JSON: {faults(error)}.", remedy=remedy
        ) from error


def parse_json(text: str | bytes) -> Any:
    """Return what JSON text says.

    Raises:
        ValueError: it is not JSON, is nested too deeply, or has a number that is none (`NaN`), is
            infinite, or is beyond what a float can be.
    """
    try:
        return json.loads(text, parse_constant=_number, parse_float=_number, parse_int=_whole)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number in it is not finite")
    return number


def _whole(text: str) -> int:
    _number(text)
    return int(text)


def faults(error: ValidationError) -> str:
    """Name the places of a document that are wrong and why, never what is in them."""
    found: list[Mapping[str, Any]] = list(error.errors(include_input=False, include_url=False))
    said = [f"{_place(f['loc'])}: {_why(f)}" for f in found]
    more = len(said) - _FAULTS_SHOWN
    return "; ".join(said[:_FAULTS_SHOWN]) + (f"; and {more} more" if more > 0 else "")


def _place(loc: Sequence[str | int]) -> str:
    text = ".".join(map(str, loc)) or "the document"
    return text if len(text) <= _LONGEST_PLACE else f"{text[:_LONGEST_PLACE]}..."


def _why(fault: Mapping[str, Any]) -> str:
    """Return what pydantic says of a fault, without the tag that it quotes."""
    if fault["type"] == "union_tag_invalid":
        return f"{fault['ctx']['discriminator']} must be one of {fault['ctx']['expected_tags']}"
    said: str = fault["msg"]
    return said
