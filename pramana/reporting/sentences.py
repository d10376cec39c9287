"""Errors from below in one sentence, as everything that the face says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from shared.errors import PramanaError

_BREAK = re.compile(r"[.!?]\s+(\w)(?=\w* )")
"""Where one sentence ends and the next begins, with its first letter."""


@contextmanager
def in_one_sentence() -> Iterator[None]:
    """Let errors pass with their sentences and their remedy joined by semicolons."""
    try:
        yield
    except PramanaError as error:
        error.message, error.remedy = joined(str(error)), None
        error.args = (error.message, *error.args[1:])
        raise


def joined(text: str) -> str:
    """Return sentences as one, such as `What was wrong; what to do.`"""
    return _BREAK.sub(lambda match: f"; {match.group(1).lower()}", text)
