"""The mistakes that newcomers make, room by room: each module here has its `MISTAKES`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pramana_core.errors import PramanaError

Call = Callable[[], object]

Mistakes = Mapping[type[PramanaError], Mapping[str, tuple[Any, ...]]]
"""By the class of the error, and by what is wrong in a few words: the call, and what the answer
says, at least, parted by dots: the argument, what was given, what is wanted."""


@dataclass(frozen=True)
class Mistake:
    """A wrong call, and what it is answered with; no two have the same name."""

    name: str
    call: Call = field(repr=False)
    error: type[PramanaError]
    words: tuple[str, ...]


def all_mistakes() -> list[Mistake]:
    """Return the mistakes of every module in this folder."""
    modules = sorted(found.name for found in pkgutil.iter_modules(__path__))
    return [
        Mistake(name, call, error, tuple(word for some in words for word in some.split(" … ")))
        for module in modules
        for error, calls in importlib.import_module(f"{__name__}.{module}").MISTAKES.items()
        for name, (call, *words) in calls.items()
    ]
