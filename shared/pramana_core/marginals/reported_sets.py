"""Records counted by which of their variables they report: sampled blocks of any width in one pass.

A record of a sampled block reports few of its variables and says of the others that they are
withheld. Grouped by the set of variables reported, hundreds of columns become as many small tables
as there are sets.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pramana_core.errors import LimitExceeded
from pramana_core.marginals.counts import MARGINAL_CELLS, Codes, ReportedCounts, ReportTables
from pramana_core.marginals.passes import CountedRecords
from pramana_core.progress import Tick, no_cancel

Counts = npt.NDArray[np.int64]
SetCounts = Mapping[tuple[int, ...], Counts]

_KEYS = 1 << 62
"""Sets are numbered below this; where that does not hold all of them, they are compared whole."""


def counts_by_set(
    reports: ReportTables,
    names: Sequence[str],
    sizes: Sequence[int],
    sets: Sequence[tuple[int, ...]],
    tick: Tick = no_cancel,
) -> SetCounts:
    """Count the records that report exactly a set of variables, by what they report.

    Args:
        reports: the reports.
        names: columns in which the code of its size means "withheld".
        sizes: the number of true categories of each.
        sets: the sets that can be reported, as places in `names`, ascending; asked of reports that
            came as tables, from which one set's records are told by taking off those of larger
            ones.
        tick: called all along; what it raises stops the count.

    Returns:
        By set, int64 counts with an axis of its size for each variable of the set. Sets that no
        record reports may be absent; the empty one has the records that report nothing.

    Raises:
        UnknownVariable: a name that is not a column.
        LimitExceeded: a set has more than `MARGINAL_CELLS` cells.
    """
    if isinstance(reports, CountedRecords):
        return reports.counted(SetPass(tuple(names), tuple(sizes)), tick)
    found: dict[tuple[int, ...], Counts] = {}
    for axes in sorted(set(sets), key=len, reverse=True):
        tick()
        table = reports.table([names[axis] for axis in axes])
        held = table[tuple(slice(0, sizes[axis]) for axis in axes)].astype(np.int64)
        for larger, counts in found.items():
            if set(axes) < set(larger):
                gone = tuple(place for place, axis in enumerate(larger) if axis not in axes)
                held -= counts.sum(axis=gone)
        found[axes] = held
    return found


@dataclass(frozen=True)
class SetPass:
    """A pass that counts records by the set of columns, `names`, whose code is not the `sizes`'."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]

    def __call__(self, reports: ReportedCounts, tick: Tick, /) -> dict[tuple[int, ...], Counts]:
        """Return what some records add; see `counts_by_set`."""
        return grouped([reports.column(name) for name in self.names], self.sizes, tick=tick)


def grouped(
    columns: Sequence[Codes],
    sizes: Sequence[int],
    *,
    at_once: int = 1 << 18,
    tick: Tick = no_cancel,
) -> dict[tuple[int, ...], Counts]:
    """Count records by the set of columns whose code is not the column's size.

    Args:
        columns: codes, in memory or memory-mapped, all of one length.
        sizes: the code of each column that means "withheld".
        at_once: how many records are looked at at once.
        tick: called for each of these parts.

    Returns:
        See `counts_by_set`.

    Raises:
        LimitExceeded: a set has more than `MARGINAL_CELLS` cells.
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
            _count(found, axes[entries], codes[entries], widths)
    return found


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
