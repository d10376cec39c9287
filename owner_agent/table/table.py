"""Reads the needed columns of a table as text (`pramana_core.cells` says how).

Only an empty cell is missing; `NA` and `?` are ordinary text. Rows are counted from 1, without the
header. No message quotes a cell.
"""

from __future__ import annotations

import gzip
import re
import unicodedata
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from pramana_core.alike import did_you_mean, first_few
from pramana_core.cells import clean_cells
from pramana_core.csv_text import FORMULA, unmarked
from pramana_core.errors import EmptyTable, MissingColumn, TableError
from pramana_core.spellings import looks_like_record
from pramana_core.text_files import encoding_of

CHUNK_ROWS = 1 << 17
"""So many rows are read at a time where a table is not held whole."""

_SHOWN_NAMES = 20
_PAGE_BYTES = 1 << 20
_BATCH_ROWS = 1 << 16
_FAILURES = (pa.ArrowException, OSError, UnicodeDecodeError, EOFError, zlib.error)


@dataclass(frozen=True)
class TextTable:
    """Columns of text, all of one length; a missing cell is the empty string.

    `others` are the columns not read; `read` says how much of the file, of how much.
    """

    columns: dict[str, pa.Array]
    rows: int
    others: tuple[str, ...] = ()
    read: tuple[int, int] = (1, 1)


def read_table(
    path: Path, columns: Sequence[str], optional: Collection[str] = frozenset()
) -> TextTable:
    """Read columns of a CSV (`.csv`, `.csv.gz`) or Parquet file, and the `optional` ones it has.

    Raises TableError, MissingColumn or EmptyTable.
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
    """Read a table as `read_table` does, one chunk of rows in memory at a time.

    What is wrong with a row is found when it is read; rows of another length at the end.
    """
    _require_file(path)
    read = 0
    try:
        opened = _open_parquet if path.name.endswith(".parquet") else _open_csv
        names, present, batches, done = opened(path, columns, optional)
        others = tuple(name for name in present if name not in names)
        for table in cut(batches, rows):
            read += table.num_rows
            cleaned = {name: clean_cells(table.column(called)) for name, called in names.items()}
            if opened is _open_csv:
                cleaned = {name: _unmarked_cells(cells) for name, cells in cleaned.items()}
            yield TextTable(cleaned, table.num_rows, others, done(read))
    except _FAILURES:
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
    """Return the names of a table's columns. Raises TableError and EmptyTable."""
    _require_file(path)
    try:
        if path.name.endswith(".parquet"):
            return list(map(_clean, pa.parquet.ParquetFile(path).schema_arrow.names))
        return [unmarked(_clean(name)) for name in _header(path)]
    except _FAILURES:
        raise _unreadable(path) from None


def _require_file(path: Path) -> None:
    if not path.is_file():
        raise TableError(
            f"There is no table at {path}.",
            where=str(path),
            remedy="Name a file that ends in .csv, .csv.gz or .parquet.",
        )


def unusable_columns(path: Path) -> dict[str, str]:
    """Return the columns that hold no single values, each with what they hold."""
    if not path.name.endswith(".parquet"):
        return {}
    schema = pa.parquet.ParquetFile(path).schema_arrow
    return {_clean(f.name): f"it holds {_kind(f.type)}" for f in schema if _kind(f.type)}


def begins_with_record(path: Path) -> bool:
    """Return whether a CSV file probably has no header: its first row looks like a record."""
    if path.name.endswith(".parquet"):
        return False
    block: list[pa.RecordBatch] = []
    try:
        names = len(_header(path))
        kinds = {f"f{place}": pa.string() for place in range(names)}
        options = pa.csv.ReadOptions(autogenerate_column_names=True, encoding=_encoding(path))
        converted = pa.csv.ConvertOptions(column_types=kinds, strings_can_be_null=False)
        with pa.csv.open_csv(path, options, _lenient(), converted) as reader:
            block.append(reader.read_next_batch())
    except (*_FAILURES, StopIteration):
        return False  # What is wrong with it is said by whoever reads it.
    columns = [clean_cells(pa.chunked_array([column])).to_pylist() for column in block[0].columns]
    return looks_like_record([c[0] for c in columns], [c[1:] for c in columns])


