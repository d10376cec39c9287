"""Columns of a table that reveal a sensitive column, found by counting pairs of values.

To test whether a column reveals a sensitive column, the sensitive value of each record is guessed
from the other records with the same value in the first column. Unique ids therefore reveal nothing.
The column reveals the sensitive column if more than 99 % of the guesses are right, and if there are
at most half as many wrong guesses as when always guessing the most frequent value.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

SHARE = 0.99
"""A column reveals another only if more than this share of the guesses from it are right."""

OF_BASE = 0.5
"""The maximum number of wrong guesses, relative to always guessing the most frequent value."""

LEAST_RECORDS = 20
"""With fewer records, columns agree by chance."""

DENSE_CELLS = 1 << 16
MOST_PAIRS = 1 << 22
"""Maximum number of pairs of values counted; a column that reveals another has few of them."""

EXACT = 400
"""Up to this many pairs of columns are counted in all records, more pairs in fewer records."""

_Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Giveaway:
    """A column, the column that it reveals, and the share of records with a right guess."""

    column: str
    of: str
    share: float


class _Pair:
    """The counts of each pair of codes of two columns, with the key `first * size + second`."""

    def __init__(self, size: int, other: int):
        self.size = other
        self._cells = size * other
        dense = self._cells <= DENSE_CELLS
        self.keys = np.arange(self._cells if dense else 0, dtype=np.int64)
        self.counts = np.zeros(len(self.keys), dtype=np.int64)

    def add(self, giver: _Counts, sensitive: _Counts) -> None:
        keys = giver * self.size + sensitive
        if len(self.keys) == self._cells:
            self.counts += np.bincount(keys, minlength=self._cells)
            return
        found, made = np.unique(keys, return_counts=True)
        together = np.concatenate([self.keys, found])
        self.keys, places = np.unique(together, return_inverse=True)
        weights = np.concatenate([self.counts, made])
        self.counts = np.bincount(places, weights, len(self.keys)).astype(np.int64)

    def errors(self) -> int:
        starts = np.flatnonzero(np.diff(self.keys // self.size, prepend=-1))
        return int(self.counts.sum() - np.maximum.reduceat(self.counts, starts).sum())


class PairCounts:
    """Counts pairs of values by chunks, and drops pairs of columns that cannot be giveaways."""

    def __init__(
        self, sizes: Mapping[str, int], givers: Collection[str], sensitive: Collection[str]
    ):
        """Prepare the counts; `sizes` has each column's number of categories.

        Columns of `givers` may reveal columns of `sensitive`.
        """
        both = [(a, b) for a in givers for b in sensitive if a != b]
        self._pairs = {(a, b): _Pair(sizes[a], sizes[b]) for a, b in both}
        self._step = -(-len(both) // EXACT) or 1

    def add(
        self, columns: Mapping[str, npt.NDArray[np.integer[Any]]], most: float = math.inf
    ) -> None:
        """Count the next records by their codes; the table can have at most `most` records."""
        names = {name for pair in self._pairs for name in pair}
        wide = {name: columns[name][:: self._step].astype(np.int64) for name in names}
        for both, pair in list(self._pairs.items()):
            pair.add(*(wide[name] for name in both))
            allowed = (1 - SHARE) * most / self._step
            if len(pair.keys) > MOST_PAIRS or pair.errors() > allowed + 1:
                del self._pairs[both]

    def giveaways(self) -> list[Giveaway]:
        """Return each column that reveals a sensitive one."""
        shares = {names: _given_away(pair) for names, pair in self._pairs.items()}
        return [Giveaway(*names, share) for names, share in shares.items() if share is not None]


def _given_away(pair: _Pair) -> float | None:
    """Return the share of right guesses if the first column reveals the second, otherwise None."""
    there = pair.counts > 0
    if not there.any():
        return None
    counts = pair.counts[there]
    group, value = np.divmod(pair.keys[there], pair.size)
    # The largest count of each group comes first. Keys are sorted, so groups are contiguous.
    order = np.lexsort((-counts, group))
    group, value, counts = group[order], value[order], counts[order]
    first = np.r_[True, group[1:] != group[:-1]]
    best = np.flatnonzero(first)
    # A guess is right if the record has its group's most frequent value, even without this record.
    following = np.r_[counts[1:], 0] * ~np.r_[first[1:], True]
    right = int(counts[best][counts[best] - 1 > following[best]].sum())
    judged = np.repeat(np.add.reduceat(counts, best) > 1, np.diff(np.r_[best, len(group)]))
    records = int(counts[judged].sum())
    if records < LEAST_RECORDS:
        return None
    base = records - int(np.bincount(value[judged], counts[judged]).max())
    errors = records - right
    if base == 0 or errors > (1 - SHARE) * records or errors > OF_BASE * base:
        return None
    return 1 - errors / records
