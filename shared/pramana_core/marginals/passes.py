"""Passes over records: what is counted of each piece of them, and how such counts add up.

Records may lie in pieces, in files, on several machines. What is asked of them is a pass: it is
taken where a piece is, and gives whole numbers. Their sums hang neither on how the records were cut
nor on who counted which piece first.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from pramana_core.errors import EmptyTable
from pramana_core.marginals.counts import Places, RecordTables, ReportedCounts, Table
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

        Args:
            reports: one record at least, with these columns at least.
            tick: called all along; what it raises stops the count.
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
    """Counts of reported codes over any of the columns of records that are in pieces.

    Args:
        sizes: number of reported categories by variable name.
        records: the number of records.
        run: takes a pass over them.
        tick: called while records are counted; what it raises stops the count.
    """

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


Piece = Callable[[Sequence[str]], ReportedCounts | None]
"""Reads the named columns of a piece of some records; None where it holds none."""


def counted_here(
    pieces: Sequence[Piece], asked: Pass[T], tick: Tick = no_cancel, threads: int = 1
) -> T | None:
    """Return what a pass counts of pieces that this process can read; None if they are empty.

    Args:
        pieces: each is read when its turn comes, and let go of then.
        asked: the pass.
        tick: called all along; what it raises stops the pass.
        threads: so many pieces are counted at once.
    """

    with closing(_counts(pieces, asked, tick, threads)) as counts:
        told = (part for part in counts if part is not None)
        first = next(told, None)
        return None if first is None else total(itertools.chain([first], told))


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
