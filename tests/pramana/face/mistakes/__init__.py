"""The mistakes that newcomers make, room by room: each module here has its `MISTAKES`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence

from pramana_core.errors import PramanaError

Call = Callable[[], object]

Mistakes = Mapping[tuple[type[PramanaError], str | None], Sequence[Call]]
"""Wrong calls by the class of the error and the place that it names; None for any place."""


def all_mistakes() -> Iterator[tuple[str, Call, type[PramanaError], str | None]]:
    """Yield the mistakes of every module in this folder: a name, the call, and its answer."""
    for module in sorted(found.name for found in pkgutil.iter_modules(__path__)):
        table: Mistakes = importlib.import_module(f"{__name__}.{module}").MISTAKES
        for (error, where), calls in table.items():
            for place, call in enumerate(calls):
                yield f"{module}-{error.__name__}-{where}-{place}", call, error, where
