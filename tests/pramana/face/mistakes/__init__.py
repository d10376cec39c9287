"""The mistakes that newcomers make, room by room: each module here has a list `MISTAKES`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field

from pramana_core.errors import PramanaError


@dataclass(frozen=True)
class Mistake:
    """A wrong call, and what it is answered with.

    Attributes:
        name: what is wrong with it, in a few words; no two are called alike.
        call: makes it.
        error: the class of the error.
        words: what the answer says, at least: the argument, what was given, what is wanted.
    """

    name: str
    call: Callable[[], object] = field(repr=False)
    error: type[PramanaError]
    words: tuple[str, ...]


def all_mistakes() -> list[Mistake]:
    """Return the mistakes of every module in this folder."""
    return [
        mistake
        for module in sorted(found.name for found in pkgutil.iter_modules(__path__))
        for mistake in importlib.import_module(f"{__name__}.{module}").MISTAKES
    ]
