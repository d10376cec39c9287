"""What all models' JSON documents have in common: strict parts, variables, and named faults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from shared.domain import Variable

_FAULTS_SHOWN = 3


class Part(BaseModel):
    """A part of a document: unknown fields are refused, and texts in place of numbers."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, strict=True)


class VariablePart(Part):
    """A variable: its name, its categories, and the numbers that stand for them if it has any."""

    name: str
    categories: list[str]
    representatives: list[float] | None = None

    def variable(self) -> Variable:
        """Return the variable. Raises DomainError."""
        numbers = None if self.representatives is None else tuple(self.representatives)
        return Variable(self.name, tuple(self.categories), numbers)


def variable_json(variable: Variable) -> dict[str, Any]:
    """Return a variable as a `VariablePart` reads it."""
    numbers = variable.representatives
    return {
        "name": variable.name,
        "categories": list(variable.categories),
        **({} if numbers is None else {"representatives": list(numbers)}),
    }


def faults(error: ValidationError) -> str:
    """Name the places of a document that are wrong and why, never what is in them."""
    found: list[Mapping[str, Any]] = list(error.errors(include_input=False, include_url=False))
    said = [f"{'.'.join(map(str, f['loc'])) or 'the document'}: {f['msg']}" for f in found]
    more = len(said) - _FAULTS_SHOWN
    return "; ".join(said[:_FAULTS_SHOWN]) + (f"; and {more} more" if more > 0 else "")
