"""The mistakes that newcomers make, room by room: each module here has its `MISTAKES`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence

from pramana_core.errors import PramanaError

Call = Callable[[], object]

Mistakes = Mapping[type[PramanaError], Sequence[tuple[Call, str]]]
"""By the class of the error: the wrong call, and the argument or column that the error names."""


def all_mistakes() -> list[tuple[str, Call, type[PramanaError], str]]:
    """Return the mistakes of every module in this folder, each with a name of its own."""
    modules = sorted(found.name for found in pkgutil.iter_modules(__path__))
    return [
        (f"{module}-{error.code}-{where}-{number}", call, error, where)
        for module in modules
        for error, calls in importlib.import_module(f"{__name__}.{module}").MISTAKES.items()
        for number, (call, where) in enumerate(calls)
    ]
