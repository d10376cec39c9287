"""How many records report sets of items: each set counted once, from packed bits or from tables.

What was counted stays in a trie kept in arrays (Ma 7.1.1): a node is an itemset, its key the number
of its parent, the itemset without its last item, and that item.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from pramana_core.marginals.counts import ReportedCounts, ReportTables
from pramana_core.marginals.support_counts import Indices, Item
from pramana_core.progress import Tick

Count = Callable[[Indices], Indices]
"""Counts the records that report each of n itemsets, rows of shape (n, k)."""

_WORD_BITS = 64


class ReportedSupports:
    """Counts of records by the items they report.

    Args:
        count: counts itemsets that were not counted before.
        items: the number of items.
        records: the number of records, which is the count of the empty set.
    """

    def __init__(self, count: Count, items: int, records: int):
        self._count = count
        self._items = items
        self._root = np.array([records], dtype=np.int64)
        self._levels: list[_Level] = []

    def of(self, itemsets: Indices) -> Indices:
        """Return the counts of itemsets, rows of shape (n, k), each ascending."""
        if itemsets.shape[1] == 0:
            return np.broadcast_to(self._root, len(itemsets))
        nodes = np.zeros(len(itemsets), dtype=np.int64)
        for depth in range(itemsets.shape[1]):
            if depth == len(self._levels):
                self._levels.append(_Level())
            level, keys = self._levels[depth], nodes * self._items + itemsets[:, depth]
            fresh, first = np.unique(keys, return_index=True)
            new = ~level.has(fresh)
            if new.any():
                level.add(fresh[new], self._count(itemsets[first[new], : depth + 1]))
            nodes = level.find(keys)
        return level.counts[nodes]


class _Level:
    """The nodes of one depth: their keys in order, and their counts in order of arrival."""

    def __init__(self) -> None:
        self._keys = np.zeros(0, dtype=np.int64)
        self._nodes = np.zeros(0, dtype=np.int64)
        self.counts = np.zeros(0, dtype=np.int64)

    def has(self, keys: Indices) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        places = np.searchsorted(self._keys, keys)
        inside = places < len(self._keys)
        inside[inside] = self._keys[places[inside]] == keys[inside]
        return inside

    def add(self, keys: Indices, counts: Indices) -> None:
        """Add nodes; `keys` ascend and are not there yet."""
        places = np.searchsorted(self._keys, keys)
        fresh = np.arange(len(self.counts), len(self.counts) + len(keys))
        self._keys = np.insert(self._keys, places, keys)
        self._nodes = np.insert(self._nodes, places, fresh)
        self.counts = np.concatenate([self.counts, counts])

    def find(self, keys: Indices) -> Indices:
        found: Indices = self._nodes[np.searchsorted(self._keys, keys)]
        return found


def reported_supports(reports: ReportTables, items: Sequence[Item], tick: Tick) -> ReportedSupports:
    """Return what counts reported itemsets the faster way.

    `tick` is called for each prefix or table; what it raises stops the count.

    Packed bits cost a pass over an eighth of a byte per record and itemset; tables one over all
    cells per set of variables. So tables serve where the cells are few for the records, and where
    only tables are known.
    """
    packed = isinstance(reports, ReportedCounts) and _WORD_BITS * reports.cells > reports.records
    way = _packed if packed else _tabulated
    count = way(reports, items, tick)  # type: ignore[arg-type]
    return ReportedSupports(count, len(items), reports.records)


def _packed(reports: ReportedCounts, items: Sequence[Item], tick: Tick) -> Count:
    listed = [_words(reports.column(name) == code) for name, code in items]
    bits = np.array(listed, dtype=np.uint64)

    def count(itemsets: Indices) -> Indices:
        counts = np.zeros(len(itemsets), dtype=np.int64)
        # The rows are in order: those of one prefix follow each other, and share its bits.
        ends = np.flatnonzero((itemsets[1:, :-1] != itemsets[:-1, :-1]).any(axis=1)) + 1
        for start, end in zip([0, *ends], [*ends, len(itemsets)], strict=True):
            tick()
            prefix = np.bitwise_and.reduce(bits[itemsets[start, :-1]], axis=0)
            for row in range(start, end):
                both = prefix & bits[itemsets[row, -1]]
                counts[row] = np.bitwise_count(both).sum(dtype=np.int64)
        return counts

    return count


def _words(flags: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Indices:
    octets = np.packbits(flags)
    padded = np.zeros(math.ceil(len(octets) / 8) * 8, dtype=np.uint8)
    padded[: len(octets)] = octets
    return padded.view(np.uint64)


def _tabulated(reports: ReportTables, items: Sequence[Item], tick: Tick) -> Count:
    names = sorted({name for name, _ in items})
    places = np.array([names.index(name) for name, _ in items])
    codes = np.array([code for _, code in items])

    def count(itemsets: Indices) -> Indices:
        counts = np.zeros(len(itemsets), dtype=np.int64)
        kinds, kind = np.unique(places[itemsets], axis=0, return_inverse=True)
        for number, axes in enumerate(kinds):
            tick()
            rows = np.flatnonzero(kind.ravel() == number)
            table = reports.table([names[axis] for axis in axes])
            counts[rows] = table[tuple(codes[itemsets[rows]].T)]
        return counts

    return count
