"""Encoding of text as codes. Errors name columns, rows and counts, and never quote a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from owner_agent.randomize.record_ids import normalized_ids
from owner_agent.site.planning import PlannedSite, raise_together
from owner_agent.site.site import Site, VariableSection
from owner_agent.table.csv_format import add_first_line
from owner_agent.table.table import TextTable, read_table
from pramana_core.determined import Giveaway, PairCounts
from pramana_core.domain import Variable
from pramana_core.encoding import EMPTY_CELL, UNKNOWN
from pramana_core.encoding import encode as codes_of
from pramana_core.errors import (
    DuplicateRecordId,
    PramanaError,
    TableError,
    UnknownCategory,
    UnprotectedVariable,
)
from pramana_core.marginals.counts import Codes
from pramana_core.wire.parts import code_dtype

_SHOWN_ROWS = 5
_AHEAD = 4

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Encoded:
    """A table as record ids and true codes. Columns in `one_secret` determine each other."""

    record_ids: list[str]
    columns: dict[str, Codes]
    one_secret: Mapping[str, tuple[str, ...]]

    @property
    def rows(self) -> int:
        """The count of records."""
        return len(self.record_ids)


class FoundRows:
    """The count of records with some finding, and the numbers (from 1) of the first ones."""

    def __init__(self) -> None:
        self.count = 0
        self._first: list[int] = []

    def __bool__(self) -> bool:
        """Return whether any record was found."""
        return self.count > 0

    def add(self, where: Mask, start: int = 0) -> None:
        """Count the marked rows of a chunk. `start` rows of the table precede the chunk."""
        places = np.flatnonzero(where)
        self.count += len(places)
        wanted = max(0, _SHOWN_ROWS - len(self._first))
        self._first += (places[:wanted] + start + 1).tolist()

    @property
    def text(self) -> str:
        """The count of the records and the numbers of the first ones, as text."""
        first = ", ".join(map(str, self._first))
        if self.count == 1:
            return f"1 record (record {first})"
        more = ", ..." if self.count > _SHOWN_ROWS else ""
        return f"{self.count:,} records (records {first}{more})"


@dataclass(frozen=True)
class Inspection:
    """The result of reading a table: the codes of readable variables, and all problems."""

    rows: int
    encoded: Encoded
    problems: tuple[PramanaError, ...]


def inspect(site: Site, plan: PlannedSite) -> Inspection:
    """Read and encode a site's table, collecting all problems. Raises TableError."""
    table = read_table(site.table, needed_columns(site))
    encoder = TableEncoder(site, plan)
    columns = encoder.add(table)
    ids = table.columns[site.file.record_id]
    problems = record_id_problems(ids, site.file.record_id) + encoder.problems()
    add_first_line(problems, site.table, table.rows)
    usable = {name: codes for name, codes in columns.items() if encoder.is_readable(name)}
    return Inspection(
        table.rows,
        Encoded(ids.to_pylist(), usable, encoder.one_secret()),
        (*problems, *encoder.revealing_columns()),
    )


def needed_columns(site: Site) -> list[str]:
    """Return the columns of the table that contain a site's variables and record ids."""
    return [site.file.record_id, *(v.source for v in site.file.variables)]


def encode(site: Site, plan: PlannedSite) -> Encoded:
    """Read and encode a site's table. Raises TableError or UnknownCategory."""
    found = inspect(site, plan)
    raise_together(list(found.problems))
    return found.encoded


class TableEncoder:
    """Encodes a table chunk by chunk, and collects the problems of its columns.

    The returned codes of a chunk with problems are undefined.
    """

    def __init__(self, site: Site, plan: PlannedSite):
        self._plan = plan
        self._readers = [
            ColumnReader(section, plan.variables[section.name]) for section in site.file.variables
        ]
        self._read = 0
        open_ = {n for b in plan.plan.blocks if b.channel.is_identity for n in b.names}
        hidden = {v.name for v in site.file.variables if v.sensitive or v.name not in open_}
        self._allowed = {v.name: v.reveals for v in site.file.variables if v.name not in hidden}
        sizes = {name: variable.size for name, variable in plan.variables.items()}
        self._pairs = PairCounts(sizes, list(sizes), sorted(hidden))

    def add(self, chunk: TextTable) -> dict[str, Codes]:
        """Return the codes of the next rows, by variable."""
        start, self._read = self._read, self._read + chunk.rows
        columns = {reader.name: reader.codes(chunk, start) for reader in self._readers}
        if all(reader.problem is None for reader in self._readers):
            done, size = chunk.read
            # Reading may be a few blocks ahead of the rows.
            self._pairs.add(columns, _AHEAD * self._read * size / max(done, 1))
        return columns

    def is_readable(self, variable: str) -> bool:
        """Return whether the columns of a variable have had no problem so far."""
        return not any(r.problem is not None for r in self._readers if r.name == variable)

    def problems(self) -> list[PramanaError]:
        """Return the problems of the columns."""
        return [reader.problem for reader in self._readers if reader.problem is not None]

    def revealing_columns(self) -> list[PramanaError]:
        """Return an error for each unrandomized column that reveals a hidden column."""
        return [
            UnprotectedVariable(
                f"Variable {one.column!r} is sent unchanged and reveals {one.of!r}: it predicts the"
                f" value of {one.of!r} correctly for {one.share:.1%} of the records.",
                where=one.column,
                remedy=f"Make {one.column!r} sensitive or omit it. If all who receive"
                f' {one.column!r} may know {one.of!r}, set reveals = ["{one.of}"]'
                " in its entry of the site file.",
            )
            for one in self._giveaways
            if one.of not in self._allowed.get(one.column, (one.of,))
        ]

    def one_secret(self) -> dict[str, tuple[str, ...]]:
        """Return, for each column, the columns that determine its values or that it determines."""
        found: dict[str, set[str]] = {}
        for one in self._giveaways:
            pair = [self._plan.columns[name] for name in (one.column, one.of)]
            for column, other in (pair, reversed(pair)):
                found.setdefault(column, set()).add(other)
        return {column: tuple(sorted(others)) for column, others in found.items()}

    @cached_property
    def _giveaways(self) -> list[Giveaway]:
        return self._pairs.giveaways()

    @property
    def well(self) -> bool:
        """Whether no column has had a problem so far."""
        return not self.problems()


