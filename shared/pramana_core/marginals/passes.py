"""Passes over records: what is counted of each piece of them, and how such counts add up.

Records may lie in pieces, in files, on several machines. What is asked of them is a pass: it is
taken where a piece is, and gives whole numbers. Their sums hang neither on how the records were cut
nor on who counted which piece first.
"""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from pramana_core.errors import EmptyTable, LimitExceeded, UnknownVariable
from pramana_core.marginals.counts import CUBE_CELLS, MARGINAL_CELLS, ReportedCounts, tabulate
from pramana_core.marginals.tabulated_counts import TabulatedCounts
from pramana_core.progress import Tick, no_cancel

Counts = npt.NDArray[np.int64]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

TICK_SECONDS = 0.1
"""How often who waits for a pass says so."""

PASS_CELLS = 1 << 22
"""Tables of about so many cells together are counted in one pass."""


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
    """The counts over sets of columns, an int64 array for each; `shapes` are the codes per axis."""

    tables: tuple[tuple[str, ...], ...]
    shapes: tuple[tuple[int, ...], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that it reads."""
        return tuple(dict.fromkeys(name for names in self.tables for name in names))

    @property
    def cells(self) -> int:
        """The cells of all tables."""
        return sum(math.prod(shape) for shape in self.shapes)

    def __call__(self, reports: ReportedCounts, tick: Tick, /) -> tuple[Counts, ...]:
        """Return what some records add to each table."""
        found = []
        for names, shape in zip(self.tables, self.shapes, strict=True):
            tick()
            found.append(tabulate([reports.column(name) for name in names], shape))
        return tuple(found)


class PartitionedCounts:
    """Counts of reported codes over any of the columns of records that are in pieces.

    As of `ReportedCounts`, where the product of all sizes, `cells`, is at most `CUBE_CELLS` the
    records are read once.

    Args:
        sizes: number of reported categories by variable name.
        records: the number of records.
        run: takes a pass over them.
        tick: called while tables are counted; what it raises stops the count.
    """

    def __init__(
        self, sizes: Mapping[str, int], records: int, run: PassRunner, tick: Tick = no_cancel
    ):
        self.records = records
        self._sizes, self._run, self._tick = dict(sizes), run, tick
        self.cells = math.prod(self._sizes.values())
        self._cube: TabulatedCounts | None = None

    def counted(self, asked: Pass[T], tick: Tick = no_cancel) -> T:
        """Return what a pass counts of all records. Raises UnknownVariable, and as the runner."""
        for name in asked.names:
            self._require(name)
        return self._run(asked, tick)

    def table(self, names: Sequence[str]) -> Counts:
        """Return the counts over the named columns, axes in that order; see `ReportedCounts`."""
        (found,) = self.tables([names])
        return found

    def tables(self, asked: Sequence[Sequence[str]]) -> list[Counts]:
        """Return the counts over several sets of columns, counted in as few passes as may be.

        Raises UnknownVariable, and LimitExceeded above `MARGINAL_CELLS` cells of a table.
        """
        for name in (name for names in asked for name in names):
            self._require(name)
        if self.cells > CUBE_CELLS:
            counted = (self.counted(one, self._tick) for one in self._passes(asked))
            return [table for tables in counted for table in tables]
        if self._cube is None:
            whole = tuple(self._sizes)
            (cube,) = self.counted(self._joint([whole]), self._tick)
            self._cube = TabulatedCounts({whole: cube}, self.records)
        return [self._cube.table(names) for names in asked]

    def _passes(self, asked: Sequence[Sequence[str]]) -> Iterator[JointCounts]:
        """Yield the tables in order, as many at once as have few enough cells together."""
        together: list[Sequence[str]] = []
        for names in asked:
            if self._joint([names]).cells > MARGINAL_CELLS:
                raise LimitExceeded(
                    f"A table of {self._joint([names]).cells} cells is larger than the"
                    f" {MARGINAL_CELLS} allowed.",
                    remedy="Ask for fewer variables at once.",
                )
            if together and self._joint([*together, names]).cells > PASS_CELLS:
                yield self._joint(together)
                together = []
            together.append(names)
        if together:
            yield self._joint(together)

    def _joint(self, asked: Sequence[Sequence[str]]) -> JointCounts:
        shapes = tuple(tuple(self._sizes[name] for name in names) for names in asked)
        return JointCounts(tuple(tuple(names) for names in asked), shapes)

    def _require(self, name: str) -> None:
        if name not in self._sizes:
            raise UnknownVariable(f"There is no reported column {name!r}.", where=name)


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
                if len(running) > 2 * threads:  # what is counted ahead takes memory
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
