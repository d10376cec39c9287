"""Splitting the records of a job into pieces, each a range of rows, and counting these pieces."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from cachetools import LRUCache, cached

from miner_service.alignment.ranges import KeyRange, Rows, key_ranges, record_groups
from miner_service.store.columns import KeyText, load_columns, load_keys
from pramana_core.kernels.counting import processors
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.marginals.passes import Pass, counted_here, total
from pramana_core.progress import Tick, no_cancel
from pramana_core.wire.parts import Values

T = TypeVar("T")

JOINED_RECORDS = 1 << 17
"""Maximum number of records per release in a piece if the releases must be joined by pseudonym."""

_KEPT_BYTES = 32 << 20
"""Bytes of memory for the cached rows of pieces."""

_ARRAY_BYTES = 128
"""Approximate overhead, in bytes, of an array or of a set of releases."""

Packed = npt.NDArray[np.uint8]
"""The rows of a piece that belong to a set of records, one bit per row."""

Chosen = Mapping[tuple[bool, ...], tuple[Packed | None, ...]]
"""A piece's rows in each release, by the flags of the releases that have them. None is all rows."""

Places = tuple[tuple[int, int], ...]
"""For each release, the first row of a piece and the row after its last."""


@dataclass(frozen=True)
class RecordSet:
    """The records that exactly certain releases have, and the columns needed from each release.

    `digests` are the digests of the column files. `sizes` maps each column to the count of its
    reported categories. `present` flags the releases that have the records; None means that all
    releases have the same pseudonyms.
    """

    releases: tuple[str, ...]
    digests: tuple[str | None, ...]
    columns: tuple[tuple[str, ...], ...]
    sizes: Mapping[str, int]
    present: tuple[bool, ...] | None = None

    def pieces(
        self, records: Sequence[int], load_keys: Callable[[str], KeyText], most: int
    ) -> list[Places]:
        """Split the records into pieces of at most `most`, given their count in each release."""
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
    """A place that runs passes over the records of jobs: this process or a cluster."""

    def __call__(
        self, records: RecordSet, pieces: Sequence[Places], work: Pass[T], tick: Tick, /
    ) -> T:
        """Return the count of a pass over all pieces. An exception in `tick` stops the pass."""


class PieceReader:
    """Reads pieces from local files and caches their rows. `verify` checks files at first use."""

    def __init__(
        self, path: Callable[[str], Path], verify: Callable[[str, str], None] | None = None
    ) -> None:
        self._path, self._verify = path, verify
        self._checked: set[tuple[str, str | None]] = set()
        kept: LRUCache[Any, Chosen] = LRUCache(_KEPT_BYTES, getsizeof=_bytes_of)
        self._rows = cached(kept, lock=threading.Lock())(self._find_rows)

    def counted(
        self,
        records: RecordSet,
        pieces: Sequence[Places],
        work: Pass[T],
        tick: Tick = no_cancel,
        threads: int = 1,
    ) -> T | None:
        """Return the count by a pass; None without records. Raises NotReady, StoreCorrupt."""
        self._check(records)
        readers = [partial(self._reports, records, places) for places in pieces]
        return counted_here(readers, work, tick, threads)

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
                # Mapped per piece, so that its pages are dropped after the piece.
                columns = load_columns(self._path(release), wanted)
                reported |= {name: _select(columns[name][start:stop], rows) for name in wanted}
        first = 0 if records.present is None else records.present.index(True)
        numbers = partial(_numbers, places[first], chosen[first])
        return ReportedCounts(reported, {name: records.sizes[name] for name in reported}, numbers)

    def _find_rows(self, releases: tuple[str, ...], places: Places) -> Chosen:
        keys = [load_keys(self._path(release)) for release in releases]
        groups = record_groups(keys, KeyRange(tuple(slice(*ends) for ends in places)))
        return {
            group.sources: tuple(
                _pack(rows, *ends) for rows, ends in zip(group.rows, places, strict=True)
            )
            for group in groups
        }


def _pack(rows: Rows | None, start: int, stop: int) -> Packed | None:
    if rows is None or isinstance(rows, slice):
        return None
    there = np.zeros(stop - start, dtype=np.bool_)
    there[rows - start] = True
    return np.packbits(there)


def _bytes_of(chosen: Chosen) -> int:
    every = [rows for found in chosen.values() for rows in found]
    arrays = sum(_ARRAY_BYTES + rows.nbytes for rows in every if rows is not None)
    return arrays + _ARRAY_BYTES * len(chosen) + 16 * len(every)


def _select(column: Values, rows: Packed | None) -> Values:
    if rows is None:
        return column
    return column[np.unpackbits(rows, count=len(column)).view(np.bool_)]


def _numbers(places: tuple[int, int], rows: Packed | None) -> Values:
    return _select(np.arange(*places), rows)


class LocalPlace:
    """Passes over records in this process, with one thread per core."""

    def __init__(self, reader: PieceReader) -> None:
        self._reader = reader
        self._threads = processors()

    def __call__(
        self, records: RecordSet, pieces: Sequence[Places], work: Pass[T], tick: Tick, /
    ) -> T:
        """Return the total count of a pass over all pieces. Raises EmptyTable without records."""
        found = self._reader.counted(records, pieces, work, tick, self._threads)
        return total([] if found is None else [found])
