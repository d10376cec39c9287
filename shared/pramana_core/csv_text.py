"""Writing CSV (RFC 4180), and removing the marks that the writer adds.

A spreadsheet runs a cell that starts with `= + - @`, a tab or a line break as a formula. The writer
puts an apostrophe before such a text unless it is a number; `unmarked` removes it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

FORMULA = r"'*[=+\-@\t\r\n]"
"""The start of a text that gets an apostrophe."""

_FORMULA = re.compile(FORMULA)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def csv_text(header: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return a table as CSV: one line for the header and one for each row; see `csv_cell`."""
    return "".join(csv_lines(header, rows))


def csv_lines(header: Iterable[str], rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    """Yield the lines of `csv_text`."""
    yield csv_line(map(csv_cell, header))
    for row in rows:
        yield csv_line(map(csv_cell, row))


def csv_line(cells: Iterable[str]) -> str:
    """Return a line of CSV from cells that `csv_cell` wrote."""
    # Readers skip an empty line, so a single empty cell is quoted.
    return (",".join(cells) or '""') + "\n"


def csv_cell(value: object) -> str:
    """Return a value as a cell.

    A number has as many digits as it needs; None and NaN are empty. A text is quoted where CSV
    requires quotes, and marked where a spreadsheet would run it.
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
    """Return the text of a cell without the apostrophe that `csv_cell` adds."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text
