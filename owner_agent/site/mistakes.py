"""What is wrong in a site file, every mistake with its line.

Also here:

* Where in a file of the custodian's something stands: its line, by its place in what was read.
* The noise that a site file may demand on all that its owner shares of its true records.
* Site files, and parts of them, written as a person would.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import tomlkit
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails
from tomlkit.items import Item, Table

from pramana_core.alike import did_you_mean
from pramana_core.errors import ConfigError

# Where in a file of the custodian's something stands: its line, by its place in what was read.


Place = tuple[str | int, ...]

_KEY = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)\s*""")
_QUOTED = re.compile(
    r"""
    \"{3} (?: [^\\] | \\. )*? \"{3} | '{3} .*? '{3}   # over several lines
    | " (?: [^"\\\n] | \\. )* " | ' [^'\n]* '         # in one line
    | \# [^\n]*                                       # a comment
    """,
    re.DOTALL | re.VERBOSE,
)
_HEADER = re.compile(r"\s*(\[\[?)(.*?)\]")


@dataclass(frozen=True)
class Lines:
    """The line, counted from 1, of every section and key of a TOML file, by its place."""

    places: dict[Place, int]

    @classmethod
    def of(cls, text: str) -> Lines:
        """Look through a text that is TOML."""
        places: dict[Place, int] = {}
        counts: dict[Place, int] = {}
        section: Place = ()
        depth = 0
        written = text.split("\n")
        for number, line in enumerate(_without_values(text).split("\n"), 1):
            if depth == 0 and (header := _HEADER.match(line)):
                section = _section_of(_keys(written[number - 1].strip("[] \t")), counts)
                if header[1] == "[[":
                    counts[section] = counts.get(section, -1) + 1
                    section = (*section, counts[section])
                places.setdefault(section, number)
                continue
            if depth == 0 and "=" in line:
                place: Place = section
                for key in _keys(written[number - 1]):
                    place = (*place, key)
                    places.setdefault(place, number)
            depth += sum(line.count(mark) for mark in "[{") - sum(line.count(m) for m in "]}")
        return cls(places)

    def line(self, place: Sequence[str | int]) -> int | None:
        """Return the line of a place, or of the nearest that it is inside of; None for the file."""
        for depth in range(len(place), 0, -1):
            if (found := self.places.get(tuple(place[:depth]))) is not None:
                return found
        return None


def _without_values(text: str) -> str:
    """Return a text of the same lines without what is quoted, and without comments."""
    return _QUOTED.sub(lambda found: "q" + "\n" * found[0].count("\n"), text)


def _section_of(keys: Sequence[str], counts: dict[Place, int]) -> Place:
    """Return the place of a section's name: the last of each list that is on the way to it."""
    place: Place = ()
    for number, key in enumerate(keys, 1):
        place = (*place, key)
        if number < len(keys) and place in counts:
            place = (*place, counts[place])
    return place


def _keys(line: str) -> list[str]:
    """Return the dotted names that a line begins with."""
    found: list[str] = []
    at = 0
    while key := _KEY.match(line, at):
        found.append(key[1].strip("\"'"))
        at = key.end()
        if line[at : at + 1] != ".":
            break
        at += 1
    return found


_WAY = re.compile(r"(literal|dict|tuple|list|function-after)\[.*\]|constrained-\w+|\[key\]")
"""One of several ways to write a value: pydantic's name of a way is a part of the location."""


class Inconsistent(ValueError):
    """What does not go together in a file, a sentence for each."""

    def __init__(self, mistakes: Sequence[str]):
        super().__init__("; ".join(mistakes))
        self.mistakes = tuple(mistakes)


def all_mistakes(
    error: ValidationError,
    what: str,
    described: str,
    text: str | None = None,
    keys: Collection[str] = (),
    more: Sequence[str] = (),
) -> ConfigError:
    """Return the error that names every mistake of a file.

    Args:
        error: what was found.
        what: the file, as people call it.
        described: says where its keys are.
        text: its text, if the line of each mistake is to be told.
        keys: all keys there are, to tell which was meant.
        more: what does not go together besides.
    """
    found = own_mistakes(error)
    lines = None if text is None else Lines.of(text)
    mistakes = [
        one + _line(lines, text, e["loc"], one)
        for e in found
        for one in _said(e["loc"], e["type"], e["msg"], e.get("ctx", {}).get("error"), keys)
    ]
    mistakes += [one + _line(lines, text, (), one) for one in more]
    return ConfigError(
        f"The {what} is not right: {'; '.join(mistakes)}.",
        where=place_of(found[0]["loc"]) or None,
        remedy=f"{described} describes every key.",
    )


