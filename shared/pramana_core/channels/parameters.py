"""What a channel family declares of its parameters: their ranges, and their names in documents.

A family is a frozen dataclass whose fields are integers, tuples of them, other channels, or tuples
of dataclasses of the same kind. Its canonical document has a key for each field; messages on the
wire are made from the same fields (`pramana_core.wire.channels`), ranges included.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import cache
from typing import Annotated, Any

from annotated_types import Ge, Le, Len

RESOLUTION = 1 << 32
"""Probabilities are integers over this denominator."""

CATEGORIES = 1 << 16
"""A variable has at most this many categories."""

VARIABLES = 1 << 12
"""A block has at most this many variables."""

Code = Annotated[int, Ge(0)]
Size = Annotated[int, Ge(2), Le(RESOLUTION)]
Probability = Annotated[int, Ge(0), Le(RESOLUTION)]
Sizes = Annotated[tuple[Annotated[int, Ge(2), Le(CATEGORIES)], ...], Len(1, VARIABLES)]


@cache
def keys_of(declared: Any) -> dict[str, str]:
    """Return the name of each field of a family and its key in documents, without `_units`."""
    return {field.name: field.name.removesuffix("_units") for field in fields(declared)}


def document(declared: Any) -> Any:
    """Return the JSON form of a channel or of a parameter."""
    if isinstance(declared, tuple):
        # A matrix has millions of numbers, which are not looked at one by one.
        numbers = all(isinstance(first, int) for first in declared[:1])
        return list(declared) if numbers else [document(item) for item in declared]
    if not is_dataclass(declared):
        return declared
    kind: Any = type(declared)
    named = {"family": kind.family} if hasattr(kind, "family") else {}
    return named | {key: document(getattr(declared, name)) for name, key in keys_of(kind).items()}
