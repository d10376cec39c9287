"""Other people's libraries, loaded when they are asked for."""

from __future__ import annotations

import importlib
import warnings
from types import ModuleType

from pramana_core.errors import NotInstalled


def load(module: str, package: str) -> ModuleType:
    """Import a module of another library.

    Args:
        module: its dotted name.
        package: what pip calls the library.

    Raises:
        NotInstalled: it is not installed; the error has the line to write.
    """
    try:
        with warnings.catch_warnings():
            # Some warn of their own future at import, which says nothing to who calls this.
            warnings.simplefilter("ignore")
            return importlib.import_module(module)
    except ImportError as error:
        raise NotInstalled(
            f"This needs {package}, which is not installed here; write: pip install {package}.",
            where=package,
        ) from error
