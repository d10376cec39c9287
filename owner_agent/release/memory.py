"""A study's memory of reports: the pseudonym of each record, and its reported codes by draw.

Each study has a file `reported/<study>.arrow`, which is read and written in ranges of pseudonyms.
"""

from __future__ import annotations

import json
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from owner_agent.state.ledger_file import state_directory
from owner_agent.state.private_files import private_directory, replacing
from owner_agent.table.table import cut
from pramana_core.errors import Conflict, StateError, StoreCorrupt
from pramana_core.marginals.counts import Codes
from pramana_core.wire.base import KEY_BYTES, KEY_COLUMN
from pramana_core.wire.parts import (
    READ_ROWS,
    Column,
    Pseudonyms,
    key_array,
    key_column,
    key_order,
    locate,
)

FOLDER = "reported"
"""The folder's name in a state directory."""

_FORMAT = b"1"

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class MemoryRange:
    """A study's reports for a range of pseudonyms. Each column ``draw/variable`` contains codes."""

    table: pa.Table

    @property
    def keys(self) -> Pseudonyms:
        """The M pseudonyms of the range, ascending."""
        return key_array(self.table.column(KEY_COLUMN))

    def reported(self, draw: str, name: str, keys: Pseudonyms) -> tuple[Mask, Codes]:
        """Find the earlier reports of N records for a variable under a draw.

        Return a mask of the records that have a report, and the codes of these reports.
        """
        place, there = locate(keys, self.keys)
        found = self.table.column(_column(draw, name)).take(pa.array(place, mask=~there))
        known = found.is_valid().to_numpy()
        return known, found.drop_null().to_numpy()

    def with_reports(
        self, keys: Pseudonyms, reports: Mapping[str, Codes], schema: pa.Schema
    ) -> pa.Table:
        """Return this range's table with N new reports, sorted by pseudonym. Raises Conflict."""
        earlier = self.keys
        _, there = locate(keys, earlier)
        joined = np.concatenate([earlier, keys[~there]])
        wider = joined[key_order(joined)] if len(earlier) else keys
        old, new = (_places(wider, among) for among in (earlier, keys))
        columns = [key_column(wider)]
        for one in schema:
            if one.name == KEY_COLUMN:
                continue
            before = _taken(self.table, one, old)
            after = pa.array(reports[one.name]).take(new) if one.name in reports else before
            if pc.any(pc.not_equal(before, after)).as_py():
                variable = one.name.partition("/")[2]
                raise Conflict(
                    "While these reports were prepared, another publication reported "
                    f"{variable!r} by the same draw, with different values for some records.",
                    where=variable,
                    remedy="Publish again, so that these records keep the reports that were sent.",
                )
            columns.append(pc.coalesce(before, after))
        return pa.table(columns, schema=schema)


def _places(keys: Pseudonyms, among: Pseudonyms) -> pa.Array:
    place, there = locate(keys, among)
    return pa.array(place, mask=~there)


def _taken(table: pa.Table, field: pa.Field, places: pa.Array) -> pa.Array:
    if field.name not in table.column_names:
        return pa.nulls(len(places), field.type)
    return table.column(field.name).combine_chunks().take(places)


