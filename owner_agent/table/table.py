"""Reads the needed columns of a table as text; nothing is guessed about what the text means.

Cells lose the spaces around them and are put into Unicode NFC, so that tables written by different
tools agree; for the same reason 7.0 and 7.00 are written 7, and a midnight as its date. `NA` and
`?` are ordinary text; only an empty cell is missing. Rows are counted from 1, the header not
counted. No message quotes a cell.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from pramana_core.alike import did_you_mean
from pramana_core.errors import EmptyTable, MissingColumn, TableUnreadable

_SHOWN_NAMES = 20


@dataclass(frozen=True)
class TextTable:
    """Columns of text, all of one length; a missing cell is the empty string.

    `others` are the names of the columns that were not read.
    """

    columns: dict[str, pa.Array]
    rows: int
    others: tuple[str, ...] = ()


def read_table(
    path: Path, columns: Sequence[str], optional: Collection[str] = frozenset()
) -> TextTable:
    """Read some columns of a CSV (`.csv`, `.csv.gz`) or Parquet file as text.

    Of the `optional` ones those that the table has.

    Raises:
        TableUnreadable: absent, not the format its name says, ragged, or not UTF-8.
        MissingColumn: columns that the table does not have, all of them named.
        EmptyTable: the table has no rows.
    """
    if not path.is_file():
        raise TableUnreadable(
            f"There is no table at {path}.",
            where=str(path),
            remedy="Correct `table` in the site file; it is relative to that file.",
        )
    try:
        if path.name.endswith(".parquet"):
            read, present = _read_parquet(path, columns, optional)
        else:
            read, present = _read_csv(path, columns, optional)
        cleaned = {name: clean_cells(read.column(name)) for name in read.column_names}
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        # What the reader says may quote a row: it goes neither into the message nor its cause.
        raise _unreadable(path) from None
    if read.num_rows == 0:
        raise EmptyTable(
            f"The table {path} has no rows.",
            where=str(path),
            remedy="Check that the export was complete.",
        )
    others = tuple(name for name in present if name not in cleaned)
    return TextTable(cleaned, read.num_rows, others)


def column_names(path: Path) -> list[str]:
    """Return the names of a table's columns. Raises TableUnreadable and EmptyTable."""
    try:
        if path.name.endswith(".parquet"):
            return list(pa.parquet.ParquetFile(path).schema_arrow.names)
        return _header(path, pa.csv.ParseOptions(newlines_in_values=True))
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        raise _unreadable(path) from None


def _unreadable(path: Path) -> TableUnreadable:
    return TableUnreadable(
        f"The table {path} cannot be read as {_format(path)}.",
        where=str(path),
        remedy="Open it with the tool that wrote it and export it again, in UTF-8.",
    )


def _format(path: Path) -> str:
    return "Parquet" if path.name.endswith(".parquet") else "CSV in UTF-8"


def _read_csv(
    path: Path, columns: Sequence[str], optional: Collection[str]
) -> tuple[pa.Table, list[str]]:
    """Return some columns, and the names of all."""
    ragged: list[tuple[int | None, int, int]] = []

    def note(row: Any) -> str:
        ragged.append((row.number, row.expected_columns, row.actual_columns))
        return "skip"

    # One thread, or the reader could not number the rows it finds ragged.
    read_options = pa.csv.ReadOptions(use_threads=False)
    parse = pa.csv.ParseOptions(newlines_in_values=True, invalid_row_handler=note)
    present = _header(path, parse)
    columns = _present(path, present, columns, optional)
    ragged.clear()
    table = pa.csv.read_csv(
        path,
        read_options=read_options,
        parse_options=parse,
        convert_options=pa.csv.ConvertOptions(
            column_types=dict.fromkeys(columns, pa.string()),
            include_columns=list(columns),
            strings_can_be_null=False,
        ),
    )
    if ragged:
        number, expected, actual = ragged[0]
        raise TableUnreadable(
            f"{len(ragged)} rows of {path} do not have the {expected} cells of the header; the"
            f" first is line {number}, with {actual}.",
            where=str(path),
            remedy="Cells that hold commas must be quoted.",
        )
    return table, present


def _header(path: Path, parse: Any) -> list[str]:
    """Return the column names; an empty file has none."""
    try:
        with pa.csv.open_csv(path, parse_options=parse) as reader:
            names: list[str] = reader.schema.names
            return names
    except pa.ArrowInvalid as error:
        if "Empty CSV" in str(error):
            raise EmptyTable(
                f"The table {path} is empty: it has not even a header.",
                where=str(path),
                remedy="Check that the export was complete.",
            ) from None
        raise


def _read_parquet(
    path: Path, columns: Sequence[str], optional: Collection[str]
) -> tuple[pa.Table, list[str]]:
    """Return some columns, and the names of all."""
    file = pa.parquet.ParquetFile(path)
    present = list(file.schema_arrow.names)
    return file.read(columns=_present(path, present, columns, optional)), present


def _present(
    path: Path, present: Sequence[str], columns: Sequence[str], optional: Collection[str]
) -> list[str]:
    """Return the columns to read; what is not there may only be optional."""
    wanted = [name for name in columns if name in present or name not in optional]
    _require_columns(path, present, wanted)
    return wanted


def _require_columns(path: Path, present: Sequence[str], wanted: Sequence[str]) -> None:
    missing = [name for name in wanted if name not in present]
    if missing:
        shown = ", ".join(repr(name) for name in present[:_SHOWN_NAMES])
        more = "" if len(present) <= _SHOWN_NAMES else f" and {len(present) - _SHOWN_NAMES} more"
        raise MissingColumn(
            f"The table {path} has no column {', '.join(repr(name) for name in missing)}"
            f"{did_you_mean(missing, present)}.",
            where=", ".join(missing),
            remedy=f"It has {shown}{more}. Correct the table, or `column` in the site file if you"
            " gave one.",
        )
    twice = sorted({name for name in wanted if list(present).count(name) > 1})
    if twice:
        raise TableUnreadable(
            f"The table {path} has more than one column called {twice}.",
            where=", ".join(twice),
            remedy="Give each column a name of its own.",
        )


def clean_cells(column: pa.ChunkedArray) -> pa.Array:
    """Return cells as text without spaces around it, in NFC; missing ones are empty."""
    text = _text(column)
    flat = text.combine_chunks() if isinstance(text, pa.ChunkedArray) else text
    return pc.utf8_normalize(pc.utf8_trim_whitespace(pc.fill_null(flat, "")), form="NFC")


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_floating(kind):
        # A tool that allows missing integers often stores them as floats: 45.0 is written 45.
        values = column.to_pylist()
        return pa.chunked_array([pa.array([_number(v) for v in values], type=pa.string())])
    text = column.cast(pa.string())
    if pa.types.is_decimal(kind) or pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        # How many digits follow the point is a column's, and a cell must read the same in others.
        text = pc.replace_substring_regex(text, r"(\.[0-9]*[1-9])0+($|Z|[+-])", r"\1\2")
        text = pc.replace_substring_regex(text, r"\.0+($|Z|[+-])", r"\1")
    if pa.types.is_timestamp(kind):
        text = pc.replace_substring_regex(text, r" 00:00:00$", "")
    return text


def _number(value: float | None) -> str | None:
    if value is None or value != value:
        return None
    # An infinite one stays as it is written: whoever reads the column refuses it by row.
    return str(int(value)) if value.is_integer() else repr(value)
