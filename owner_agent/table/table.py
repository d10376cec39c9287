"""Reading the needed columns of a table as text, by the rules of `pramana_core.cells`.

Only an empty cell is missing; `NA` and `?` are ordinary text. Records are counted from 1, without
the header. No error message quotes a cell.
"""

from __future__ import annotations

import csv
import itertools
import unicodedata
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from owner_agent.site.table_source import (
    MARKED,
    TABLE_SUFFIXES,
    TableSource,
    has_password,
    is_database,
)
from owner_agent.table.csv_format import (
    CsvFormat,
    fault,
    find_encoding,
    find_fault,
    has_decimal_commas,
    opened,
    with_points,
)
from pramana_core.alike import did_you_mean, first_few
from pramana_core.cells import clean_cells, series_cells
from pramana_core.csv_text import FORMULA, unmarked
from pramana_core.errors import EmptyTable, MissingColumn, OptionError, TableError
from pramana_core.spellings import looks_like_record

CHUNK_ROWS = 1 << 17
"""Rows per chunk of a table that is not read as a whole."""

_SHOWN_NAMES = 20
_PAGE_BYTES = 1 << 20
_BATCH_ROWS = 1 << 16
_FIRST_ROWS = 6
_FAILURES = (
    pa.ArrowException, OSError, UnicodeDecodeError, EOFError, zlib.error, csv.Error, LookupError,
)  # fmt: skip

_CLOCK = r"(?:[ T][0-9:.]+Z?)?"
DATE = (
    rf"^(?:([0-9]{{4}})[-/.][0-9]{{1,2}}[-/.][0-9]{{1,2}}{_CLOCK}"
    rf"|[0-9]{{1,2}}[-/.][0-9]{{1,2}}[-/.]([0-9]{{4}}){_CLOCK}"
    r"|((?:18|19|20|21)[0-9]{2})(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01]))$"
)
"""A date with the year as a group: 2020-01-31, 31.01.2020, 1/31/2020 or 20200131."""


@dataclass(frozen=True)
class TextTable:
    """Columns of text, all of the same length. A missing cell is the empty string.

    `others` names the columns that were not read. `read` has two numbers: how much of the file was
    read, and its size.
    """

    columns: dict[str, pa.Array]
    rows: int
    others: tuple[str, ...] = ()
    read: tuple[int, int] = (1, 1)


def read_table(
    source: TableSource, columns: Sequence[str], optional: Collection[str] = frozenset()
) -> TextTable:
    """Read columns of a table, and those `optional` columns that exist.

    Raises TableError, MissingColumn or EmptyTable.
    """
    chunks = list(read_chunks(source, columns, optional))
    try:
        whole = {
            name: pa.concat_arrays([chunk.columns[name] for chunk in chunks])
            for name in chunks[0].columns
        }
    except pa.ArrowException:  # A column's text exceeds the limit of an array.
        raise _unreadable(source) from None
    return TextTable(whole, sum(chunk.rows for chunk in chunks), chunks[0].others)


def read_chunks(
    source: TableSource,
    columns: Sequence[str],
    optional: Collection[str] = frozenset(),
    rows: int = CHUNK_ROWS,
) -> Iterator[TextTable]:
    """Read a table as `read_table` does, but with only one chunk of rows in memory at a time.

    A faulty cell raises its error when its chunk is read. Rows of the wrong length raise theirs at
    the end.
    """
    read = 0
    try:
        content = _open(source)
        wanted = _present(source, content.names, columns, optional)
        others = tuple(name for name in content.names if name not in wanted)
        for table in cut(content.batches(wanted), rows):
            read += table.num_rows
            cleaned = {name: clean_cells(table.column(name)) for name in wanted}
            if content.is_csv:
                cleaned = {name: _unmarked_cells(cells) for name, cells in cleaned.items()}
            for name in cleaned.keys() & set(source.decimal_commas):
                cleaned[name] = with_points(cleaned[name])
            for name in cleaned.keys() & set(source.dates_as_years):
                cleaned[name] = years(cleaned[name])
            yield TextTable(cleaned, table.num_rows, others, content.progress(read))
        if content.is_csv and _has_odd_marks(source.path) and (found := find_fault(source)):
            raise found
    except _FAILURES:
        # The reader's message may quote a row: neither the new message nor its cause contains it.
        raise _unreadable(source) from None
    if read == 0:
        raise EmptyTable(
            f"The table {source} has no rows.",
            where=str(source),
            remedy="Check that the export was complete.",
        )


