"""Where in a file of the custodian's something stands: its line, by its place in what was read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

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
                section = _section(_keys(written[number - 1].strip("[] \t")), counts)
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


def _section(keys: Sequence[str], counts: dict[Place, int]) -> Place:
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
