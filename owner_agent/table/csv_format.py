"""The format of a CSV file: encoding, separator and decimal sign. Finds faults in the file."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import itertools
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa
import pyarrow.compute as pc

from owner_agent.site.table_source import MARKED, TableSource
from pramana_core.errors import PramanaError, TableError
from pramana_core.text_files import encoding_of

SEPARATORS = ",;\t|"
ENCODINGS = (MARKED, "cp1252")
"""Encodings to try without a byte order mark; Windows-1252, last, fits nearly every file."""

_START = 1 << 16
_ROWS_LOOKED_AT = 200
_DECLARED = re.compile(r"sep=(.)\r?\n?", re.IGNORECASE)
_OTHER_FORMATS = {b"PK\x03\x04": ".xlsx", b"\xd0\xcf\x11\xe0": ".xls", b"PAR1": ".parquet"}

_GROUPED = r"^[+-]?[1-9][0-9]{0,2}(\.[0-9]{3})+(,[0-9]+)?$"
_COMMA = r"^([+-]?[0-9]*),([0-9]+)$"


@dataclass(frozen=True)
class CsvFormat:
    """The format of a CSV file.

    Attributes:
        encoding: Python's name of the encoding.
        separator: the character between cells.
        declared: whether the first line only names the separator, as Excel writes it.
        blanks: whether blanks may precede quotation marks.
    """

    encoding: str
    separator: str
    declared: bool
    blanks: bool

    @classmethod
    def of(cls, source: TableSource) -> CsvFormat:
        """Detect the format from the first lines of a file. Raises OSError, LookupError."""
        with opened(source.path) as file:
            content = file.read(_START)
        found = encoding_of(content)
        if found == MARKED:
            found = source.encoding
        start = content.decode(found, errors="replace").removeprefix("\ufeff")
        line = _DECLARED.match(start)
        start = start[line.end() :] if line else start
        separator = source.separator or (line and line[1]) or _separator(start)
        blanks = re.search(rf'(?m)(?:^|{re.escape(separator)}) +"', start) is not None
        return cls(found, separator, line is not None, blanks)

    def rows(self, path: Path) -> Iterator[list[str]]:
        """Yield the nonempty rows, header first. Raises OSError, UnicodeDecodeError, csv.Error."""
        with opened(path) as file, io.TextIOWrapper(file, self.encoding, newline="") as text:
            if self.declared:
                text.readline()
            read = csv.reader(
                text, delimiter=self.separator, skipinitialspace=True, strict=self.blanks
            )
            yield from filter(None, read)


def opened(path: Path) -> BinaryIO:
    """Open a file for reading bytes; decompress it if its name ends in .gz."""
    packed = path.name.lower().endswith(".gz")
    return cast("BinaryIO", gzip.open(path) if packed else path.open("rb"))


def _separator(start: str) -> str:
    """Return the separator that gives most rows the width of the header.

    If the first row is a title, most rows must have the same width instead.
    """

    def score(separator: str) -> tuple[int, int, int]:
        text = io.StringIO(start, newline="")
        read = csv.reader(text, delimiter=separator, skipinitialspace=True)
        sizes = [len(row) for row in itertools.islice(read, _ROWS_LOOKED_AT) if row]
        header = sizes[0] if sizes else 0
        common = max(map(sizes.count, {*sizes} - {1}), default=0)
        return (sizes.count(header) if header > 1 else 0, header, common)

    try:
        return max(SEPARATORS, key=score)
    except csv.Error:  # The reader reports a cell that is too long.
        return SEPARATORS[0]


def find_encoding(path: Path) -> str:
    """Return an encoding for a whole file without a byte order mark. Raises OSError, EOFError."""
    with opened(path) as file:
        start = file.read(_START)
    if encoding_of(start) != MARKED:
        return MARKED
    # Text with two bytes per letter has a zero byte next to most letters.
    for place, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        if 2 * start[place::2].count(0) > len(start[place::2]):
            return encoding
    return next((one for one in ENCODINGS if _decodes(path, one)), MARKED)


def _decodes(path: Path, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    with opened(path) as file:
        try:
            while block := file.read(1 << 20):
                decoder.decode(block)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True


def has_decimal_commas(column: pa.Array, separator: str) -> bool:
    """Whether at least 90 % of a column's nonempty cells are numbers with decimal commas.

    The other cells then appear in reports on the column. In a file with commas as separators, 1,234
    may mean a thousand; there, at least one cell must have a comma that cannot separate thousands.
    """
    cells = pc.filter(column, pc.not_equal(column, ""))
    commas = pc.match_substring(cells, ",")
    number = pc.or_(
        pc.match_substring_regex(cells, r"^[+-]?[0-9]+(,[0-9]+)?$"),
        pc.match_substring_regex(cells, _GROUPED),
    )
    plain = pc.match_substring_regex(cells, r"^[+-]?(0,[0-9]+|[0-9]+,([0-9]{1,2}|[0-9]{4,}))$")
    written = pc.and_(number, plain if separator == "," else commas)
    return bool((pc.mean(number).as_py() or 0) >= 0.9 and pc.any(written).as_py())


def with_points(cells: pa.Array) -> pa.Array:
    """Return cells with decimal points instead of decimal commas, so 1.234,5 becomes 1234.5."""
    if not pc.any(pc.match_substring_regex(cells, "^[+-]?[0-9.]*[,.][0-9]+$")).as_py():
        return cells
    grouped = pc.match_substring_regex(cells, _GROUPED)
    cells = pc.if_else(grouped, pc.replace_substring(cells, ".", ""), cells)
    return pc.replace_substring_regex(cells, _COMMA, r"\1.\2")


def add_first_line(problems: list[PramanaError], source: TableSource, records: int) -> None:
    """Add record 1's line to problems that name records, if a CSV file has one record per line."""
    if not problems or source.database or source.is_parquet or source.is_sheet:
        return
    with opened(source.path) as file:
        lines = len(file.read().splitlines())
    first = 2 + CsvFormat.of(source).declared
    # A record has one line or more, so with this count none has two and no line is blank.
    if lines == records + first - 1:
        problems[0].remedy = f"{problems[0].remedy} Record 1 is line {first} of the file."


