"""Reads the needed columns of a table as text; nothing is guessed about what the text means.

Cells lose the spaces around them and are put into Unicode NFC, so that tables written by different
tools agree; for the same reason 7.0 and 7.00 are written 7, and a midnight as its date. `NA` and
`?` are ordinary text; only an empty cell is missing. Rows are counted from 1, the header not
counted. No message quotes a cell.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from pramana_core.alike import did_you_mean, first_few
from pramana_core.csv_text import FORMULA, unmarked
from pramana_core.errors import EmptyTable, MissingColumn, TableUnreadable

CHUNK_ROWS = 1 << 17
"""So many rows are read at a time where a table is not held whole."""

_SHOWN_NAMES = 20
_PAGE_BYTES = 1 << 20
_ASCII_END = 128
_BATCH_ROWS = 1 << 16


@dataclass(frozen=True)
class TextTable:
    """Columns of text, all of one length; a missing cell is the empty string.

    `others` are the names of the columns that were not read. Of a chunk of a table `read` says how
    much of the file was read by its end, and of how much.
    """

    columns: dict[str, pa.Array]
    rows: int
    others: tuple[str, ...] = ()
    read: tuple[int, int] = (1, 1)


def read_table(
    path: Path, columns: Sequence[str], optional: Collection[str] = frozenset()
) -> TextTable:
    """Read some columns of a CSV (`.csv`, `.csv.gz`) or Parquet file as text, all rows at once.

    Of the `optional` ones those that the table has.

    Raises:
        TableUnreadable: absent, not the format its name says, ragged, or not UTF-8.
        MissingColumn: columns that the table does not have, all of them named.
        EmptyTable: the table has no rows.
    """
    chunks = list(read_chunks(path, columns, optional))
    try:
        whole = {
            name: pa.concat_arrays([chunk.columns[name] for chunk in chunks])
            for name in chunks[0].columns
        }
    except pa.ArrowException:  # One column's text is longer than an array may be.
        raise _unreadable(path) from None
    return TextTable(whole, sum(chunk.rows for chunk in chunks), chunks[0].others)


def read_chunks(
    path: Path,
    columns: Sequence[str],
    optional: Collection[str] = frozenset(),
    rows: int = CHUNK_ROWS,
) -> Iterator[TextTable]:
    """Read a table as `read_table` does, so many rows at a time: in memory is one chunk.

    Raises the same; what is wrong with a row is found when it is read, and rows of another length
    than the header's are counted to the end.
    """
    if not path.is_file():
        raise TableUnreadable(
            f"There is no table at {path}.",
            where=str(path),
            remedy="Correct `table` in the site file; it is relative to that file.",
        )
    read = 0
    try:
        opened = _open_parquet if path.name.endswith(".parquet") else _open_csv
        names, present, batches, done = opened(path, columns, optional)
        others = tuple(name for name in present if name not in names)
        for table in cut(batches, rows):
            read += table.num_rows
            cleaned = {name: clean_cells(table.column(name)) for name in names}
            if opened is _open_csv:
                cleaned = {name: _unmarked_cells(cells) for name, cells in cleaned.items()}
            yield TextTable(cleaned, table.num_rows, others, done(read))
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        # What the reader says may quote a row: it goes neither into the message nor its cause.
        raise _unreadable(path) from None
    if read == 0:
        raise EmptyTable(
            f"The table {path} has no rows.",
            where=str(path),
            remedy="Check that the export was complete.",
        )


def cut(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """Yield what batches hold in tables of exactly so many rows, but for the last."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(one.num_rows for one in held) >= rows:
            table = pa.Table.from_batches(held)
            whole = table.num_rows // rows * rows
            for start in range(0, whole, rows):
                yield table.slice(start, rows)
            held = table.slice(whole).to_batches()
    if sum(one.num_rows for one in held):
        yield pa.Table.from_batches(held)


def column_names(path: Path) -> list[str]:
    """Return the names of a table's columns. Raises TableUnreadable and EmptyTable."""
    try:
        if path.name.endswith(".parquet"):
            return list(pa.parquet.ParquetFile(path).schema_arrow.names)
        return list(map(unmarked, _header(path, pa.csv.ParseOptions(newlines_in_values=True))))
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