def _kind(kind: pa.DataType) -> str:
    """Return what cells of a type are, where they are no single values."""
    if pa.types.is_struct(kind) or pa.types.is_map(kind):
        return "records"
    return "lists" if pa.types.is_nested(kind) else ""


def _clean(name: str) -> str:
    """Return a column's name as cells are read: without spaces around it, in NFC."""
    return unicodedata.normalize("NFC", name).strip()


def _unreadable(path: Path) -> TableError:
    """Return why a table cannot be read: the line that is not UTF-8, or the format at all."""
    parquet = path.name.endswith(".parquet")
    if not parquet and (line := _line_not_utf8(path)):
        return TableError(
            f"Line {line} of the table {path} is not in UTF-8.",
            where=str(path),
            remedy='Export it again in UTF-8; spreadsheets call that "CSV UTF-8".',
        )
    return TableError(
        f"The table {path} cannot be read as {'Parquet' if parquet else 'CSV'}.",
        where=str(path),
        remedy="Open it with the tool that wrote it and export it again. In CSV a quotation mark"
        " that is never closed takes in all that follows it.",
    )


def _opened(path: Path) -> BinaryIO:
    return cast("BinaryIO", gzip.open(path) if path.name.endswith(".gz") else path.open("rb"))


def _line_not_utf8(path: Path) -> int:
    """Return the number of the first line of a file that is not UTF-8; 0 where all are."""
    try:
        with _opened(path) as file:
            if encoding_of(file.read(4)).startswith("utf-8"):
                file.seek(0)
                for number, line in enumerate(file, 1):
                    try:
                        line.decode()
                    except UnicodeDecodeError:
                        return number
    except (OSError, EOFError, zlib.error):
        pass  # A damaged archive.
    return 0


def _encoding(path: Path) -> str:
    """Return a CSV file's encoding as Arrow calls it, which takes UTF-8's mark by itself."""
    with _opened(path) as file:
        found = encoding_of(file.read(4))
    return "utf8" if found.startswith("utf-8") else found


def _lenient() -> Any:
    """Return options of a reader that skips rows of another length than the first."""
    return pa.csv.ParseOptions(newlines_in_values=True, invalid_row_handler=lambda _row: "skip")


_Reading = tuple[
    dict[str, str], list[str], Iterator[pa.RecordBatch], Callable[[int], tuple[int, int]]
]
"""What the columns that are read are called in the file, the names of all, the rows, and how far
so many rows are."""


def _open_csv(path: Path, columns: Sequence[str], optional: Collection[str]) -> _Reading:
    ragged: list[tuple[int | None, int, int]] = []

    def note(row: Any) -> str:
        ragged.append((row.number, row.expected_columns, row.actual_columns))
        return "skip"

    parse = pa.csv.ParseOptions(newlines_in_values=True, invalid_row_handler=note)
    written = _header(path)
    present = [unmarked(_clean(name)) for name in written]
    called = dict(zip(present, written, strict=True))
    columns = _present(path, present, columns, optional)

    size = path.stat().st_size
    file = pa.OSFile(str(path))

    def batches() -> Iterator[pa.RecordBatch]:
        packed = path.name.endswith(".gz")
        wanted = [called[name] for name in columns]
        with (
            file,
            pa.csv.open_csv(
                pa.CompressedInputStream(file, "gzip") if packed else file,
                # One thread, or the reader could not number the rows it finds ragged.
                read_options=pa.csv.ReadOptions(use_threads=False, encoding=_encoding(path)),
                parse_options=parse,
                convert_options=pa.csv.ConvertOptions(
                    column_types=dict.fromkeys(wanted, pa.string()),
                    include_columns=wanted,
                    strings_can_be_null=False,
                ),
            ) as reader,
        ):
            yield from reader
        if ragged:
            number, expected, actual = ragged[0]
            raise TableError(
                f"{len(ragged)} rows of {path} do not have the {expected} cells of the header; the"
                f" first is line {number}, with {actual}.",
                where=str(path),
                remedy="Cells that hold commas must be quoted, the header must not end with a"
                " comma more than the rows, and totals or notes below the table must go.",
            )

    names = {name: called[name] for name in columns}
    return names, present, batches(), lambda _rows: (size if file.closed else file.tell(), size)