def record_id_problems(ids: pa.Array, column: str) -> list[PramanaError]:
    """Return errors for empty or repeated record ids."""
    ids = normalized_ids(ids)
    empty = pc.equal(ids, "").to_numpy(zero_copy_only=False)
    # The dictionary's indices number the distinct ids by order of appearance.
    index = ids.dictionary_encode().indices.to_numpy()
    counts = np.bincount(index)
    repeated = (counts[index] > 1) & ~empty
    missing, duplicates = FoundRows(), FoundRows()
    missing.add(empty)
    duplicates.add(repeated)
    distinct = int((counts > 1).sum()) - int((counts[index] > 1)[empty].any())
    return id_problems(column, missing, distinct, duplicates)


def id_problems(
    column: str, missing: FoundRows, distinct: int, duplicates: FoundRows
) -> list[PramanaError]:
    """Return errors for rows with `missing` record ids, and for `distinct` repeated ids."""
    problems: list[PramanaError] = []
    if missing:
        problems.append(
            TableError(
                f"Column {column!r}, the record id, is empty in {missing.text}.",
                where=column,
                remedy="Fill in the ids. Without an id, a record cannot be linked between owners.",
            )
        )
    if duplicates:
        problems.append(
            DuplicateRecordId(
                f"Column {column!r}, the record id, repeats {distinct} ids, in {duplicates.text}.",
                where=column,
                remedy="Keep only one row per record.",
            )
        )
    return problems


def table_changed() -> TableError:
    """Return the error of a table whose records changed between two readings."""
    return TableError(
        "The table changed while it was read, because a second reading found other records.",
        remedy="Run the command again when no program is writing to the table.",
    )


class ColumnReader:
    """Reads a variable from its column, chunk by chunk, and counts the rows that cannot be read."""

    def __init__(self, section: VariableSection, variable: Variable):
        self.name = section.name
        self._section = section
        self._variable = variable
        self._empty, self._unknown = FoundRows(), FoundRows()

    def codes(self, chunk: TextTable, start: int = 0) -> Codes:
        """Return the codes of a chunk; `start` rows of the table precede the chunk."""
        missing, variable = self._section.missing, self._variable
        empty = EMPTY_CELL if missing is None else variable.code(missing)
        text = chunk.columns[self._section.source]
        codes = codes_of(text, variable.categories, empty=empty)
        self._empty.add(codes == EMPTY_CELL, start)
        self._unknown.add(codes == UNKNOWN, start)
        return codes.astype(code_dtype(variable.size))

    @property
    def problem(self) -> PramanaError | None:
        """The column's problem to fix first, or None."""
        section, where = self._section, self._section.source
        column = f"Column {where!r} of variable {section.name!r}"
        if self._empty:
            return TableError(
                f"{column} is empty in {self._empty.text}.",
                where=where,
                remedy='Set the category of empty cells with missing = "...".',
            )
        if self._unknown and section.cuts is not None:
            return TableError(
                f"{column} has cuts but no finite number in {self._unknown.text}.",
                where=where,
                remedy="Correct those cells, or list the variable's categories.",
            )
        if self._unknown:
            return UnknownCategory(
                f"{column} has values outside its categories in {self._unknown.text}.",
                where=where,
                remedy="Correct those cells, or add the category to the list: `categories` in the"
                " site file, or --categories of `init`.",
            )
        return None


def rows_text(where: Mask) -> str:
    """Return the count of marked records and the numbers of the first ones, from 1."""
    found = FoundRows()
    found.add(where)
    return found.text