def fault(source: TableSource, reason: str = "") -> TableError:
    """Return an error for the first fault of a CSV file, or for the `reason` if none is found."""
    try:
        found = find_fault(source)
    except (OSError, EOFError, LookupError, zlib.error):
        found = None
    return found or TableError(
        f"The table {source} cannot be read as CSV{reason}.",
        where=str(source),
        remedy="Open the file with the program that wrote it and export it again.",
    )


def find_fault(source: TableSource) -> TableError | None:
    """Return the first fault of a CSV file, or None. The error quotes no cell. Raises OSError."""
    path = source.path
    with opened(path) as file:
        content = file.read()
    if suffix := next((s for mark, s in _OTHER_FORMATS.items() if content.startswith(mark)), None):
        return TableError(
            f"The table {path} is not a CSV file. Its first bytes are those of a {suffix} file.",
            where=str(path),
            remedy=f"Rename the file so that its name ends in {suffix}.",
        )
    form = CsvFormat.of(source)
    try:
        text = content.decode(form.encoding)
    except UnicodeDecodeError as error:
        before = content[: error.start].decode(form.encoding, errors="replace")
        line = before.count("\n") + 1
        cell = before.rpartition("\n")[2].count(form.separator) + 1
        return TableError(
            f"Line {line}, column {cell} of the table {path} is not in {form.encoding.upper()}.",
            where=str(path),
            remedy='Set encoding = "..." in the site file (`owner-agent init` detects it), or'
            ' export the table again as UTF-8, which spreadsheet programs call "CSV UTF-8".',
        )
    if (found := _first_fault(text.removeprefix("\ufeff"), form)) is None:
        return None
    line, cells, width = found
    if width:
        return TableError(
            f"Line {line} of the table {path} has {cells} cells, but its header has {width}.",
            where=str(path),
            remedy="Quote cells that contain a separator. Remove titles above the header, and"
            " totals or notes below the table.",
        )
    return TableError(
        f"In line {line}, column {cells} of the table {path} a quotation mark is never closed, or"
        " text follows it.",
        where=str(path),
        remedy="Close that cell with a quotation mark. Inside a cell, write each quotation mark"
        " twice.",
    )


def _first_fault(text: str, form: CsvFormat) -> tuple[int, int, int] | None:
    """Return the first fault: (line, cells, header width), or (line, column, 0) for a quote."""
    sign = re.escape(form.separator)
    cell = re.compile(rf'( *"(?:[^"]|"")*" *|(?! *")[^{sign}\r\n]*)({sign}|\r\n|\r|\n|\Z)')
    place, line, width = 0, 1, 0
    if form.declared:
        place, line = text.index("\n") + 1, 2
    while place < len(text):
        row, cells, end, empty = line, 0, form.separator, False
        while end == form.separator:
            read = cell.match(text, place)
            if read is None:
                return line, cells + 1, 0
            place, end = read.end(), read[2]
            cells += 1
            line += len(re.findall(r"\r\n|\r|\n", read[0]))
            empty = cells == 1 and not read[1]
        if empty:
            continue
        width = width or cells
        if cells != width:
            return row, cells, width
    return None
