"""Passes over records that lie in pieces: whole-number counts of each piece, which add up.

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
"""How often who waits for a pass says so."""


class Pass(Protocol[T_co]):
    """What is counted of records: a small value that can be sent to where they are."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that it reads."""

    def __call__(self, reports: ReportedCounts, tick: Tick, /) -> T_co:
        """Return what some records add: an integer or integers in arrays, tuples or mappings.

        `reports` have one record and these columns at least. What `tick` raises stops the count.
        """


class PassRunner(Protocol):
    """Takes a pass over all pieces of some records, wherever they are, and adds up its counts."""

    def __call__(self, asked: Pass[T], tick: Tick, /) -> T:
        """Return the sum. What `tick`, called all along, raises stops the pass."""


def total(parts: Iterable[T]) -> T:
    """Return the sum of what a pass counted of pieces. Raises EmptyTable if there are none."""
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
    """A pass that counts records over each of some sets of columns: an int64 array for each."""

    tables: tuple[tuple[str, ...], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that it reads."""
        return tuple(dict.fromkeys(name for names in self.tables for name in names))

    def __call__(self, reports: ReportedCounts, tick: Tick, /) -> tuple[Table, ...]:
        """Return what some records add to each table."""
        return tuple(reports.count_at_once(self.tables, tick))


class PartitionedCounts(RecordTables):
    """Counts of reported codes over columns of records in pieces; `run` takes a pass over them."""

    pass_cells = 1 << 22  # each piece that is counted now, or waits to be added, has as many

    def __init__(
        self, sizes: Mapping[str, int], records: int, run: PassRunner, tick: Tick = no_cancel
    ):
        super().__init__(sizes, records)
        self._run, self._tick = run, tick

    def counted(self, asked: Pass[T], tick: Tick = no_cancel) -> T:
        """Return what a pass counts of all records. Raises UnknownVariable, and as the runner."""
        for name in asked.names:
            self._require(name)
        return self._run(asked, self._tick if tick is no_cancel else tick)

    def _count(self, tables: Sequence[Places], tick: Tick) -> list[Table]:
        named = tuple(tuple(self._names[place] for place in table) for table in tables)
        return list(self.counted(JointCounts(named), tick))


CountedRecords = ReportedCounts | PartitionedCounts
"""Counts that can be asked for more than tables: records are there to pass over."""


@dataclass(frozen=True)
class RecordCount:
    """A pass that counts records; it reads one column."""

    names: tuple[str, ...]

    def __call__(self, reports: ReportedCounts, _tick: Tick, /) -> int:
        """Return the number of records."""
        return reports.records


@dataclass(frozen=True)
class HalfPass:
    """A pass over half of the records, chosen by their rows.

    Rows are spread by the golden ratio, so that no period of the records meets them.
    """

    whole: Pass[Any]
    half: int

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that it reads."""
        return self.whole.names

    def __call__(self, reports: ReportedCounts, tick: Tick, /) -> Any:
        """Return what these records add."""
        spread = reports.rows().astype(np.uint64) * _GOLDEN
        rows = np.flatnonzero(spread >> np.uint64(63) == self.half)
        # A pass needs a record: of an empty half one is counted, and taken away again.
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

    def run(asked: Pass[T], tick: Tick, /) -> T:
        found: T = reports.counted(HalfPass(asked, half), tick)
        return found

    records = run(RecordCount((names[0],)), no_cancel)
    return PartitionedCounts(reports.sizes_of(names), records, run)


Piece = Callable[[Sequence[str]], ReportedCounts | None]
"""Reads the named columns of a piece of some records; None where it holds none."""


def counted_here(
    pieces: Sequence[Piece], asked: Pass[T], tick: Tick = no_cancel, threads: int = 1
) -> T | None:
    """Return a pass's counts of readable pieces, by `threads` at once; None if they are empty."""

    with closing(_counts(pieces, asked, tick, threads)) as counts:
        parts = (part for part in counts if part is not None)
        first = next(parts, None)
        return None if first is None else total(itertools.chain([first], parts))


def _counts(
    pieces: Sequence[Piece], asked: Pass[T], tick: Tick, threads: int
) -> Generator[T | None, None, None]:
    def count(piece: Piece, tick: Tick) -> T | None:
        reports = piece(asked.names)
        return None if reports is None else asked(reports, tick)

    if threads == 1 or len(pieces) == 1:
        for piece in pieces:
            yield count(piece, tick)
        return
    with ThreadPoolExecutor(threads) as pool:
        running: deque[Future[T | None]] = deque()
        try:
            for piece in pieces:
                running.append(pool.submit(count, piece, no_cancel))
                if len(running) > threads:  # what is counted ahead takes memory
                    yield waited(running.popleft(), tick)
            while running:
                yield waited(running.popleft(), tick)
        finally:
            pool.shutdown(cancel_futures=True)


def waited(running: Future[T], tick: Tick) -> T:
    """Return the result of what runs elsewhere. What `tick`, called meanwhile, raises ends it."""
    while not running.done():
        tick()
        wait([running], TICK_SECONDS)
    return running.result()


Counts = npt.NDArray[np.int64]


SetCounts = Mapping[tuple[int, ...], Counts]

_KEYS = 1 << 62
"""Sets are numbered below this; where that does not hold all of them, they are compared whole."""


@dataclass(frozen=True)
class SetPass:
    """A pass that counts records by the set of columns, `names`, whose code is not the `sizes`'."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]

    def __call__(self, reports: ReportedCounts, tick: Tick, /) -> dict[tuple[int, ...], Counts]:
        """Return what some records add; see `grouped`."""
        return grouped([reports.column(name) for name in self.names], self.sizes, tick=tick)


def grouped(
    columns: Sequence[Codes],
    sizes: Sequence[int],
    *,
    at_once: int = 1 << 18,
    tick: Tick = no_cancel,
) -> dict[tuple[int, ...], Counts]:
    """Count records by the set of columns whose code is not the column's size, which means
    "withheld".

    Returns by set int64 counts with an axis for each variable; sets that no record reports may be
    absent. Counts of reports of subsets (`Sampled`) have the set (number of columns, *set), and one
    axis more, for the subset. `tick` is called for each `at_once` records. Raises LimitExceeded: a
    set has more than `MARGINAL_CELLS` cells.
    """
    found: dict[tuple[int, ...], Counts] = {}
    widths = np.array(sizes, dtype=np.int64)
    for start in range(0, len(columns[0]) if columns else 0, at_once):
        tick()
        parts = [np.asarray(column[start : start + at_once]) for column in columns]
        places = [np.flatnonzero(part != size) for part, size in zip(parts, sizes, strict=True)]
        told = [len(place) for place in places]
        codes = np.concatenate([part[place] for part, place in zip(parts, places, strict=True)])
        rows = np.concatenate(places).astype(np.int32)
        axes = np.repeat(np.arange(len(columns), dtype=np.int32), told)
        # The columns stand one after the other: a stable sort keeps each record's in their order.
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
    """Add the records that report subsets; return the others that report what can be reported."""
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
    """Add records that report equally many columns: which ones, and what, (records, columns)."""
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
    """Return the distinct rows, and the number of each row's."""
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
