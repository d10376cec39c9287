"""Passes over records in pieces: integer counts of each piece, which add up.

`SetPass` counts the records of a sampled block by the set of variables that they report.
"""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from pramana_core.channels import SUBSETS
from pramana_core.errors import EmptyTable, LimitExceeded
from pramana_core.marginals.counts import (
    MARGINAL_CELLS,
    Codes,
    Places,
    RecordTables,
    ReportedCounts,
    Table,
)
from pramana_core.progress import Tick, no_cancel

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

TICK_SECONDS = 0.1
"""The interval of calls to `tick` while waiting for a pass."""


class Pass(Protocol[T_co]):
    """A counting task: a small value that is sent to the process that has the records."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that the pass reads."""

    def __call__(self, reports: ReportedCounts, tick: Tick, /) -> T_co:
        """Return the counts of some records: integers or integer arrays, in tuples or mappings.

        `reports` has a record or more, and all columns `names`. An exception from `tick` stops it.
        """


class PassRunner(Protocol):
    """Runs a pass over all pieces of some records, in any process, and adds the counts."""

    def __call__(self, task: Pass[T], tick: Tick, /) -> T:
        """Return the sum. `tick` is called throughout; its exception stops the pass."""


def total(parts: Iterable[T]) -> T:
    """Return the sum of a pass's counts of pieces. Raises EmptyTable if there are no pieces."""
    left = iter(parts)
    try:
        found = next(left)
    except StopIteration:
        raise EmptyTable("There are no records to count.") from None
    for part in left:
        found = _sum(found, part)
    return found


