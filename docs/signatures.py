"""Default values in the reference as they are, not as the code writes them.

`max_depth=TreeOptions.max_depth` is read as `max_depth=None`. It is an extension of griffe, which
reads the code; `mkdocs.yml` names it.
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import griffe


class DefaultValues(griffe.Extension):
    """Takes the defaults of functions from the running objects where the code names a constant."""

    def on_function(self, *, func: griffe.Function, **kwargs: Any) -> None:
        """Write the defaults of one function."""
        del kwargs
        named = [p for p in func.parameters if _is_named(p.default)]
        if not named:
            return
        real: Any = importlib.import_module(func.module.path)
        for name in func.path.removeprefix(f"{func.module.path}.").split("."):
            real = getattr(real, name)
        known = inspect.signature(real).parameters
        for parameter in named:
            shown = repr(known[parameter.name].default)
            if not shown.startswith("<"):
                parameter.default = shown


def _is_named(default: object) -> bool:
    """Return whether a default is written as a name or a call, such as `LEVEL`."""
    text = str(default or "")
    return text.isascii() and text[:1].isalpha() and text not in {"None", "True", "False"}