def _header(path: Path) -> list[str]:
    """Return the column names as they are written. Raises EmptyTable, TableError."""
    _require_commas(path)
    try:
        options = pa.csv.ReadOptions(encoding=_encoding(path))
        with pa.csv.open_csv(path, options, _lenient()) as reader:
            names: list[str] = reader.schema.names
            return names
    except pa.ArrowInvalid as error:
        if "Empty CSV" in str(error):
            with _opened(path) as file:
                if b'"' in file.read(_START):  # It may open a cell that never ends.
                    raise _unreadable(path) from None
            raise EmptyTable(
                f"The table {path} is empty: no line of it is complete.",
                where=str(path),
                remedy="Check that the export was complete.",
            ) from None
        raise


_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_START = 1 << 16


def _require_commas(path: Path) -> None:
    """Refuse a table whose cells are separated by something else, as its header shows."""
    with _opened(path) as file:
        start = file.read(_START)
    header = start.decode(encoding_of(start), errors="replace").lstrip().splitlines()[:1]
    plain = re.sub(r'"[^"]*"', "", "".join(header))
    mark = max(_SEPARATORS, key=plain.count)
    if plain.count(mark) > plain.count(","):
        raise TableError(
            f"The cells of the table {path} are separated by {_SEPARATORS[mark]}, not by commas.",
            where=str(path),
            remedy="Export it again with commas between cells and points in numbers.",
        )


def _open_parquet(path: Path, columns: Sequence[str], optional: Collection[str]) -> _Reading:
    # Pages are read as they are needed, or a row group would be held whole.
    file = pa.parquet.ParquetFile(path, buffer_size=_PAGE_BYTES)
    written = list(file.schema_arrow.names)
    present = list(map(_clean, written))
    columns = _present(path, present, columns, optional)
    names = {name: written[present.index(name)] for name in columns}
    for name in columns:
        if kind := _kind(file.schema_arrow.field(names[name]).type):
            raise TableError(
                f"Column {name!r} of the table {path} holds {kind} and no single values.",
                where=name,
                remedy="Leave it out, or export a column for each value.",
            )
    batches = file.iter_batches(_BATCH_ROWS, columns=list(names.values()), use_threads=False)
    return names, present, batches, lambda rows: (rows, file.metadata.num_rows)


def _present(
    path: Path, present: Sequence[str], columns: Sequence[str], optional: Collection[str]
) -> list[str]:
    """Return the columns to read; what is not there may only be optional."""
    wanted = [name for name in columns if name in present or name not in optional]
    if missing := [name for name in wanted if name not in present]:
        raise MissingColumn(
            f"The table {path} has no column {', '.join(map(repr, missing))}"
            f"{did_you_mean(missing, present)}.",
            where=", ".join(missing),
            remedy=f"It has {first_few(map(repr, present), _SHOWN_NAMES)}. Correct the table, or"
            " `column` in the site file if you gave one.",
        )
    if twice := sorted({name for name in wanted if list(present).count(name) > 1}):
        raise TableError(
            f"The table {path} has more than one column called {twice}.",
            where=", ".join(twice),
            remedy="Give each column a name of its own.",
        )
    return wanted


def _unmarked_cells(cells: pa.Array) -> pa.Array:
    """Return cells as they were before our writer of CSV marked some: see `csv_text`."""
    if not pc.any(pc.starts_with(cells, "'")).as_py():
        return cells
    return pc.replace_substring_regex(cells, f"^'({FORMULA})", r"\1")
