"""The one writer of CSV (RFC 4180), and its reader of marked texts.

A spreadsheet runs a cell that starts with `= + - @`, a tab or a line break as a formula. Such a
text gets an apostrophe before it, unless it is a number; `unmarked` takes it off again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

FORMULA = r"'*[=+\-@\t\r\n]"
"""How a text starts that is marked."""

_FORMULA = re.compile(FORMULA)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def csv_text(header: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return a table as CSV, a line for the header and for each row; see `csv_cell`."""
    return "".join(csv_lines(header, rows))


def csv_lines(header: Iterable[str], rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    """Yield the lines of `csv_text`."""
    yield csv_line(map(csv_cell, header))
    for row in rows:
        yield csv_line(map(csv_cell, row))


def csv_line(cells: Iterable[str]) -> str:
    """Return cells, as `csv_cell` writes them, as a line."""
    # A line with one empty cell would be no row.
    return (",".join(cells) or '""') + "\n"


def csv_cell(value: object) -> str:
    """Return a value as a cell.

    A number has every digit that it needs; None and NaN are empty. A text is quoted where it must
    be, and marked where a spreadsheet would run it.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float):
        return repr(float(value))
    if not isinstance(value, str):
        return str(value)
    marked = _FORMULA.match(value) and not _NUMBER.fullmatch(value)
    text = f"'{value}" if marked else value
    if text != text.strip() or any(sign in text for sign in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


def unmarked(text: str) -> str:
    """Return a text of a cell as it was before `csv_cell` marked it."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text
