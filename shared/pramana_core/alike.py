"""Names in messages: the first few of many, and suggestions for a misspelled name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


def first_few(names: Iterable[object], most: int = 6) -> str:
    """Return the first `most` names as text for a message, then the count of further names."""
    every = list(map(str, names))
    more = f" and {len(every) - most:,} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more


def repeated_in(names: Iterable[str]) -> list[str]:
    """Return the names that occur more than once, sorted."""
    return sorted(name for name, count in Counter(names).items() if count > 1)


def alike(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that `name` probably means, or None.

    Names that differ only in capitals, spaces and punctuation come before similar spellings.
    """
    from difflib import get_close_matches

    among = list(known)
    letters = _letters(name)
    same = [other for other in among if letters and _letters(other) == letters]
    near = same or get_close_matches(name, among, 1)
    return near[0] if near else None


def did_you_mean(absent: Iterable[object], known: Iterable[str]) -> str:
    """Return "(did you mean ...?)" with the known names that absent names resemble, or ""."""
    among = list(known)
    found = dict.fromkeys(
        near
        for name in absent
        if isinstance(name, str) and (near := alike(name, among)) is not None
    )
    return f" (did you mean {', '.join(map(repr, found))}?)" if found else ""


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))
