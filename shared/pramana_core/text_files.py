"""Text files, read in one way: the encoding by the mark at the start, line ends as one."""

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
    """Return the encoding that the first bytes of a file say: UTF-8 where they say nothing."""
    return next((encoding for mark, encoding in _MARKS if start.startswith(mark)), "utf-8")


def decoded(content: bytes) -> str:
    r"""Return the text of a file's bytes, every line of it ended by `\n`.

    Raises:
        UnicodeDecodeError: it is not in its encoding; the reason says from which line on.
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
    """Return why a text file cannot be read, and what to do about another encoding."""
    if isinstance(error, OSError):
        return str(error.strerror)
    return f"{error.reason}; save the file again with the encoding UTF-8"
