"""Merging the sorted pseudonyms of several sources, with one range of them in memory at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from miner_service.store.columns import KeyText, drop_pages
from pramana_core.wire.base import KEY_BYTES
from pramana_core.wire.parts import key_words

Rows = slice | npt.NDArray[np.intp]
"""Ascending row positions of records in a source."""

AT_MOST = 1 << 17
"""Default maximum records of a source in a range."""

_BITS = 16
"""Sources compared per step. Their combinations must be few enough to count in an array."""


@dataclass(frozen=True)
class KeyRange:
    """The records whose pseudonyms are in one range, as a slice of rows for each source."""

    slices: tuple[slice, ...]


@dataclass(frozen=True)
class RecordGroup:
    """The records that exactly certain sources have. `rows` lists them in one order for all these
    sources, and is None for other sources.
    """

    rows: tuple[Rows | None, ...]
    records: int

    @property
    def sources(self) -> tuple[bool, ...]:
        """For each source, whether it has these records."""
        return tuple(rows is not None for rows in self.rows)


def groups_in_ranges(keys: Sequence[KeyText]) -> Iterator[RecordGroup]:
    """Yield all records, range by range, grouped by the sources that have them."""
    for within in key_ranges(keys):
        yield from record_groups(keys, within)


def record_counts(keys: Sequence[KeyText]) -> dict[tuple[bool, ...], int]:
    """Return the count of records for each exact set of sources that occurs."""
    found: Counter[tuple[bool, ...]] = Counter()
    for group in groups_in_ranges(keys):
        found[group.sources] += group.records
    return dict(sorted(found.items()))


def record_sets(keys: Sequence[KeyText]) -> list[RecordGroup]:
    """Return all records, grouped by the sources that have them."""
    found: dict[tuple[bool, ...], list[RecordGroup]] = {}
    for group in groups_in_ranges(keys):
        found.setdefault(group.sources, []).append(group)
    return [_join(found[sources], keys) for sources in sorted(found)]


def _join(groups: Sequence[RecordGroup], keys: Sequence[KeyText]) -> RecordGroup:
    rows = tuple(
        None
        if any(part is None for part in parts)
        else np.concatenate([np.arange(len(own))[part] for part in parts if part is not None])
        for own, parts in zip(keys, zip(*(g.rows for g in groups), strict=True), strict=True)
    )
    return RecordGroup(rows, sum(group.records for group in groups))


def common_rows(keys: Sequence[KeyText]) -> list[Rows]:
    """Return, for each source, the rows of the records that all sources have."""
    for found in record_sets(keys):
        if all(found.sources):
            return [rows for rows in found.rows if rows is not None]
    return [slice(0, 0)] * len(keys)


def key_ranges(keys: Sequence[KeyText], at_most: int = AT_MOST) -> Iterator[KeyRange]:
    """Yield ascending ranges of pseudonyms with at most `at_most` records per source."""
    at = [0] * len(keys)
    while any(start < len(own) for start, own in zip(at, keys, strict=True)):
        # The next range begins where some source would exceed `at_most`.
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
    """Return the records of a range, grouped by the sources that have them."""
    parts = [own[part] for own, part in zip(keys, within.slices, strict=True)]
    sizes = [len(own) for own in parts]
    if len(set(sizes)) == 1 and all(np.array_equal(own, parts[0]) for own in parts[1:]):
        return [RecordGroup(within.slices, sizes[0])] if sizes[0] else []
    patterns = _patterns(parts)
    own_patterns = np.split(patterns, np.cumsum(sizes)[:-1])
    found = []
    for number in np.flatnonzero(np.bincount(patterns)):
        chosen = [np.flatnonzero(own == number) for own in own_patterns]
        rows = tuple(
            None if not len(own) else part if len(own) == size else part.start + own
            for part, own, size in zip(within.slices, chosen, sizes, strict=True)
        )
        found.append(RecordGroup(rows, max(map(len, chosen))))
    return found


def _patterns(parts: Sequence[KeyText]) -> npt.NDArray[np.intp]:
    """Return an integer per record, small enough to count, that identifies the record's sources."""
    words = key_words(np.concatenate(parts).view(f"V{KEY_BYTES}"))
    # A stable sort merges ascending runs. The first halves nearly always decide.
    order = np.argsort(words[:, 0], kind="stable")
    first, second = words[order].T
    again = first[1:] == first[:-1]
    if not np.array_equal(second[1:][again], second[:-1][again]):
        order = np.lexsort((words[:, 1], words[:, 0]))
        first, second = words[order].T
        again = (first[1:] == first[:-1]) & (second[1:] == second[:-1])
    starts = np.flatnonzero(np.concatenate([[True], ~again]))
    pattern = np.zeros(len(starts), dtype=np.intp)
    for low in range(0, len(parts), _BITS):
        bits = [
            1 << place - low if low <= place < low + _BITS else 0 for place in range(len(parts))
        ]
        marks = np.repeat(np.array(bits, dtype=np.intp), [len(own) for own in parts])[order]
        pattern = (pattern << _BITS) + np.add.reduceat(marks, starts)
        if low:
            _, pattern = np.unique(pattern, return_inverse=True)
    found = np.empty(len(order), dtype=np.intp)
    found[order] = np.repeat(pattern, np.diff(starts, append=len(order)))
    return found
