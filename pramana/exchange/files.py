"""Text to files and back, for whoever writes and reads the forms of other programs."""

from __future__ import annotations

from pathlib import Path

from pramana.frames.tables import shown
from pramana_core.errors import InputError


def written(text: str, path: str | Path | None) -> str | None:
    """Write text to a file, or return it where no path is given.

    Raises:
        InputError: the path is none, or cannot be written.
    """
    if path is None:
        return text
    file = _path(path, "path")
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"path {str(path)!r} cannot be written: {error.strerror}.", where="path"
        ) from error
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
        ) from error


def _path(given: object, argument: str) -> Path:
    if not isinstance(given, str | Path):
        raise InputError(
            f"{argument} must be a path or a text, not {shown(given)}.", where=argument
        )
    return Path(given)
