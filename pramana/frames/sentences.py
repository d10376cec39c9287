"""Errors of the packages below as one sentence each: a remedy follows a semicolon."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from shared.errors import PramanaError

_STOP = re.compile(r"[.]\s+(?=\S)")
"""Where one sentence ends and another begins."""


@contextmanager
def one_sentence() -> Iterator[None]:
    """Let what is refused within be refused in one sentence; the error stays of its class."""
    try:
        yield
    except PramanaError as error:
        error.message, error.remedy = joined(error.message, error.remedy), None
        error.args = (error.message,)
        raise


def joined(message: str, remedy: str | None = None) -> str:
    """Return a message and its remedy as one sentence."""
    first, *others = (
        part for text in (message, remedy or "") for part in _STOP.split(text) if part
    )
    said = [first.rstrip("."), *(_within(part).rstrip(".") for part in others)]
    return "; ".join(said) + "."


def _within(sentence: str) -> str:
    """Return a sentence as it stands after a semicolon: a first word that is no name is small."""
    first = sentence.split(maxsplit=1)[0]
    return sentence if any(c.isupper() for c in first[1:]) else sentence[0].lower() + sentence[1:]
