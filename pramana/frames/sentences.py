"""Errors and warnings about a wrong call; each is one sentence and points to the caller's line."""

from __future__ import annotations

import functools
import inspect
import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ContextDecorator
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from pramana_core.alike import did_you_mean, first_few
from pramana_core.errors import OptionError, PramanaError

Given = ParamSpec("Given")
Answer = TypeVar("Answer")

_LISTED = 12
"""The largest number of names or labels in a message."""

_PRINTED = 10
"""The largest number of names in a printed form."""

_LONGEST = 40
"""The longest quoted value, in characters; longer values are cut."""

_HERE = str(Path(__file__).parents[1]) + os.sep
"""Modules between the caller and Pramana's function; warnings skip their lines."""

_NEXT = re.compile(r"[.!?]\s+(\w?)(?=(\w?))")


def quoted(values: Iterable[object]) -> str:
    """Return a list of values for a message: the first few, and the count of the others."""
    found = list(values)
    texts = [text if len(text := repr(v)) <= _LONGEST else text[:_LONGEST] + "..." for v in found]
    return first_few(texts, _LISTED)


def listed(names: Sequence[str]) -> str:
    """Return a list of names for a printed form: the first ten, and the count of the others."""
    return first_few(names, _PRINTED)


class one_sentence(ContextDecorator):  # noqa: N801 - used as a function is
    """A context that raises errors again as one sentence, without inner frames.

    Args:
        of: the start of the sentence, such as the name of the wrong parameter.
    """

    def __init__(self, of: str = "") -> None:
        self._of = of

    def __enter__(self) -> None:
        """Start translating errors."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _at: object
    ) -> None:
        if isinstance(error, PramanaError):
            sentence = joined(str(error))
            error.message, error.remedy = f"{self._of}: {sentence}" if self._of else sentence, None
            error.args = (error.message, *error.args[1:])
            raise error.with_traceback(None) from None


def checked_options(
    function: Callable[Given, Answer], name: str | None = None
) -> Callable[Given, Answer]:
    """Return the function with one-sentence errors for unknown and missing options."""
    known = inspect.signature(function)

    @functools.wraps(function)
    def checked(*args: Given.args, **named: Given.kwargs) -> Answer:
        _require_options(name or function.__name__, known, args, named)
        return function(*args, **named)

    return checked


def _require_options(
    name: str, known: inspect.Signature, args: Sequence[Any], named: Mapping[str, Any]
) -> None:
    try:
        known.bind(*args, **named)
    except TypeError as error:
        every = [option for option in known.parameters if option != "self"]
        others = any(one.kind is one.VAR_KEYWORD for one in known.parameters.values())
        strange = [option for option in named if option not in every]
        if strange and not others:
            raise OptionError(
                f"{name} has no option {strange[0]!r}{did_you_mean(strange[:1], every)}; it has"
                f" {', '.join(every)}.",
                where=strange[0],
            ) from None
        raise OptionError(f"{name}: {error}; it has {', '.join(every)}.", where=name) from None


def warn_caller(words: str) -> None:
    """Warn at the caller's line, outside Pramana's own functions."""
    level, frame = 1, inspect.currentframe()
    while frame and frame.f_back and frame.f_code.co_filename.startswith(_HERE):
        level, frame = level + 1, frame.f_back
    warnings.warn(words, stacklevel=level)


def warn_each(sentences: Iterable[str]) -> None:
    """Warn of each sentence at the caller's line."""
    for words in sentences:
        warn_caller(words)


def joined(text: str) -> str:
    """Join the sentences of a text with semicolons."""

    def after(found: re.Match[str]) -> str:
        first, second = found.groups()
        return f"; {first.lower() if not second.isupper() else first}"

    return _NEXT.sub(after, " ".join(text.split()))