_Opened = tuple[list[str], list[str], Iterator[pa.RecordBatch], Callable[[int], tuple[int, int]]]
"""The columns that are read, the names of all, the rows, and how far so many rows are."""


def _open_csv(path: Path, columns: Sequence[str], optional: Collection[str]) -> _Opened:
    ragged: list[tuple[int | None, int, int]] = []

    def note(row: Any) -> str:
        ragged.append((row.number, row.expected_columns, row.actual_columns))
        return "skip"

    parse = pa.csv.ParseOptions(newlines_in_values=True, invalid_row_handler=note)
    written = _header(path, parse)
    present = list(map(unmarked, written))
    columns = _present(path, present, columns, optional)
    wanted = [written[present.index(name)] for name in columns]
    ragged.clear()

    size = path.stat().st_size
    file = pa.OSFile(str(path))

    def batches() -> Iterator[pa.RecordBatch]:
        packed = path.name.endswith(".gz")
        with (
            file,
            pa.csv.open_csv(
                pa.CompressedInputStream(file, "gzip") if packed else file,
                # One thread, or the reader could not number the rows it finds ragged.
                read_options=pa.csv.ReadOptions(use_threads=False),
                parse_options=parse,
                convert_options=pa.csv.ConvertOptions(
                    column_types=dict.fromkeys(wanted, pa.string()),
                    include_columns=wanted,
                    strings_can_be_null=False,
                ),
            ) as reader,
        ):
            for batch in reader:
                yield batch.rename_columns(list(map(unmarked, batch.schema.names)))
        if ragged:
            number, expected, actual = ragged[0]
            raise TableUnreadable(
                f"{len(ragged)} rows of {path} do not have the {expected} cells of the header; the"
                f" first is line {number}, with {actual}.",
                where=str(path),
                remedy="Cells that hold commas must be quoted.",
            )

    return columns, present, batches(), lambda _rows: (size if file.closed else file.tell(), size)


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


def _open_parquet(path: Path, columns: Sequence[str], optional: Collection[str]) -> _Opened:
    # Pages are read as they are needed, or a row group would be held whole.
    file = pa.parquet.ParquetFile(path, buffer_size=_PAGE_BYTES)
    present = list(file.schema_arrow.names)
    columns = _present(path, present, columns, optional)
    batches = file.iter_batches(_BATCH_ROWS, columns=columns, use_threads=False)
    return columns, present, batches, lambda rows: (rows, file.metadata.num_rows)


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
        raise MissingColumn(
            f"The table {path} has no column {', '.join(repr(name) for name in missing)}"
            f"{did_you_mean(missing, present)}.",
            where=", ".join(missing),
            remedy=f"It has {first_few(map(repr, present), _SHOWN_NAMES)}. Correct the table, or"
            " `column` in the site file if you gave one.",
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
    if flat.null_count:
        flat = pc.fill_null(flat, "")
    least, most = _range_of_bytes(flat)
    if most >= _ASCII_END or least <= ord(" "):
        flat = pc.utf8_trim_whitespace(flat)
    return pc.utf8_normalize(flat, form="NFC") if most >= _ASCII_END else flat


def _unmarked_cells(cells: pa.Array) -> pa.Array:
    """Return cells as they were before our writer of CSV marked some: see `csv_text`."""
    if not pc.any(pc.starts_with(cells, "'")).as_py():
        return cells
    return pc.replace_substring_regex(cells, f"^'({FORMULA})", r"\1")


def _range_of_bytes(text: pa.Array) -> tuple[int, int]:
    """Return the least and the largest byte: of plain words there is nothing to clean."""
    _, places, octets = text.buffers()
    ends = np.frombuffer(places, dtype=np.int32)[text.offset : text.offset + len(text) + 1]
    used = np.frombuffer(octets, dtype=np.uint8)[ends[0] : ends[-1]] if octets else ends[:0]
    return (int(used.min()), int(used.max())) if len(used) else (_ASCII_END - 1, 0)


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