def _sum(one: Any, other: Any) -> Any:
    if isinstance(one, tuple):
        return tuple(_sum(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, Mapping):
        both = {key: _sum(one[key], other[key]) for key in one if key in other}
        return {**one, **other, **both}
    return one + other


@dataclass(frozen=True)
class JointCounts:
    """A pass that counts records over several sets of columns, in one int64 array per set."""

    tables: tuple[tuple[str, ...], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that the pass reads."""
        return tuple(dict.fromkeys(name for names in self.tables for name in names))

    def __call__(self, reports: ReportedCounts, tick: Tick, /) -> tuple[Table, ...]:
        """Return the counts of some records for each table."""
        return tuple(reports.count_at_once(self.tables, tick))


class PartitionedCounts(RecordTables):
    """Counts of reported codes, for records stored in pieces; `run` runs a pass over the pieces."""

    pass_cells = 1 << 22  # every piece being counted or waiting to be added has this many

    def __init__(
        self, sizes: Mapping[str, int], records: int, run: PassRunner, tick: Tick = no_cancel
    ):
        super().__init__(sizes, records)
        self._run, self._tick = run, tick

    def counted(self, task: Pass[T], tick: Tick = no_cancel) -> T:
        """Return a pass's counts of all records. Raises UnknownVariable and the errors of `run`."""
        for name in task.names:
            self._require(name)
        return self._run(task, self._tick if tick is no_cancel else tick)

    def _count(self, tables: Sequence[Places], tick: Tick) -> list[Table]:
        named = tuple(tuple(self._names[place] for place in table) for table in tables)
        return list(self.counted(JointCounts(named), tick))


CountedRecords = ReportedCounts | PartitionedCounts
"""Counts with access to records, which also support passes."""


@dataclass(frozen=True)
class RecordCount:
    """A pass that counts records; it reads only one column."""

    names: tuple[str, ...]

    def __call__(self, reports: ReportedCounts, _tick: Tick, /) -> int:
        return reports.records


@dataclass(frozen=True)
class HalfPass:
    """A pass over half of the records, chosen by their row numbers.

    The golden ratio spreads the rows, so the halves do not follow a period of the records.
    """

    whole: Pass[Any]
    half: int

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that the pass reads."""
        return self.whole.names

    def __call__(self, reports: ReportedCounts, tick: Tick, /) -> Any:
        """Return the counts of the records in this half."""
        spread = reports.rows().astype(np.uint64) * _GOLDEN
        rows = np.flatnonzero(spread >> np.uint64(63) == self.half)
        # A pass needs a record. For an empty half, one record is counted and its counts are zeroed.
        columns = {name: reports.column(name)[rows if len(rows) else [0]] for name in self.names}
        found = self.whole(ReportedCounts(columns, reports.sizes_of(columns)), tick)
        return found if len(rows) else _times(found, 0)


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _times(found: Any, factor: int) -> Any:
    if isinstance(found, tuple):
        return tuple(_times(part, factor) for part in found)
    if isinstance(found, Mapping):
        return {key: _times(part, factor) for key, part in found.items()}
    return found * factor


def half_of(reports: CountedRecords, names: Sequence[str], half: int) -> PartitionedCounts:
    """Return the counts of some columns over half 0 or 1 of the records; see `HalfPass`."""

    def run(task: Pass[T], tick: Tick, /) -> T:
        found: T = reports.counted(HalfPass(task, half), tick)
        return found

    records = run(RecordCount((names[0],)), no_cancel)
    return PartitionedCounts(reports.sizes_of(names), records, run)


Piece = Callable[[Sequence[str]], ReportedCounts | None]
"""Reads the named columns of a piece of some records; returns None for an empty piece."""


def counted_here(
    pieces: Sequence[Piece], task: Pass[T], tick: Tick = no_cancel, threads: int = 1
) -> T | None:
    """Return the total count of pieces, up to `threads` at once; None if all are empty."""

    with closing(_counts(pieces, task, tick, threads)) as counts:
        parts = (part for part in counts if part is not None)
        first = next(parts, None)
        return None if first is None else total(itertools.chain([first], parts))


def _counts(
    pieces: Sequence[Piece], task: Pass[T], tick: Tick, threads: int
) -> Generator[T | None, None, None]:
    def count(piece: Piece, tick: Tick) -> T | None:
        reports = piece(task.names)
        return None if reports is None else task(reports, tick)

    if threads == 1 or len(pieces) == 1:
        for piece in pieces:
            yield count(piece, tick)
        return
    with ThreadPoolExecutor(threads) as pool:
        running: deque[Future[T | None]] = deque()
        try:
            for piece in pieces:
                running.append(pool.submit(count, piece, no_cancel))
                if len(running) > threads:  # counts made in advance take memory
                    yield waited(running.popleft(), tick)
            while running:
                yield waited(running.popleft(), tick)
        finally:
            pool.shutdown(cancel_futures=True)


def waited(running: Future[T], tick: Tick) -> T:
    """Return the result of work in another thread. `tick` is called meanwhile, and may raise."""
    while not running.done():
        tick()
        wait([running], TICK_SECONDS)
    return running.result()


Counts = npt.NDArray[np.int64]


SetCounts = Mapping[tuple[int, ...], Counts]

_KEYS = 1 << 62
"""The limit of integer keys for sets; if more sets are possible, rows are compared instead."""


@dataclass(frozen=True)
class SetPass:
    """A pass that counts records by the set of columns with a code other than the column's size."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]

    def __call__(self, reports: ReportedCounts, tick: Tick, /) -> dict[tuple[int, ...], Counts]:
        """Return the counts of some records; see `grouped`."""
        return grouped([reports.column(name) for name in self.names], self.sizes, tick=tick)


def grouped(
    columns: Sequence[Codes],
    sizes: Sequence[int],
    *,
    at_once: int = 1 << 18,
    tick: Tick = no_cancel,
) -> dict[tuple[int, ...], Counts]:
    """Count records by the set of columns that they report; a code equal to the size is "withheld".

    Returns int64 counts by set, with an axis for each variable; sets that no record reports may be
    missing. Reports of subsets (see `Sampled`) have the key (number of columns, *set) and another
    first axis for the subset. `tick` is called for each `at_once` records. Raises LimitExceeded: a
    set has more than `MARGINAL_CELLS` cells.
    """
    found: dict[tuple[int, ...], Counts] = {}
    widths = np.array(sizes, dtype=np.int64)
    for start in range(0, len(columns[0]) if columns else 0, at_once):
        tick()
        parts = [np.asarray(column[start : start + at_once]) for column in columns]
        places = [np.flatnonzero(part != size) for part, size in zip(parts, sizes, strict=True)]
        lengths = [len(place) for place in places]
        codes = np.concatenate([part[place] for part, place in zip(parts, places, strict=True)])
        rows = np.concatenate(places).astype(np.int32)
        axes = np.repeat(np.arange(len(columns), dtype=np.int32), lengths)
        # The columns follow one another, so a stable sort keeps each record's columns in order.
        order = np.argsort(rows, kind="stable")
        rows, axes, codes = rows[order], axes[order], codes[order].astype(np.int64)
        number = np.bincount(rows, minlength=len(parts[0]))
        first = np.cumsum(number) - number
        for size in np.unique(number):
            records = np.flatnonzero(number == size)
            if size == 0:
                _add(found, (), np.array(len(records)))
                continue
            entries = first[records][:, None] + np.arange(size)
            chosen, made = axes[entries], codes[entries]
            if (made > widths[chosen]).any():
                chosen, made = _count_tagged(found, chosen, made, widths)
            if len(made):
                _count(found, chosen, made, widths)
    return found


def _count_tagged(
    found: dict[tuple[int, ...], Counts], axes: Counts, codes: Counts, widths: Counts
) -> tuple[Counts, Counts]:
    """Add the records that report subsets to `found`. Return those others whose codes are valid."""
    tags, cells = np.divmod(codes, widths[axes] + 1)
    fits = (cells < widths[axes]).all(axis=1) & (tags[:, 1:] == 0).all(axis=1)
    subset = fits & (tags[:, 0] > 0) & (tags[:, 0] <= SUBSETS)
    if subset.any():
        sets = np.insert(axes[subset], 0, len(widths), axis=1)
        reports = np.hstack([tags[subset, :1] - 1, cells[subset]])
        _count(found, sets, reports, np.append(widths, SUBSETS))
    plain = fits & (tags[:, 0] == 0)
    return axes[plain], codes[plain]


def _count(
    found: dict[tuple[int, ...], Counts], axes: Counts, codes: Counts, widths: Counts
) -> None:
    """Add records with equally many columns to `found`; axes and codes: (records, columns)."""
    sets, place = _distinct(axes, len(widths))
    shapes = [tuple(int(size) for size in widths[members]) for members in sets]
    cells = [math.prod(shape) for shape in shapes]
    if sum(cells) > MARGINAL_CELLS:
        raise LimitExceeded(
            f"Sets of {axes.shape[1]} variables have {sum(cells)} cells together; at most"
            f" {MARGINAL_CELLS} are counted.",
            remedy="Sample subsets of fewer variables.",
        )
    cell = np.zeros(len(axes), dtype=np.int64)
    for column in range(axes.shape[1]):
        cell = cell * widths[axes[:, column]] + codes[:, column]
    ends = np.cumsum(cells)
    counts = np.bincount(cell + (ends - cells)[place], minlength=int(ends[-1]))
    for members, shape, part in zip(sets, shapes, np.split(counts, ends[:-1]), strict=True):
        _add(found, tuple(int(axis) for axis in members), part.reshape(shape))


def _distinct(axes: Counts, columns: int) -> tuple[Counts, Counts]:
    """Return the distinct rows, and for each row the index of its distinct row."""
    if columns ** axes.shape[1] >= _KEYS:
        sets, place = np.unique(axes, axis=0, return_inverse=True)
        return sets, place.ravel()
    key = np.zeros(len(axes), dtype=np.int64)
    for column in range(axes.shape[1]):
        key = key * columns + axes[:, column]
    _, some, place = np.unique(key, return_index=True, return_inverse=True)
    return axes[some], place


def _add(found: dict[tuple[int, ...], Counts], members: tuple[int, ...], counts: Counts) -> None:
    known = found.get(members)
    found[members] = counts if known is None else known + counts