def _said(
    location: tuple[int | str, ...], kind: str, message: str, raised: object, keys: Collection[str]
) -> list[str]:
    if isinstance(raised, Inconsistent) and not location:
        return [one.rstrip(".") for one in raised.mistakes]
    said = mistake(location, kind, message).rstrip(".")
    # A key that is known stands in the wrong place, and is no other one misspelled.
    unknown = [str(location[-1])] if kind == "extra_forbidden" and location[-1] not in keys else []
    return [said + did_you_mean(unknown, keys)]


def _line(lines: Lines | None, text: str | None, place: tuple[int | str, ...], said: str) -> str:
    """Say on which line something stands; what is of the whole file, by the name that it quotes."""
    if lines is None or text is None:
        return ""
    found = lines.line([part for part, in_file in _parts(place) if in_file])
    quoted = re.search(r"'([^']+)'", said)
    if not place and quoted is not None:
        named = [n for n, row in enumerate(text.split("\n"), 1) if f'"{quoted[1]}"' in row]
        found = named[-1] if named else None
    return "" if found is None else f" (line {found})"


def own_mistakes(error: ValidationError) -> list[ErrorDetails]:
    """Return the mistakes but for lists that are too short because of the mistakes inside them."""
    found = error.errors()
    inside = {e["loc"][:depth] for e in found for depth in range(len(e["loc"]))}
    left = [e for e in found if e["type"] != "too_short" or e["loc"] not in inside]
    return [e for e in left if _is_meant(e, left)]


def _is_meant(error: ErrorDetails, found: list[ErrorDetails]) -> bool:
    """Whether a mistake is about the way in which a value was meant to be written.

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
    for part, in_file in _parts(location):
        if not in_file:
            continue
        if isinstance(part, int):
            place += f"[{part + 1}]"
        else:
            place += f".{part}" if place else part
    return place


def _parts(location: tuple[int | str, ...]) -> Iterator[tuple[int | str, bool]]:
    """Yield the parts of a location, and whether they are in the file."""
    for above, part in itertools.pairwise(("", *location)):
        way = isinstance(part, str) and _WAY.fullmatch(part)
        yield part, not (above == "channel" or way)


# The noise that a site file may demand on all that its owner shares of its true records.

_Epsilon = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class _Demand(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    epsilon: _Epsilon
    max_epsilon: _Epsilon


class LaplaceNoise(_Demand):
    """Discrete Laplace noise: what a session tells is `epsilon`-differentially private.

    The records are known, and their values are what is protected. `max_epsilon` is what all
    sessions together may cost: without it, averages over enough sessions would tell every count.
    """

    kind: Literal["laplace"]
    delta: Literal[0] = 0


class GaussianNoise(_Demand):
    """Discrete Gaussian noise: a session is (`epsilon`, `delta`)-differentially private.

    Less noise than Laplace's where many tables are told, for a `delta` well below one over the
    number of records.
    """

    kind: Literal["gaussian"]
    delta: Annotated[float, Field(gt=0, lt=0.1)]


NoiseDemand = Annotated[LaplaceNoise | GaussianNoise, Field(discriminator="kind")]


# Site files, and parts of them, written as a person would.

WIDTH = 100


def toml(content: Mapping[str, Any], *comments: str) -> str:
    """Return TOML that reads back as `content`, with comments before it.

    What fits into a line is written in one: lists, and tables inside a section.
    """
    document = tomlkit.document()
    for comment in comments:
        document.add(tomlkit.comment(comment))
    for key, value in content.items():
        if isinstance(value, Mapping):
            document.add(key, _section(value))
        elif isinstance(value, list) and any(isinstance(entry, Mapping) for entry in value):
            sections = tomlkit.aot()
            for entry in value:
                sections.append(_section(entry))
            document.add(key, sections)
        else:
            document.add(key, _value(key, value))
    return document.as_string().rstrip() + "\n"


def _section(keys: Mapping[str, Any]) -> Table:
    section = tomlkit.table()
    for key, value in keys.items():
        section.add(key, _value(key, value))
    return section


def _value(key: str, value: Any) -> Item:
    if isinstance(value, Mapping):
        inline = tomlkit.inline_table()
        inline.update(value)
        return inline if _fits(key, inline) else _section(value)
    if isinstance(value, list | tuple):
        array = tomlkit.array()
        array.extend(value)
        array.multiline(not _fits(key, array))
        return array
    plain: Item = tomlkit.item(value)
    return plain


def _fits(key: str, item: Item) -> bool:
    return len(f"{key} = {item.as_string()}") <= WIDTH