def years(cells: pa.Array) -> pa.Array:
    """Return the cells with each date replaced by its year, or by "" if the year is 0."""
    read = pc.replace_substring_regex(cells, DATE, r"\1\2\3")
    return pc.replace_substring_regex(read, "^0000$", "")  # 00.00.0000 means that no date is known


def cut(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """Yield the rows of all batches in tables of `rows` rows; the last table may be shorter."""
    pending: list[pa.RecordBatch] = []
    for batch in batches:
        pending.append(batch)
        if sum(one.num_rows for one in pending) >= rows:
            table = pa.Table.from_batches(pending)
            whole = table.num_rows // rows * rows
            for start in range(0, whole, rows):
                yield table.slice(start, rows)
            pending = table.slice(whole).to_batches()
    if sum(one.num_rows for one in pending):
        yield pa.Table.from_batches(pending)


def column_names(source: TableSource) -> list[str]:
    """Return the names of a table's columns. Raises TableError and EmptyTable.

    A column without a name is called by its position, such as "column 3". Equal names are numbered.
    """
    try:
        return _open(source).names
    except _FAILURES:
        raise _unreadable(source) from None


def detect(
    table: Path | str,
    encoding: str | None = None,
    separator: str | None = None,
    query: str | None = None,
) -> TableSource:
    """Return the source for a file or a database. Raises TableError, EmptyTable, OptionError."""
    path = Path(table)
    if is_database(str(table)) != (query is not None):
        raise OptionError(
            "--query is required for a database and not allowed for a file.",
            where="query",
            remedy="For a database, give its address, and --query with a table's name or a SELECT.",
        )
    if query is not None:
        if has_password(str(table)):
            raise OptionError(
                "The address of the database contains a password.",
                where="table",
                remedy="Set the password in PGPASSWORD, or in a file that PGPASSFILE names.",
            )
        return TableSource(path, database=str(table), query=query)
    source = TableSource(path, encoding or MARKED, separator)
    _require_file(source)
    if source.is_parquet:
        return source
    try:
        if not source.is_sheet and encoding is None:
            source = replace(source, encoding=find_encoding(path))
        content = _open(source)
        chunk = next(read_chunks(source, content.names))
    except _FAILURES:
        raise _unreadable(source) from None
    commas = (n for n, c in chunk.columns.items() if has_decimal_commas(c, content.separator))
    found = content.separator if content.separator not in ("", ",") else source.separator
    return replace(source, separator=found, decimal_commas=tuple(commas))


def unusable_columns(source: TableSource) -> dict[str, str]:
    """Return the columns whose cells are not single values, and the kind of their content."""
    if not source.is_parquet:
        return {}
    schema, _ = _parquet_head(replace(source, path=source.parts[0]))
    return {_clean(f.name): f"it contains {_kind(f.type)}" for f in schema if _kind(f.type)}


def begins_with_record(source: TableSource) -> bool:
    """Return whether a table probably lacks a header, because its first row looks like a record."""
    if source.is_parquet or source.database:
        return False
    try:
        content = _open(source)
        chunk = next(read_chunks(source, content.names, rows=_BATCH_ROWS))
    except (*_FAILURES, TableError):
        return False  # The reader reports the fault.
    header = with_points(pa.array(content.written)) if source.decimal_commas else content.written
    cells = [chunk.columns[name].to_pylist() for name in content.names]
    return looks_like_record([str(name) for name in header], cells)


def _kind(kind: pa.DataType) -> str:
    """Return the kind of a column's cells if these are not single values."""
    if pa.types.is_struct(kind) or pa.types.is_map(kind):
        return "records"
    return "lists" if pa.types.is_nested(kind) else ""


def _clean(name: str) -> str:
    """Return a column's name in the normal form of cells: without surrounding spaces, in NFC."""
    return unicodedata.normalize("NFC", name).strip()


def _unreadable(source: TableSource) -> TableError:
    if not (source.is_parquet or source.is_sheet):
        return fault(source)
    kind = "Parquet" if source.is_parquet else "a workbook"
    return TableError(
        f"The table {source} cannot be read as {kind}.",
        where=str(source),
        remedy="Open the file with the program that wrote it and export it again.",
    )


def _require_file(source: TableSource) -> None:
    if not any(part.is_file() for part in source.parts):
        raise TableError(
            f"The table {source} does not exist.",
            where=str(source),
            remedy=f"Name a file that ends in {', '.join(TABLE_SUFFIXES)}. For the Parquet files of"
            " a folder, write 'FOLDER/*.parquet'.",
        )


@dataclass(frozen=True)
class _Content:
    """An open table: its column names as used and as written, its rows, and reading progress."""

    names: list[str]
    written: list[str]
    batches: Callable[[Sequence[str]], Iterator[pa.RecordBatch]]
    progress: Callable[[int], tuple[int, int]]
    is_csv: bool = False
    separator: str = ""


def _open(source: TableSource) -> _Content:
    if source.database:
        return _open_database(source)
    _require_file(source)
    if source.is_parquet:
        return _open_parquet(source)
    return _open_sheet(source) if source.is_sheet else _open_csv(source)


def _names(written: Sequence[str]) -> list[str]:
    """Return distinct names for the columns, from the header's cells."""
    named = [_clean(name) or f"column {place}" for place, name in enumerate(written, 1)]
    times, seen = Counter(named), Counter[str]()
    names = []
    for name in named:
        seen[name] += 1
        names.append(f"{name} ({seen[name]})" if times[name] > 1 else name)
    return names


def _open_csv(source: TableSource) -> _Content:
    path, form = source.path, CsvFormat.of(source)
    try:
        first = list(itertools.islice(form.rows(path), _FIRST_ROWS))
    except csv.Error:
        raise fault(source) from None
    if not first or _is_cut(path):
        raise EmptyTable(
            f"The table {path} is empty: it has no complete line.",
            where=str(path),
            remedy="Check that the export was complete.",
        )
    header = first[0]
    if any("\n" in name or "\r" in name for name in header) and _has_odd_marks(path):
        raise fault(source)
    _require_names(source, first)
    names = _names([unmarked(name.strip()) for name in header])
    size = path.stat().st_size
    file = pa.OSFile(str(path))

    def batches(wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if form.blanks:
            yield from _batches(itertools.islice(form.rows(path), 1, None), names, wanted, source)
            return
        ragged: list[object] = []

        def skip(row: object) -> str:
            ragged.append(row)
            return "skip"

        packed = path.name.lower().endswith(".gz")
        with (
            file,
            pa.csv.open_csv(
                pa.CompressedInputStream(file, "gzip") if packed else file,
                read_options=pa.csv.ReadOptions(
                    use_threads=False,
                    # Arrow removes the byte order mark of UTF-8.
                    encoding="utf8" if form.encoding.startswith("utf-8") else form.encoding,
                    column_names=names,
                    skip_rows=int(form.declared),
                    skip_rows_after_names=1,
                ),
                parse_options=pa.csv.ParseOptions(
                    delimiter=form.separator, newlines_in_values=True, invalid_row_handler=skip
                ),
                convert_options=pa.csv.ConvertOptions(
                    column_types=dict.fromkeys(wanted, pa.string()),
                    include_columns=wanted,
                    strings_can_be_null=False,
                ),
            ) as reader,
        ):
            yield from reader
        if ragged:
            raise fault(
                source, f": {len(ragged)} rows differ from the header in their count of cells"
            )

    return _Content(
        names,
        header,
        batches,
        lambda _rows: (size if file.closed else file.tell(), size),
        is_csv=True,
        separator=form.separator,
    )


def _is_cut(path: Path) -> bool:
    with opened(path) as file:
        start = file.read(_PAGE_BYTES)
    return len(start) < _PAGE_BYTES and b"\n" not in start and b"\r" not in start


def _batches(
    rows: Iterable[Sequence[object]],
    names: Sequence[str],
    wanted: Sequence[str],
    source: TableSource,
) -> Iterator[pa.RecordBatch]:
    """Yield rows of values in batches with columns of text."""
    places = {name: names.index(name) for name in wanted}
    rows = iter(rows)
    while block := list(itertools.islice(rows, _BATCH_ROWS)):
        if any(len(row) != len(names) for row in block):
            raise fault(source)
        yield pa.RecordBatch.from_pydict(
            {
                name: series_cells([row[place] for row in block], f"Column {name!r}")
                for name, place in places.items()
            }
        )


def _open_sheet(source: TableSource) -> _Content:
    try:
        import python_calamine
    except ImportError:
        raise OptionError(
            f"Reading {source} needs python-calamine, which is not installed.",
            where=str(source),
            remedy="Run pip install 'pramana[sheets]', or save the sheet as CSV UTF-8.",
        ) from None
    try:
        with python_calamine.load_workbook(source.path) as book:
            # Use the first sheet with cells: workbooks may begin with empty sheets.
            filled = (s for s in map(book.get_sheet_by_name, book.sheet_names) if s.height)
            sheet = next(filled, None)
            rows = [] if sheet is None else [row for row in sheet.to_python() if any(map(_is, row))]
    except python_calamine.CalamineError:
        raise _unreadable(source) from None
    if not rows:
        raise EmptyTable(
            f"The workbook {source} has no cells.",
            where=str(source),
            remedy="Check that the export was complete.",
        )
    _require_names(source, rows[:_FIRST_ROWS])
    header = series_cells(rows[0], "The header").to_pylist()
    names = _names(header)
    return _Content(
        names,
        header,
        lambda wanted: _batches(rows[1:], names, wanted, source),
        lambda read: (read, len(rows) - 1),
    )


def _is(cell: object) -> bool:
    return cell not in ("", None)


def _require_names(source: TableSource, rows: Sequence[Sequence[object]]) -> None:
    """Reject a title as the first row, recognized because later rows have twice as many cells."""
    named, *below = (sum(map(_is, row)) for row in rows)
    if 2 * named < max(below, default=0):
        raise TableError(
            f"The first row of {source} has {named} filled cells, but a row below it has "
            f"{max(below)}, so the first row may be a title.",
            where=str(source),
            remedy="Remove titles above the row of column names, which must be the first row.",
        )


def _open_database(source: TableSource) -> _Content:
    from owner_agent.table.database import database_columns, database_rows

    written = database_columns(source)
    names = _names(written)
    called = dict(zip(names, written, strict=True))

    def batches(wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
        columns = [called[name] for name in wanted]
        for block in database_rows(source, columns, _BATCH_ROWS):
            yield from _batches(block, wanted, wanted, source)

    return _Content(names, written, batches, lambda rows: (rows, 0))


def _parquet_head(source: TableSource) -> tuple[pa.Schema, int]:
    try:
        with pa.parquet.ParquetFile(source.path) as file:
            return file.schema_arrow, file.metadata.num_rows
    except _FAILURES:
        raise _unreadable(source) from None


def _open_parquet(source: TableSource) -> _Content:
    parts = source.parts
    heads = [_parquet_head(replace(source, path=part)) for part in parts]
    schema = heads[0][0]
    for part, (own, _) in zip(parts, heads, strict=True):
        if not own.equals(schema):
            raise TableError(
                f"The columns of {part} differ from those of {parts[0]}: name, order or type.",
                where=str(part),
                remedy="Export all parts of the table alike.",
            )
    written = list(schema.names)
    names = list(map(_clean, written))

    def batches(wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
        called = {written[names.index(name)]: name for name in wanted}
        for name in called:
            if kind := _kind(schema.field(name).type):
                raise TableError(
                    f"Column {called[name]!r} of the table {source} contains {kind}, not single"
                    " values.",
                    where=called[name],
                    remedy="Omit the column, or export a column for each value.",
                )
        for part in parts:
            # Read pages on demand; otherwise memory would contain a whole row group.
            with pa.parquet.ParquetFile(part, buffer_size=_PAGE_BYTES) as file:
                for batch in file.iter_batches(
                    _BATCH_ROWS, columns=list(called), use_threads=False
                ):
                    yield batch.rename_columns([called[name] for name in batch.schema.names])

    return _Content(names, written, batches, lambda rows: (rows, sum(count for _, count in heads)))


def _present(
    source: TableSource, present: Sequence[str], columns: Sequence[str], optional: Collection[str]
) -> list[str]:
    """Return the required columns and the optional ones that exist. Raises InputError."""
    wanted = [name for name in columns if name in present or name not in optional]
    if missing := [name for name in wanted if name not in present]:
        raise MissingColumn(
            f"The table {source} has no column {', '.join(map(repr, missing))}"
            f"{did_you_mean(missing, present)}.",
            where=", ".join(missing),
            remedy=f"The columns of the table are {first_few(map(repr, present), _SHOWN_NAMES)}. "
            "Correct the table, or `column` in the site file.",
        )
    if twice := sorted({name for name in wanted if list(present).count(name) > 1}):
        raise TableError(
            f"The table {source} has more than one column with the name {twice}.",
            where=", ".join(twice),
            remedy="Give each column a different name.",
        )
    return wanted


def _has_odd_marks(path: Path) -> bool:
    """Whether a file has an odd count of quotation marks, that is, one that is not closed."""
    with opened(path) as file:
        return sum(block.count(b'"') for block in iter(lambda: file.read(_PAGE_BYTES), b"")) % 2 > 0


def _unmarked_cells(cells: pa.Array) -> pa.Array:
    """Return cells without the marks that our CSV writer adds (see `csv_text`)."""
    if not pc.any(pc.starts_with(cells, "'")).as_py():
        return cells
    return pc.replace_substring_regex(cells, f"^'({FORMULA})", r"\1")