class Memory:
    """A study's earlier reports, with the digests of its `releases` and the ids of its `draws`."""

    def __init__(self, file: IO[bytes] | None = None, where: str = FOLDER):
        """Open a file that `write` created. Raises StoreCorrupt."""
        self._where = where
        self._batches: pa.ipc.RecordBatchFileReader | None = None
        self._fields = [pa.field(KEY_COLUMN, pa.binary(KEY_BYTES))]
        self.releases: frozenset[str] = frozenset()
        if file is not None:
            weakref.finalize(self, file.close)
            with _as_written(where):
                self._batches = pa.ipc.open_file(pa.PythonFile(file, mode="r"))
                metadata = self._batches.schema.metadata or {}
                if metadata.get(b"format") != _FORMAT:
                    raise ValueError("another format")
                self.releases = frozenset(json.loads(metadata[b"releases"]))
                self._fields = list(self._batches.schema)
        self.draws = frozenset(one.name.partition("/")[0] for one in self._fields[1:])

    def ranges(self) -> Iterator[pa.Table]:
        """Yield all reports in tables, by ranges of ascending pseudonyms."""
        if self._batches is None:
            return
        batches = self._batches
        read = (batches.get_batch(n) for n in range(batches.num_record_batches))
        ranges = cut(read, READ_ROWS)
        while True:
            with _as_written(self._where):
                current = next(ranges, None)
            if current is None:
                return
            yield current.combine_chunks()

    def beside(self, keys: Column) -> Iterator[tuple[MemoryRange, slice]]:
        """Yield each range with reports, and the slice of N ascending pseudonyms within it."""
        nothing = pa.schema(self._fields).empty_table()
        ranges, start = self.ranges(), 0
        current = next(ranges, None)
        while current is not None or start < len(keys):
            block = keys[start : start + READ_ROWS]
            inside = len(block)
            if current is None:
                yield MemoryRange(nothing), slice(start, start + inside)
            else:
                own, known = key_array(current.column(KEY_COLUMN)), len(current)
                if inside:
                    last = min(bytes(block[-1]), bytes(own[-1]))
                    inside, known = (_up_to(last, one) for one in (block, own))
                yield MemoryRange(current.slice(0, known)), slice(start, start + inside)
                current = current.slice(known)
                current = current if len(current) else next(ranges, None)
            start += inside

    def write(
        self,
        to: IO[bytes],
        keys: Column,
        reports: Mapping[str, Mapping[str, Column]],
        release: str,
    ) -> None:
        """Write the stored and N new reports, by draw and variable, to a file. Raises Conflict."""
        new = {_column(d, n): c for d, columns in reports.items() for n, c in columns.items()}
        known = {one.name for one in self._fields}
        fields = [pa.field(n, pa.from_numpy_dtype(c.dtype)) for n, c in new.items()]
        releases = json.dumps(sorted(self.releases | {release})).encode()
        schema = pa.schema(
            self._fields + [one for one in fields if one.name not in known],
            metadata={b"format": _FORMAT, b"releases": releases},
        )
        with pa.ipc.new_file(pa.PythonFile(to, mode="w"), schema) as writer:
            for current, rows in self.beside(keys):
                inside = {name: column[rows] for name, column in new.items()}
                writer.write_table(current.with_reports(keys[rows], inside, schema))


def _up_to(last: bytes, keys: Pseudonyms) -> int:
    place, there = locate(np.frombuffer(last, dtype=f"V{KEY_BYTES}"), keys)
    return int(place[0]) + int(there[0])


def _column(draw: str, name: str) -> str:
    return f"{draw}/{name}"


@contextmanager
def _as_written(where: str) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, KeyError):
        raise StoreCorrupt(
            f"The memory of reports, {where}, is damaged.",
            where=where,
            remedy="Restore the file from your backup, with the ledger of the same day.",
        ) from None


def load_memory(state: Path, study: str) -> Memory:
    """Return a study's memory of reports, empty before the first release. Raises StoreCorrupt."""
    path = _path(state, study)
    return Memory(path.open("rb", buffering=0), str(path)) if path.exists() else Memory()


def save_memory(
    state: Path,
    study: str,
    memory: Memory,
    keys: Column,
    reports: Mapping[str, Mapping[str, Column]],
    release: str,
) -> None:
    """Write a study's memory with the reports of a further release. Raises Conflict, StateError."""
    path = _path(state, study)
    try:
        private_directory(state_directory(state) / FOLDER)
        with replacing(path) as file:
            memory.write(file, keys, reports, release)
    except OSError as error:
        raise StateError(
            f"The new reports cannot be written to {path}: {error.strerror}.",
            where=str(path),
            remedy="Nothing was sent. Free disk space or repair the folder, and start again.",
        ) from None


def remembered_studies(state: Path) -> list[str]:
    """Return the studies with a memory of reports."""
    return sorted(path.stem for path in (state / FOLDER).glob("*.arrow"))


def _path(state: Path, study: str) -> Path:
    return state / FOLDER / f"{study}.arrow"
