"""Reading text files in the encoding of their byte order mark, or as UTF-8 without a mark."""

from __future__ import annotations

import codecs
from pathlib import Path

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def encoding_of(start: bytes) -> str:
    """Return the encoding that a file's byte order mark indicates; UTF-8 without a mark."""
    return next((encoding for mark, encoding in _MARKS if start.startswith(mark)), "utf-8")


def decoded(content: bytes) -> str:
    r"""Return the text of a file's bytes with every line ended by `\n`.

    Raises:
        UnicodeDecodeError: a line is not in the encoding; the reason names the first such line.
    """
    try:
        text = content.decode(encoding_of(content))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        error.reason = f"line {line} is not in {error.encoding.upper()}"
        raise
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_text(path: Path) -> str:
    """Return the text of a file; see `decoded`. Raises OSError, UnicodeDecodeError."""
    return decoded(path.read_bytes())


def unreadable(error: OSError | UnicodeDecodeError) -> str:
    """Return why a text file cannot be read, with advice on its encoding."""
    if isinstance(error, OSError):
        return str(error.strerror)
    return f"{error.reason}; save the file again as UTF-8"
