"""The records of a job: cut into ranges of pseudonyms, joined, and counted.

A piece has names and places only. Whoever counts it reads the columns from the place of files that
it knows of itself: pieces can be sent to other machines, and nothing of a release goes with them.

All arrays of pseudonyms ascend, strictly, and may be memory-mapped: cutting looks at a few places
of each, and joining reads one range at a time, whatever the size of the releases.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from miner_service.store.columns import KeyText, drop_pages, load_columns, load_keys
from pramana_core.kernels.counting import processors
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.marginals.passes import Pass, counted_here, total
from pramana_core.marginals.value_cache import ValueCache
from pramana_core.progress import Tick, no_cancel
from pramana_core.wire.base import KEY_BYTES
from pramana_core.wire.parts import Values, key_words

Rows = slice | npt.NDArray[np.intp]
"""Which records of a source, by their places in its columns, ascending."""

AT_MOST = 1 << 17
"""So many records of a source are in a range, if no other number is asked for."""

_BITS = 16
"""So many sources are told apart at once: their patterns are few enough to be counted."""


@dataclass(frozen=True)
class KeyRange:
    """The records of some sources whose pseudonyms lie in one range, by their places in each."""

    slices: tuple[slice, ...]


@dataclass(frozen=True)
class RecordGroup:
    """Records of a range that are at the same ones of some sources, and at no other.

    Attributes:
        rows: per source which of its records they are; None where it has none of them. Those of
            two sources are the same records in the same order.
        records: their number.
    """

    rows: tuple[Rows | None, ...]
    records: int

    @property
    def sources(self) -> tuple[bool, ...]:
        """Per source, whether it has these records."""
        return tuple(rows is not None for rows in self.rows)


def groups_in_ranges(keys: Sequence[KeyText], at_most: int = AT_MOST) -> Iterator[RecordGroup]:
    """Yield all records of some sources, range by range, by the sources that have them.

    Of memory-mapped pseudonyms no more than those of a range stay in memory.

    Args:
        keys: pseudonyms per source, ascending.
        at_most: the number of records that a source has in a range at most.
    """
    for within in key_ranges(keys, at_most):
        yield from record_groups(keys, within)


def record_counts(keys: Sequence[KeyText]) -> dict[tuple[bool, ...], int]:
    """Return how many records are at exactly which of some sources, where there are any."""
    found: Counter[tuple[bool, ...]] = Counter()
    for group in groups_in_ranges(keys):
        found[group.sources] += group.records
    return dict(sorted(found.items()))


def record_sets(keys: Sequence[KeyText]) -> list[RecordGroup]:
    """Return all records of some sources by the sources that have them: each set of these once."""
    found: dict[tuple[bool, ...], list[RecordGroup]] = {}
    for group in groups_in_ranges(keys):
        found.setdefault(group.sources, []).append(group)
    return [_joined(found[sources], keys) for sources in sorted(found)]


def _joined(groups: Sequence[RecordGroup], keys: Sequence[KeyText]) -> RecordGroup:
    records = sum(group.records for group in groups)
    return RecordGroup(
        tuple(
            None
            if any(part is None for part in parts)
            else slice(0, records)
            if records == len(own)
            else np.concatenate([_places(part) for part in parts if part is not None])
            for own, parts in zip(keys, zip(*(g.rows for g in groups), strict=True), strict=True)
        ),
        records,
    )


def _places(rows: Rows) -> npt.NDArray[np.intp]:
    return np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows


def key_ranges(keys: Sequence[KeyText], at_most: int = AT_MOST) -> Iterator[KeyRange]:
    """Yield ranges that hold each pseudonym of some sources once, in ascending order.

    No source has more than `at_most` records in a range, however its pseudonyms are spread, and
    in each but the last one has as many: there are few ranges. Pages of memory-mapped pseudonyms
    leave memory when the next range is asked for.

    Args:
        keys: pseudonyms per source, ascending; a source may be empty.
        at_most: the number of records, at least 1.
    """
    at = [0] * len(keys)
    while any(start < len(own) for start, own in zip(at, keys, strict=True)):
        # The first pseudonym that is too many for some source begins the next range.
        ends = [
            own[start + at_most : start + at_most + 1]
            for start, own in zip(at, keys, strict=True)
            if start + at_most < len(own)
        ]
        cut = np.sort(np.concatenate(ends))[:1] if ends else None
        stop = [
            len(own)
            if cut is None
            else start + int(np.searchsorted(own[start : start + at_most], cut)[0])
            for start, own in zip(at, keys, strict=True)
        ]
        yield KeyRange(tuple(slice(*ends) for ends in zip(at, stop, strict=True)))
        drop_pages(keys)
        at = stop


def record_groups(keys: Sequence[KeyText], within: KeyRange) -> list[RecordGroup]:
    """Return the records of a range by the sources that have them: each set of sources once.

    Args:
        keys: pseudonyms per source, ascending, as they were cut.
        within: a range of them.
    """
    held = [own[part] for own, part in zip(keys, within.slices, strict=True)]
    sizes = [len(own) for own in held]
    if len(set(sizes)) == 1 and all(np.array_equal(own, held[0]) for own in held[1:]):
        return [RecordGroup(within.slices, sizes[0])] if sizes[0] else []
    patterns = _patterns(held)
    own_patterns = np.split(patterns, np.cumsum(sizes)[:-1])
    found = []
    for number in np.flatnonzero(np.bincount(patterns)):
        chosen = [
            _rows_of(part, own == number)
            for part, own in zip(within.slices, own_patterns, strict=True)
        ]
        rows = tuple(None if records == 0 else place for place, records in chosen)
        found.append(RecordGroup(rows, max(records for _, records in chosen)))
    return found


def _rows_of(part: slice, which: npt.NDArray[np.bool_]) -> tuple[Rows, int]:
    records = int(np.count_nonzero(which))
    return (part if records == len(which) else part.start + np.flatnonzero(which)), records


def _patterns(held: Sequence[KeyText]) -> npt.NDArray[np.intp]:
    """Return a number per record of all sources, one after the other: equal where they are at the
    same sources, and below 2^16 or the number of records."""
    words = key_words(np.concatenate(held).view(f"V{KEY_BYTES}"))
    # Of runs that ascend a stable sort is a merge. The first halves nearly always decide.
    order = np.argsort(words[:, 0], kind="stable")
    first, second = words[order].T
    again = first[1:] == first[:-1]
    if not np.array_equal(second[1:][again], second[:-1][again]):
        order = np.lexsort((words[:, 1], words[:, 0]))
        first, second = words[order].T
        again = (first[1:] == first[:-1]) & (second[1:] == second[:-1])
    starts = np.flatnonzero(np.concatenate([[True], ~again]))
    pattern = np.zeros(len(starts), dtype=np.intp)
    for low in range(0, len(held), _BITS):
        bits = [1 << place - low if low <= place < low + _BITS else 0 for place in range(len(held))]
        marks = np.repeat(np.array(bits, dtype=np.intp), [len(own) for own in held])[order]
        pattern = (pattern << _BITS) + np.add.reduceat(marks, starts)
        if low:
            _, pattern = np.unique(pattern, return_inverse=True)
    found = np.empty(len(order), dtype=np.intp)
    found[order] = np.repeat(pattern, np.diff(starts, append=len(order)))
    return found


T = TypeVar("T")

JOINED_RECORDS = 1 << 17
"""So many records at most of each release are in a piece whose pseudonyms are compared."""

_KEPT_BYTES = 32 << 20
"""It is remembered which rows the last pieces were, in about so much memory."""

_ARRAY_BYTES = 128
"""About what an array takes beside its content, and each set of releases."""

Packed = npt.NDArray[np.uint8] | npt.NDArray[np.uint32]
"""Which rows of a piece are chosen: a bit for each row, or the places of a few in ascending order.

