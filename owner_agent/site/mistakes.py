"""What is wrong with a file of the custodian's: every mistake, where its reader looks."""

from __future__ import annotations

import itertools

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from shared.errors import ConfigError


def all_mistakes(error: ValidationError, what: str, described: str) -> ConfigError:
    """Return the error that names every mistake of a file; `described` says where its keys are."""
    found = own_mistakes(error)
    mistakes = [mistake(e["loc"], e["type"], e["msg"]) for e in found]
    return ConfigError(
        f"The {what} is not right: " + "; ".join(said.rstrip(".") for said in mistakes) + ".",
        where=place_of(found[0]["loc"]) or None,
        remedy=f"{described} describes every key.",
    )


def own_mistakes(error: ValidationError) -> list[ErrorDetails]:
    """Return the mistakes but for lists that are too short because of the mistakes inside them."""
    found = error.errors()
    inside = {e["loc"][:depth] for e in found for depth in range(len(e["loc"]))}
    return [e for e in found if e["type"] != "too_short" or e["loc"] not in inside]


def mistake(location: tuple[int | str, ...], kind: str, message: str) -> str:
    place = place_of(location)
    if kind == "extra_forbidden":
        return f"unknown key {place}"
    if kind == "missing":
        return f"missing key {place}"
    text = message.removeprefix("Value error, ")
    return f"{place}: {text}" if place else text


def place_of(location: tuple[int | str, ...]) -> str:
    """Write a location as the file's reader counts: `variables[2].channel.p` is the second.

    Below a `channel` comes its kind, which in the file is one of its keys and no section.
    """
    place = ""
    for above, part in itertools.pairwise(("", *location)):
        if above == "channel":
            continue
        if isinstance(part, int):
            place += f"[{part + 1}]"
        else:
            place += f".{part}" if place else part
    return place
