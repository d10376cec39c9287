"""Other people's libraries, loaded when they are asked for.

Also here:

* Text to files and back, for whoever writes and reads the forms of other programs.
"""

from __future__ import annotations

import importlib
import warnings
from pathlib import Path
from types import ModuleType

from pramana.frames.tables import shown
from pramana_core.errors import InputError, NotInstalled


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
    except ImportError:
        raise NotInstalled(
            f"This needs {package}, which is not installed here; write: pip install {package}.",
            where=package,
        ) from None


# Text to files and back, for whoever writes and reads the forms of other programs.


def written(text: str, path: str | Path | None) -> str | None:
    """Write text to a file, or return it where no path is given.

    Raises:
        InputError: the path is not a path, or cannot be written.
    """
    if path is None:
        return text
    file = _path(path, "path")
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"path {str(path)!r} cannot be written: {error.strerror}.", where="path"
        ) from None
    return None


def text_of(source: str | Path, argument: str) -> str:
    """Return the text of a file, or `source` itself if it has several lines or braces.

    Raises:
        InputError: it is neither a path nor text, or the file cannot be read.
    """
    if isinstance(source, str) and ("\n" in source or "{" in source):
        return source
    file = _path(source, argument)
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise InputError(
            f"{argument} {str(source)!r} cannot be read: {reason}.", where=argument
        ) from None


def _path(given: object, argument: str) -> Path:
    if not isinstance(given, str | Path):
        raise InputError(
            f"{argument} must be a path or a text, not {shown(given)}.", where=argument
        )
    return Path(given)
