"""Spellings of values in cells, and the distinction between numbers and codes."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

_DECIMALS = re.compile(r"([+-]?(?:0|[1-9][0-9]*))(?:\.0*|(\.[0-9]*[1-9])0+)")
_MIDNIGHT = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]00:00:00(?:\.0+)?")
_CLOCK = re.compile(r"(.*[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.0+|(\.[0-9]*[1-9])0+)")
TRUTH = {"true": "1", "false": "0"}


def plainest(text: str) -> str:
    """Return the simplest spelling of a cell's value: 7.50 as 7.5, midnight as its date."""
    for pattern in (_DECIMALS, _MIDNIGHT, _CLOCK):
        if found := pattern.fullmatch(text):
            return "".join(part or "" for part in found.groups())
    return text.lower() if text.lower() in TRUTH else text


_WRITTEN = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NAMED_CODE = re.compile(
    r"(?i:(?:^|[\W_])(?:zip|postal|post|plz|phone|telephone|tel|mobile|fax|code|icd|ssn|iban|ags"
    r"|isco|nace|nuts|ops)(?:code)?s?(?:[\W_]|$))|[a-z](?:Zip|Code|Phone)$"
    r"|(?i:schl(?:ü|ue)ssel|kennziffer|leitzahl)"
)
_DAY = re.compile(r"(?:18|19|20|21)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])")
_LONGEST_NUMBER = 15
_LEAST_ALIKE = 7


def why_codes(name: str, texts: Collection[str]) -> str:
    """Return why the digits of a column are codes, or an empty text if they are numbers.

    Numbers are not written as 02116, 1E5 or +49301234, and dates cannot be cut into intervals.
    `name` is the column's name, which may indicate codes. `texts` are the column's distinct values.
    """
    if any(re.match(r"[+-]?0[0-9]", text) for text in texts):
        return "numbers with leading zeros"
    if any(re.fullmatch(r"[+-]?[0-9]+[eE][0-9]+", text) for text in texts):
        return "codes with an E"
    if any(re.fullmatch(r"\+[0-9]+", text) for text in texts):
        return "digits after a plus sign, like telephone numbers"
    if not all(re.fullmatch(r"[0-9]+", plainest(text)) for text in texts):
        return ""
    if _NAMED_CODE.search(name):
        return "codes, according to the column's name"
    whole = [plainest(text) for text in texts]
    if len(whole) > 1 and all(map(_DAY.fullmatch, whole)):
        return "dates written as YYYYMMDD"
    if max(map(len, whole)) > _LONGEST_NUMBER:
        return "numbers with too many digits"
    lengths = set(map(len, whole))
    if len(whole) > 1 and len(lengths) == 1 and lengths.pop() >= _LEAST_ALIKE:
        return "numbers of equal length, like identifiers"
    return ""


def are_years(texts: Collection[str]) -> bool:
    """Return whether all texts are years from 1800 to 2199."""
    return bool(texts) and all(re.fullmatch(r"(?:18|19|20|21)[0-9]{2}", plainest(t)) for t in texts)


def looks_like_record(header: Sequence[str], columns: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row of a table is probably a record instead of a header.

    More than half of its cells look like the other cells of their columns: the same value, a number
    above numbers, or digits in the same positions.
    """
    alike = 0
    for name, cells in zip(header, columns, strict=True):
        found = [cell for cell in cells if cell]
        if name and found:
            numeric = _WRITTEN.fullmatch(name) and all(map(_WRITTEN.fullmatch, found))
            shaped = re.search("[0-9]", name) and 2 * sum(
                _shape(cell) == _shape(name) for cell in found
            ) > len(found)
            alike += bool(name in found or numeric or shaped)
    return 2 * alike > len(header)


def _shape(text: str) -> str:
    return re.sub("[A-Za-z]", "a", re.sub("[0-9]", "9", text))