However many sets of releases have records of a piece, it takes four bytes for each at most.
"""

Chosen = Mapping[tuple[bool, ...], tuple[Packed | None, ...]]
"""Of a piece, the rows in each release by the set of releases that have them; None for all."""

Places = tuple[tuple[int, int], ...]
"""Of a piece, the first row and the one after the last in each release."""


@dataclass(frozen=True)
class RecordSet:
    """Records that exactly some of a few releases have, with the columns of them that are needed.

    Attributes:
        releases: their ids.
        digests: of the files of their columns, SHA-256.
        columns: of each, the columns that are needed.
        sizes: the number of reported categories by column.
        present: which of the releases have the records; None where all have the same pseudonyms.
    """

    releases: tuple[str, ...]
    digests: tuple[str | None, ...]
    columns: tuple[tuple[str, ...], ...]
    sizes: Mapping[str, int]
    present: tuple[bool, ...] | None = None

    def pieces(
        self, records: Sequence[int], load_keys: Callable[[str], KeyText], most: int
    ) -> list[Places]:
        """Return the pieces of the records.

        Args:
            records: how many each of the releases has.
            load_keys: reads the pseudonyms of a release, where they are not all the same.
            most: so many records are in a piece at most.
        """
        if self.present is None:
            return [
                ((start, min(start + most, records[0])),) * len(self.releases)
                for start in range(0, records[0], most)
            ]
        keys = [load_keys(release) for release in self.releases]
        return [
            tuple((part.start, part.stop) for part in found.slices)
            for found in key_ranges(keys, min(most, JOINED_RECORDS))
        ]


class PassPlace(Protocol):
    """Where passes over the records of jobs are taken: in this process, or on a cluster."""

    def __call__(
        self, records: RecordSet, pieces: Sequence[Places], asked: Pass[T], tick: Tick, /
    ) -> T:
        """Return what a pass counts of all pieces. What `tick` raises stops it."""


class PieceReader:
    """Reads pieces from the files of a place, and remembers which rows they are.

    Args:
        path: returns a local file with the columns of a release.
        verify: checks that the columns of a release have a digest; each is checked once.
    """

    def __init__(
        self, path: Callable[[str], Path], verify: Callable[[str, str], None] | None = None
    ) -> None:
        self._path, self._verify = path, verify
        self._checked: set[tuple[str, str | None]] = set()
        self._kept: ValueCache[tuple[tuple[str, ...], Places], Chosen] = ValueCache(
            _KEPT_BYTES, _bytes_of
        )
        self._lock = threading.Lock()

    def counted(
        self,
        records: RecordSet,
        pieces: Sequence[Places],
        asked: Pass[T],
        tick: Tick = no_cancel,
        threads: int = 1,
    ) -> T | None:
        """Return what a pass counts of some pieces; None where they have no records.

        Raises:
            NotReady: the columns of a release are not there.
            StoreCorrupt: they are others than were sealed.
        """
        self._check(records)
        readers = [partial(self._reports, records, places) for places in pieces]
        return counted_here(readers, asked, tick, threads)

    def _check(self, records: RecordSet) -> None:
        for release, digest in zip(records.releases, records.digests, strict=True):
            if self._verify and (release, digest) not in self._checked:
                self._verify(release, str(digest))
                self._checked.add((release, digest))

    def _reports(
        self, records: RecordSet, places: Places, names: Sequence[str]
    ) -> ReportedCounts | None:
        chosen: Sequence[Packed | None] = [None] * len(places)
        if records.present is not None:
            found = self._rows(records.releases, places).get(records.present)
            if found is None:
                return None
            chosen = found
        reported: dict[str, Values] = {}
        for release, own, (start, stop), rows in zip(
            records.releases, records.columns, places, chosen, strict=True
        ):
            if wanted := [name for name in own if name in names]:
                # Mapped for this piece alone: its pages leave this process's memory with it.
                columns = load_columns(self._path(release), wanted)
                reported |= {name: _chosen(columns[name][start:stop], rows) for name in wanted}
        return ReportedCounts(reported, {name: records.sizes[name] for name in reported})

    def _rows(self, releases: tuple[str, ...], places: Places) -> Chosen:
        """Return the rows of a piece, compared if they are not remembered."""
        piece = releases, places
        with self._lock:
            if piece in self._kept:
                return self._kept[piece]
        found = self._compared(releases, places)
        with self._lock:  # another thread may have compared the same meanwhile
            return self._kept.get(piece, lambda: found)

    def _compared(self, releases: tuple[str, ...], places: Places) -> Chosen:
        keys = [load_keys(self._path(release)) for release in releases]
        groups = record_groups(keys, KeyRange(tuple(slice(*ends) for ends in places)))
        return {
            group.sources: tuple(
                _packed(rows, *ends) for rows, ends in zip(group.rows, places, strict=True)
            )
            for group in groups
        }


def _packed(rows: Rows | None, start: int, stop: int) -> Packed | None:
    if rows is None or isinstance(rows, slice):
        return None
    if 32 * len(rows) < stop - start:
        return (rows - start).astype(np.uint32)
    there = np.zeros(stop - start, dtype=np.bool_)
    there[rows - start] = True
    return np.packbits(there)


def _bytes_of(chosen: Chosen) -> int:
    """Return about how much memory the rows of a piece take."""
    every = [rows for found in chosen.values() for rows in found]
    arrays = sum(_ARRAY_BYTES + rows.nbytes for rows in every if rows is not None)
    return arrays + _ARRAY_BYTES * len(chosen) + 16 * len(every)


def _chosen(column: Values, rows: Packed | None) -> Values:
    if rows is None:
        return column
    if rows.dtype == np.uint32:
        return column[rows]
    bits = rows.astype(np.uint8, copy=False)
    return column[np.unpackbits(bits, count=len(column)).view(np.bool_)]


class LocalPlace:
    """Takes passes in this process, by as many threads as it may use cores.

    Args:
        reader: reads the pieces.
    """

    def __init__(self, reader: PieceReader) -> None:
        self._reader = reader
        self._threads = processors()

    def __call__(
        self, records: RecordSet, pieces: Sequence[Places], asked: Pass[T], tick: Tick, /
    ) -> T:
        """Return what a pass counts of all pieces. Raises EmptyTable if they have no records."""
        found = self._reader.counted(records, pieces, asked, tick, self._threads)
        return total([] if found is None else [found])
