"""What is wrong with a file of the custodian's: every mistake, where its reader looks."""

from __future__ import annotations

import itertools
import re

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from pramana_core.errors import ConfigError

_WAY = re.compile(r"(literal|dict|tuple|list|function-after)\[.*\]|constrained-\w+|\[key\]")
"""One of several ways to write a value: pydantic's name of a way is a part of the location."""


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
    left = [e for e in found if e["type"] != "too_short" or e["loc"] not in inside]
    return [e for e in left if _is_meant(e, left)]


def _is_meant(error: ErrorDetails, found: list[ErrorDetails]) -> bool:
    """Whether a mistake is told of the way in which a value was meant to be written.

    A value may be written in several ways, as a name or as a table. It fails at each of them; the
    one that was meant fails by what is inside, not by its kind, or deepest inside.
    """
    before = _before_way(error)
    if before is None:
        return True
    others = [e for e in found if _before_way(e) == before]
    best = max(others, key=_meant)
    depth = len(before) + 1
    return error["loc"][:depth] == best["loc"][:depth]


def _before_way(error: ErrorDetails) -> tuple[int | str, ...] | None:
    for depth, part in enumerate(error["loc"]):
        if isinstance(part, str) and _WAY.fullmatch(part):
            return error["loc"][:depth]
    return None


def _meant(error: ErrorDetails) -> tuple[int, bool]:
    return len(error["loc"]), not error["type"].endswith("_type")


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

    Below a `channel` comes its kind, which in the file is one of its keys and no section; the way
    in which a value is written is not in the file either.
    """
    place = ""
    for above, part in itertools.pairwise(("", *location)):
        if above == "channel" or (isinstance(part, str) and _WAY.fullmatch(part)):
            continue
        if isinstance(part, int):
            place += f"[{part + 1}]"
        else:
            place += f".{part}" if place else part
    return place
