"""The mistakes that newcomers make, room by room: each module here has its `MISTAKES`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pramana_core.errors import PramanaError

Mistakes = Mapping[type[PramanaError], Mapping[str, tuple[Any, ...]]]
"""By the class of the error, and by what is wrong in a few words: the call, and what the answer
says, at least, parted by dots: the argument, what was given, what is wanted."""


@dataclass(frozen=True)
class Mistake:
    """A wrong call, and what it is answered with; no two have the same name."""

    name: str
    call: Callable[[], object] = field(repr=False)
    error: type[PramanaError]
    words: tuple[str, ...]


def all_mistakes() -> list[Mistake]:
    """Return the mistakes of every module in this folder."""
    found: list[Mistake] = []
    for module in sorted(one.name for one in pkgutil.iter_modules(__path__)):
        made = importlib.import_module(f"{__name__}.{module}").MISTAKES
        found += made if isinstance(made, list) else _listed(made)
    return found


def _listed(made: Mistakes) -> Iterator[Mistake]:
    for error, calls in made.items():
        for name, (call, *words) in calls.items():
            said = tuple(word for some in words for word in some.split(" … "))
            yield Mistake(name, call, error, said)
