"""Candidates of the next length from the itemsets kept at this one (Agrawal and Srikant; Ma 7.1.1).

Itemsets of one length are the rows of an array, each row ascending and the rows in lexicographic
order. A trie over them is an array per length: a node is named by its place among those of its
length, and found by the number (place of its prefix) * items + (last item).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pramana_core.errors import LimitExceeded
from pramana_core.marginals.support_counts import Indices

MOST_CANDIDATES = 1_000_000
"""A length with more candidates than this is refused."""


@dataclass(frozen=True, eq=False)
class Trie:
    """Itemsets of all lengths up to some; every prefix of one is there too.

    Attributes:
        items: the number of items.
        keys: for each length the ascending numbers of its itemsets.
    """

    items: int
    keys: tuple[Indices, ...] = ()

    def grown(self, rows: Indices) -> Trie:
        """Return this trie with the itemsets of the next length: rows in lexicographic order."""
        prefix = self.find(rows[:, :-1])
        return Trie(self.items, (*self.keys, prefix * self.items + rows[:, -1]))

    def find(self, rows: Indices) -> Indices:
        """Return the place of each row among the itemsets of its length, -1 where it is not."""
        place = np.zeros(len(rows), dtype=np.int64)
        for keys, item in zip(self.keys, rows.T, strict=False):
            # Behind a prefix that is not there the number is negative, and found nowhere.
            wanted = place * self.items + item
            at = np.searchsorted(keys, wanted)
            seen = np.append(keys, -1)[at] == wanted
            place = np.where(seen, at, -1)
        return place


def next_candidates(
    trie: Trie,
    rows: Indices,
    variables: Indices,
    most: int = MOST_CANDIDATES,
    at_once: int = 1 << 20,
) -> tuple[Indices, Indices]:
    """Return the itemsets one item longer all of whose subsets one item shorter are kept.

    Args:
        trie: the kept itemsets of all lengths up to k.
        rows: those of length k, shape (n, k).
        variables: a number per item; items of one variable never stand together.
        most: the most candidates allowed.
        at_once: about how many pairs are joined at once.

    Returns:
        The candidates, shape (m, k + 1), in lexicographic order, and in the same shape the place
        in `rows` of the subset that lacks the item at that position.

    Raises:
        LimitExceeded: more than `most` candidates.
    """
    found = []
    number = 0
    for left, right in _pairs(trie.keys[-1] // trie.items, at_once):
        apart = variables[rows[left, -1]] != variables[rows[right, -1]]
        found.append(_pruned(trie, rows, left[apart], right[apart]))
        number += len(found[-1][0])
        if number > most:
            raise LimitExceeded(
                f"There are more than {most} candidate itemsets of {rows.shape[1] + 1} items.",
                where="minimum_support",
                remedy="Raise the minimum support, choose fewer items or set a smaller max_length.",
            )
    width = rows.shape[1] + 1
    nothing = np.zeros((0, width), dtype=np.int64)
    candidates, subsets = zip(*found, strict=True) if found else ([nothing], [nothing])
    return np.concatenate(candidates), np.concatenate(subsets)


def _pairs(prefix: Indices, at_once: int) -> Iterator[tuple[Indices, Indices]]:
    """Yield the pairs of rows that share a prefix, first before second, in pieces."""
    places = np.arange(len(prefix))
    partners = np.searchsorted(prefix, prefix, side="right") - places - 1
    before = np.cumsum(partners) - partners
    for piece in np.split(places, np.flatnonzero(np.diff(before // at_once)) + 1):
        left = np.repeat(piece, partners[piece])
        if len(left):
            first = np.repeat(before[piece], partners[piece])
            yield left, left + 1 + np.arange(len(left)) + before[piece[0]] - first


def _pruned(trie: Trie, rows: Indices, left: Indices, right: Indices) -> tuple[Indices, Indices]:
    """Return the joined pairs whose other subsets are kept too, and where their subsets are."""
    candidates = np.column_stack([rows[left], rows[right, -1]])
    subsets = np.column_stack([np.zeros_like(rows[left]), left])
    subsets[:, -2] = right
    for position in range(rows.shape[1] - 1):
        place = trie.find(np.delete(candidates, position, axis=1))
        kept = place >= 0
        subsets[:, position] = place
        candidates, subsets = candidates[kept], subsets[kept]
    return candidates, subsets
