"""Versions of the protocol between a miner and its clients: this one and the one before are served.

A request says in a header which version its sender speaks, and is answered in that one. Messages
grow by fields, which they list by version (`SINCE_2`): whoever speaks an earlier version, and
refuses fields that it does not know, is answered without them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, get_args

from pydantic import BaseModel

PROTOCOL_HEADER = "Pramana-Protocol"
"""The header of requests and of answers; a request without it speaks version 1."""

IDEMPOTENCY_HEADER = "Idempotency-Key"
"""The header by which a repeated request is known where nothing else tells it."""

LONGEST_KEY = 255

FIRST, CURRENT = 1, 2
SERVED = (FIRST, CURRENT)


def added(message: type[BaseModel]) -> dict[str, int]:
    """Return in which version the later fields of a message came, by the field's name.

    A message lists them: `SINCE_2` has the names of those that came with version 2.
    """
    return {
        name: version
        for version in SERVED[1:]
        for kind in message.__mro__
        for name in vars(kind).get(f"SINCE_{version}", ())
    }


def written(message: BaseModel, version: int) -> Any:
    """Return the JSON of a message as a version has it."""
    return _pruned(message.model_dump(mode="json"), message, version)


@cache
def grew(kind: Any) -> bool:
    """Whether a message, or one in it, has later fields."""
    return _grew(kind, set())


def _grew(kind: Any, seen: set[Any]) -> bool:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        if kind in seen:
            return False
        seen.add(kind)
        if added(kind):
            return True
        return any(_grew(field.annotation, seen) for field in kind.model_fields.values())
    return any(_grew(inner, seen) for inner in get_args(kind))


def _pruned(dumped: Any, value: Any, version: int) -> Any:
    """Leave out of what a value was dumped to the fields that a version does not have."""
    if isinstance(value, BaseModel):
        later = {name for name, came in added(type(value)).items() if came > version}
        for name, field in type(value).model_fields.items():
            key = field.serialization_alias or field.alias or name
            if key in dumped:
                if name in later:
                    del dumped[key]
                else:
                    dumped[key] = _pruned(dumped[key], getattr(value, name), version)
    elif isinstance(value, Mapping):
        for key, inner in zip(list(dumped), value.values(), strict=True):
            dumped[key] = _pruned(dumped[key], inner, version)
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_pruned(one, inner, version) for one, inner in zip(dumped, value, strict=True)]
    return dumped
