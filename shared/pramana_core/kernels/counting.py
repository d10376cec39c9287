"""Counting records over the cells of many tables in one pass, with numpy or compiled loops.

Columns are read one chunk at a time. Counts are integers and do not depend on chunks or threads.
"""

from __future__ import annotations

import itertools
import math
import mmap
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pramana_core.errors import DomainError
from pramana_core.kernels.compiled import can_compile
from pramana_core.progress import Tick, no_cancel

Codes = npt.NDArray[np.unsignedinteger]
Counts = npt.NDArray[np.int64]
Tables = Sequence[Sequence[int]]

_AT_ONCE = 1 << 16
"""The maximum number of records that numpy counts at once, unless a table has more cells."""

_NUMPY, _NUMPY_AXIS, _LOOP = 1.5e-9, 1.2e-9, 0.8e-9
"""Approximate seconds per record and table: for numpy, per further axis, for a compiled loop."""

_BYTE = 256
"""The number of codes that fit into one byte."""

_LEAST_SAVED = 2e-4
"""The least seconds that compiled loops must save to be considered."""


def count_tables(
    columns: Sequence[Codes],
    sizes: Sequence[int],
    tables: Tables,
    *,
    names: Sequence[str] | None = None,
    threads: int | None = None,
    at_once: int = 1 << 20,
    tick: Tick = no_cancel,
) -> list[Counts]:
    """Return int64 counts of records per cell of each table, with an axis per column.

    Args:
        columns, sizes: columns of codes from 0, of equal length, and their numbers of codes.
        tables: for each table the indices of its columns, in axis order.
        names: the columns' names for error messages.
        threads: the maximum number of threads, or None for one per processor.
        at_once: the number of records in a chunk; `tick` is called before each chunk.

    Raises DomainError: a code is outside its column's size.
    """
    records = len(columns[0]) if columns else 0
    every = _Layout.of(columns, [int(size) for size in sizes], tables, records)
    used, layout = every.of_tables(range(len(tables)))
    axes = sum(len(table) for table in tables)
    each = len(tables) * (_NUMPY - _LOOP) + axes * _NUMPY_AXIS
    saved = layout.records * each
    try:
        if used and saved > _LEAST_SAVED and can_compile(saved):
            flat = _by_loops(layout, threads or processors(), at_once, tick)
        else:
            flat = _by_numpy(layout, at_once, tick)
    except _Outside as outside:
        column = used[outside.column]
        name = f"Axis {column}" if names is None else f"Column {names[column]!r}"
        size = int(sizes[column])
        raise DomainError(f"{name} has a code of {outside.code}; it has {size} codes.") from None
    return layout.split(flat)


def processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Outside(Exception):
    """A code outside its column's range."""

    def __init__(self, column: int, code: int):
        super().__init__()
        self.column, self.code = column, code


@dataclass(frozen=True, eq=False)
class _Layout:
    """Columns and tables; `places` has the first cell of each table, and the end of the last."""

    columns: Sequence[Codes]
    sizes: Sequence[int]
    tables: Tables
    places: Counts
    records: int

    @classmethod
    def of(
        cls, columns: Sequence[Codes], sizes: Sequence[int], tables: Tables, records: int
    ) -> _Layout:
        cells = [math.prod(sizes[column] for column in table) for table in tables]
        places = np.concatenate([[0], np.cumsum(cells)]).astype(np.int64)
        return cls(columns, sizes, tables, places, records)

    def part(self, start: int, stop: int) -> list[Codes]:
        """Return a range of records as codes: bytes or uint32. Raises DomainError, _Outside."""
        found = []
        for column, (codes, size) in enumerate(zip(self.columns, self.sizes, strict=True)):
            own = np.asarray(codes[start:stop])
            if own.dtype.kind not in "uib":
                raise DomainError(f"Codes must be whole numbers, not {own.dtype}.")
            if own.dtype != np.uint8 and (own.dtype != np.uint32 or size <= _BYTE):
                ends = int(own.min()), int(own.max())
                if ends[0] < 0 or ends[1] >= size:
                    raise _Outside(column, ends[ends[0] >= 0])
                own = own.astype(np.uint8 if size <= _BYTE else np.uint32)
            found.append(np.ascontiguousarray(own))
        return found

    def let_go(self, start: int, stop: int) -> None:
        """Drop the memory pages of mapped files that hold the records `start` to `stop`."""
        for column in self.columns:
            if isinstance(column, np.memmap) and column.mode != "c":
                _let_go(column, start, stop)

    def of_tables(self, chosen: Sequence[int]) -> tuple[list[int], _Layout]:
        """Return the columns that some tables use, and a layout with these columns renumbered."""
        tables = [self.tables[table] for table in chosen]
        used = sorted({column for table in tables for column in table})
        place = {column: number for number, column in enumerate(used)}
        return used, _Layout.of(
            [self.columns[column] for column in used],
            [self.sizes[column] for column in used],
            [[place[column] for column in table] for table in tables],
            self.records,
        )

    def split(self, flat: Counts) -> list[Counts]:
        return [
            flat[start:end].reshape([self.sizes[column] for column in table])
            for table, (start, end) in zip(
                self.tables, itertools.pairwise(self.places.tolist()), strict=True
            )
        ]


