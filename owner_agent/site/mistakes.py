"""Error messages for site files, with every mistake and its position."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Sequence

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from pramana_core.alike import did_you_mean
from pramana_core.errors import ConfigError

_WAY = re.compile(r"(literal|dict|tuple|list|function-after)\[.*\]|constrained-\w+|\[key\]")
"""Matches pydantic's name of an alternative type, which is a part of the location."""


class Inconsistent(ValueError):
    """Contradictions within a file, one sentence each."""

    def __init__(self, mistakes: Sequence[str]):
        super().__init__("; ".join(mistakes))
        self.mistakes = tuple(mistakes)


def all_mistakes(
    error: ValidationError,
    what: str,
    described: str,
    keys: Collection[str] = (),
) -> ConfigError:
    """Return an error that lists every mistake of a file."""
    found = own_mistakes(error)
    mistakes = [
        one
        for e in found
        for one in _sentences(e["loc"], e["type"], e["msg"], e.get("ctx", {}).get("error"), keys)
    ]
    return ConfigError(
        f"The {what} has mistakes: {'; '.join(mistakes)}.",
        where=place_of(found[0]["loc"]) or None,
        remedy=f"{described} describes every key.",
    )


def _sentences(
    location: tuple[int | str, ...], kind: str, message: str, raised: object, keys: Collection[str]
) -> list[str]:
    if isinstance(raised, Inconsistent) and not location:
        return [one.rstrip(".") for one in raised.mistakes]
    sentence = mistake(location, kind, message).rstrip(".")
    # A known key is in the wrong section, not a misspelling of another key.
    unknown = [str(location[-1])] if kind == "extra_forbidden" and location[-1] not in keys else []
    return [sentence + did_you_mean(unknown, keys)]


def own_mistakes(error: ValidationError) -> list[ErrorDetails]:
    """Return all mistakes except lists that are too short because of mistakes in their items."""
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
    """Return the text of a position, counted from 1, such as `variables[2].channel.p`."""
    place = ""
    for part, in_file in _parts(location):
        if not in_file:
            continue
        if isinstance(part, int):
            place += f"[{part + 1}]"
        else:
            place += f".{part}" if place else part
    return place


def _parts(location: tuple[int | str, ...]) -> Iterator[tuple[int | str, bool]]:
    """Yield the parts of a position, and whether each occurs in the file."""
    for above, part in itertools.pairwise(("", *location)):
        way = isinstance(part, str) and _WAY.fullmatch(part)
        yield part, not (above == "channel" or way)
