"""Default values in the reference as they are, not as the code writes them.

`max_depth=TreeOptions.max_depth` is read as `max_depth=None`: an extension of griffe that `mkdocs.yml` names.
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
        if not any("." in str(p.default or "") for p in func.parameters):
            return
        real: Any = importlib.import_module(func.module.path)
        for name in func.path.removeprefix(f"{func.module.path}.").split("."):
            real = getattr(real, name)
        known = inspect.signature(real).parameters
        for parameter in func.parameters:
            if "." in str(parameter.default or ""):
                parameter.default = repr(known[parameter.name].default)