def _let_go(column: np.memmap[Any, Any], start: int, stop: int) -> None:
    part, file = column[start:stop], getattr(column, "_mmap", None)
    if file is None or not part.flags.c_contiguous or not hasattr(file, "madvise"):
        return
    begins = np.frombuffer(file, dtype=np.uint8).__array_interface__["data"][0]
    at = part.__array_interface__["data"][0] - begins
    first = at - at % mmap.PAGESIZE
    if part.nbytes:
        file.madvise(mmap.MADV_DONTNEED, first, at + part.nbytes - first)


def _by_numpy(layout: _Layout, at_once: int, tick: Tick) -> Counts:
    counts = np.zeros(int(layout.places[-1]), dtype=np.int64)
    cells, kept = np.diff(layout.places), 0
    # Chunks fit into the processor's cache; the mixed-radix cell index is built in place.
    chunk = max(min(at_once, _AT_ONCE), int(cells.max(initial=0)))
    for start in range(0, layout.records, chunk):
        tick()
        stop = min(start + chunk, layout.records)
        parts = layout.part(start, stop)
        for column, (part, size) in enumerate(zip(parts, layout.sizes, strict=True)):
            if (highest := int(part.max())) >= size:
                raise _Outside(column, highest)
        for number, table in enumerate(layout.tables):
            index = np.zeros(stop - start, dtype=np.int64)
            for column in table:
                index *= layout.sizes[column]
                index += parts[column]
            own = counts[layout.places[number] : layout.places[number + 1]]
            own += np.bincount(index, minlength=len(own))
        # Not after each small chunk, because reading the next one would load most pages again.
        if stop == layout.records or stop - kept >= at_once:
            layout.let_go(kept, stop)
            kept = stop
    return counts


_SHARED_CELLS = 1 << 24
"""The maximum number of cells of all threads' separate counts together."""

_LEAST_OF_THREAD = 2e-3
"""The least seconds of work for which a thread is started."""


def _by_loops(layout: _Layout, threads: int, at_once: int, tick: Tick) -> Counts:
    """Count chunk by chunk, in several threads if faster; each thread has its own counts."""
    from pramana_core.kernels import counting_loops as loops

    chosen = [number for number, table in enumerate(layout.tables) if table]
    used, part = layout.of_tables(chosen)
    members = _array([column for table in part.tables for column in table])
    ends, sizes = _array([0, *itertools.accumulate(map(len, part.tables))]), _array(part.sizes)
    seconds = _LOOP * layout.records * len(chosen)
    threads = max(
        1,
        min(
            threads,
            int(seconds / _LEAST_OF_THREAD),
            _SHARED_CELLS // max(int(layout.places[-1]), 1),
        ),
    )
    chunk = min(at_once, max(1 << 16, -(-layout.records // (2 * threads))))
    starts = iter(range(0, layout.records, chunk))
    lock, stopped = threading.Lock(), threading.Event()

    def work(tick: Tick) -> Counts:
        into = np.zeros(int(part.places[-1]), dtype=np.int64)
        try:
            while not stopped.is_set():
                tick()
                with lock:
                    start = next(starts, None)
                if start is None:
                    break
                stop = min(start + chunk, layout.records)
                codes = part.part(start, stop)
                where = (*_addresses(codes), sizes, members, ends, part.places)
                _require_inside(*loops.count(*where, 0, stop - start, into))
                part.let_go(start, stop)
        except BaseException:
            stopped.set()
            raise
        return into

    try:
        with ThreadPoolExecutor(max(threads - 1, 1)) as pool:
            others = [pool.submit(work, no_cancel) for _ in range(threads - 1)]
            found = sum((other.result() for other in others), work(tick))
    except _Outside as outside:
        raise _Outside(used[outside.column], outside.code) from None
    # A table without columns has a single cell, which counts all records.
    counts = np.full(int(layout.places[-1]), layout.records, dtype=np.int64)
    for own, number in zip(part.split(found), chosen, strict=True):
        counts[layout.places[number] : layout.places[number + 1]] = own.ravel()
    return counts


def _array(numbers: Sequence[int]) -> Counts:
    return np.array(numbers, dtype=np.int64)


def _addresses(parts: Sequence[Codes]) -> tuple[npt.NDArray[np.uint64], Counts]:
    """Return the columns' memory addresses, and the bytes of each code."""
    where = [part.__array_interface__["data"][0] for part in parts]
    return np.array(where, dtype=np.uint64), _array([part.itemsize for part in parts])


def _require_inside(column: int, code: int) -> None:
    if column >= 0:
        raise _Outside(int(column), int(code))
