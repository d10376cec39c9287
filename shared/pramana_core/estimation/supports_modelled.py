"""Supports from pooled tables of pairs: single items and pairs as they are told, longer itemsets
from a model of the pairs.

The model is that of largest entropy over the items of a set for their pairs' supports (Pavlov,
Mannila and Smyth 2003), by iterative proportional fitting of all itemsets of a length at once;
above `ENTROPY_LENGTH` items the tree of their strongest dependences (Chow and Liu 1968), at the
cost of their pairs. Errors follow from those of the items and pairs, by the delta method,

    d log support = sum a_i d log s_i + sum b_e d log r_e ,  r_ij = s_ij / (s_i s_j) ,

with independent errors of all s_i and r_e. In a tree a is 1 and b is 1 of its links; in the table
of largest entropy p both follow from the derivative of its last cell by the mean parameters m,
(f - m)' C^-1, f the statistics of that cell and C their covariance under p. They suppose that the
model holds: no more than two items interact beyond what their pairs say.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pramana_core.marginals.score_interval import Tilt
from pramana_core.marginals.support_counts import (
    Flags,
    Floats,
    Indices,
    Item,
    RuleCounts,
    SupportCounts,
)
from pramana_core.ties import first_largest_of_rows

if TYPE_CHECKING:
    from pramana_core.marginals.counts import Marginals

ENTROPY_LENGTH = 6
"""Up to this many items a set's table of largest entropy is fitted: 2^6 cells."""

_ROUNDS = 30
_AT_ONCE = 1 << 20
_LEAST = 1e-9


@dataclass(frozen=True, eq=False)
class PairSupports:
    """Supports that are cells of the tables of pairs, or made of these; see the module."""

    marginals: Marginals
    items: tuple[Item, ...]
    note: Callable[[tuple[str, ...]], None] = lambda _names: None
    """Called with each set of variables whose supports are made of pairs."""

    def counts(self, itemsets: Indices) -> SupportCounts:
        """Return the estimated counts of itemsets; see `Supports`."""
        records = self.marginals.records
        if itemsets.shape[1] > 2 and len(itemsets):
            for axes in np.unique(np.sort(self._axes[itemsets], axis=1), axis=0).tolist():
                self.note(tuple(self.marginals.domain.names[axis] for axis in axes))
        if itemsets.shape[1] <= 2:
            support, noise, sampled = self._told(itemsets)
        else:
            support, *follows = self._part(itemsets, np.ones_like(itemsets, dtype=np.bool_))
            noise, sampled = (
                np.square(support) * self._shared(itemsets, error, follows, follows)
                for error in (0, 1)
            )
        return SupportCounts(
            records,
            support * records,
            noise * records**2,
            sampled * records**2,
            Tilt.flat(support.shape),
        )

    def rules(self, itemsets: Indices, antecedents: Flags) -> RuleCounts:
        """Return the estimated counts of itemsets and their parts; see `Supports`."""
        records = self.marginals.records
        sides = (np.ones_like(antecedents), antecedents, ~antecedents)
        parts = [self._part(itemsets, flags) for flags in sides]
        support = np.column_stack([part[0] for part in parts])
        errors = np.empty((2, len(itemsets), 3, 3))
        for error, (a, b) in itertools.product((0, 1), itertools.product(range(3), repeat=2)):
            shared = self._shared(itemsets, error, parts[a][1:], parts[b][1:])
            errors[error, :, a, b] = support[:, a] * support[:, b] * shared
        noise, sampled = errors * records**2
        return RuleCounts(records, support * records, noise, sampled, Tilt.flat(support.shape))

    @cached_property
    def _axes(self) -> Indices:
        return np.array([self.marginals.domain.axis(name) for name, _ in self.items])

    @cached_property
    def _codes(self) -> Indices:
        return np.array([code for _, code in self.items])

    @cached_property
    def _single(self) -> Floats:
        """Of each item its support and the two errors' variances, shape (3, items)."""
        found = np.zeros((3, len(self.items)))
        for axis in np.unique(self._axes):
            rows = np.flatnonzero(self._axes == axis)
            found[:, rows] = self._cells([self.marginals.domain.names[axis]], (self._codes[rows],))
        return found

    @cached_property
    def _pair(self) -> Floats:
        """The same of pairs of items, shape (3, items, items); NaN where not yet looked up."""
        return np.full((3, len(self.items), len(self.items)), np.nan)

    def _cells(self, names: list[str], cells: tuple[Indices, ...]) -> Floats:
        table, records = self.marginals.marginal(names), self.marginals.records
        errors = [table.variance(population=population)[cells] for population in (False, True)]
        return np.stack([table.counts[cells] / records, *(e / records**2 for e in errors)])

    def _told(self, itemsets: Indices) -> Floats:
        """Return supports and variances of single items or pairs, shape (3, n)."""
        if itemsets.shape[1] == 1:
            return self._single[:, itemsets[:, 0]]
        first, second = itemsets.T
        missing = np.isnan(self._pair[0, first, second])
        wanted = np.unique(
            np.column_stack([self._axes[first], self._axes[second]])[missing], axis=0
        )
        for one, other in wanted:
            rows, columns = (np.flatnonzero(self._axes == axis) for axis in (one, other))
            names = [self.marginals.domain.names[axis] for axis in (one, other)]
            found = self._cells(names, tuple(np.ix_(self._codes[rows], self._codes[columns])))
            self._pair[:, rows[:, None], columns] = found
            self._pair[:, columns[:, None], rows] = found.transpose(0, 2, 1)
        return self._pair[:, first, second]

    def _part(self, itemsets: Indices, flags: Flags) -> tuple[Floats, Floats, Floats]:
        """Return the supports of the flagged items of each row, and how they follow from others.

        The last two are a, (n, k), and b, (n, k, k), of the module: 0 of what is not flagged.
        """
        number, width = itemsets.shape
        support: Floats = np.ones(number)
        own, ties = np.zeros((number, width)), np.zeros((number, width, width))
        single: Floats
        pair: Floats
        sizes = flags.sum(axis=1)
        for size in np.unique(sizes):
            rows = np.flatnonzero(sizes == size)
            places = np.nonzero(flags[rows])[1].reshape(len(rows), size)
            part = np.take_along_axis(itemsets[rows], places, axis=1)
            if 2 < size <= ENTROPY_LENGTH:
                found, single, pair = self._entropic(part)
            else:
                found = self._told(part)[0] if size <= 2 else self._tree_supports(part)
                single, pair = np.ones(part.shape), self._links(part).astype(np.float64)
            support[rows] = found
            own[rows[:, None], places] = single
            ties[rows[:, None, None], places[:, :, None], places[:, None, :]] = pair
        return support, own, ties

    def _pairs_of(self, itemsets: Indices) -> Floats:
        """Return supports and variances of all pairs within rows, shape (3, n, k, k)."""
        width = itemsets.shape[1]
        found = np.ones((3, len(itemsets), width, width))
        for a, b in itertools.combinations(range(width), 2):
            found[:, :, a, b] = found[:, :, b, a] = self._told(itemsets[:, [a, b]])
        return found

    def _entropic(self, itemsets: Indices) -> tuple[Floats, Floats, Floats]:
        """Return the supports by the tables of largest entropy, and their a and b."""
        most = max(1, _AT_ONCE >> (2 * itemsets.shape[1]))
        parts = []
        for start in range(0, len(itemsets), most):
            tables = self._tables(itemsets[start : start + most])
            parts.append((tables[:, -1], *_slopes(tables, itemsets.shape[1])))
        support, own, ties = (np.concatenate(part) for part in zip(*parts, strict=True))
        return support, own, ties

    def _tables(self, itemsets: Indices) -> Floats:
        """Return the tables of largest entropy for the pairs' supports, (n, 2^k)."""
        number, width = itemsets.shape
        single = np.clip(self._single[0][itemsets], _LEAST, 1 - _LEAST)
        pair = self._pairs_of(itemsets)[0]
        table = np.ones((number, *[1] * width))
        for place in range(width):
            both = np.stack([1 - single[:, place], single[:, place]], axis=1)
            table = table * both.reshape(number, *(2 if p == place else 1 for p in range(width)))
        for _ in range(_ROUNDS):
            for a, b in itertools.combinations(range(width), 2):
                both = np.clip(
                    pair[:, a, b],
                    np.maximum(single[:, a] + single[:, b] - 1, 0) + _LEAST,
                    np.minimum(single[:, a], single[:, b]) - _LEAST / 2,
                )
                wanted = np.empty((number, 2, 2))
                wanted[:, 1, 1] = both
                wanted[:, 1, 0] = single[:, a] - both
                wanted[:, 0, 1] = single[:, b] - both
                wanted[:, 0, 0] = 1 - single[:, a] - single[:, b] + both
                gone = tuple(p + 1 for p in range(width) if p not in (a, b))
                now = np.maximum(table.sum(axis=gone), _LEAST**2)
                ratio = np.maximum(wanted, _LEAST**2) / now
                table = table * np.expand_dims(ratio, gone)
        found: Floats = table.reshape(number, -1)
        return found

    def _tree_supports(self, itemsets: Indices) -> Floats:
        """Return the supports by the trees of the items' strongest dependences."""
        links = self._links(itemsets)
        single = np.maximum(self._single[0][itemsets], _LEAST)
        ratio = self._ratios(itemsets)
        logs = np.log(single).sum(axis=1) + (np.log(ratio) * links).sum(axis=(1, 2)) / 2
        most = self._pairs_of(itemsets)[0].min(axis=(1, 2))
        found: Floats = np.minimum(np.exp(logs), most)
        return found

    def _ratios(self, itemsets: Indices) -> Floats:
        """Return r of all pairs within rows (see the module), shape (n, k, k)."""
        single = np.maximum(self._single[0][itemsets], _LEAST)
        pair = np.maximum(self._pairs_of(itemsets)[0], _LEAST)
        ratio: Floats = pair / (single[:, :, None] * single[:, None, :])
        return ratio

    def _links(self, itemsets: Indices) -> Flags:
        """Return the links of each row's tree over its items, shape (n, k, k).

        The largest spanning tree (Prim 1957), by the correlation of the items.
        """
        number, width = itemsets.shape
        single = np.clip(self._single[0][itemsets], _LEAST, 1 - _LEAST)
        pair = self._pairs_of(itemsets)[0]
        spread = np.sqrt(single * (1 - single))
        product = single[:, :, None] * single[:, None, :]
        weight = np.abs(pair - product) / (spread[:, :, None] * spread[:, None, :])
        rows = np.arange(number)
        links = np.zeros((number, width, width), dtype=np.bool_)
        inside = np.zeros((number, width), dtype=np.bool_)
        inside[:, 0] = True
        for _ in range(width - 1):
            allowed = inside[:, :, None] & ~inside[:, None, :]
            offered = np.where(allowed, weight, -1.0).reshape(number, -1)
            best = first_largest_of_rows(offered, scale=1.0)
            one, other = np.divmod(best, width)
            links[rows, one, other] = links[rows, other, one] = True
            inside[rows, other] = True
        return links

    def _shared(
        self,
        itemsets: Indices,
        error: int,
        first: Sequence[Floats],
        second: Sequence[Floats],
    ) -> Floats:
        """Return the covariance of the logarithms of the supports of two parts of each row.

        Args:
            itemsets: the rows.
            error: 0 given the records, 1 against the population.
            first, second: a and b of each part.
        """
        single = np.maximum(self._single[0][itemsets], _LEAST)
        own = np.maximum(self._single[1 + error][itemsets], 0.0) / np.square(single)
        pairs = self._pairs_of(itemsets)
        of_pair = np.maximum(pairs[1 + error], 0.0) / np.square(np.maximum(pairs[0], _LEAST))
        # What is left of a pair's error besides that of its items.
        left = np.maximum(of_pair - own[:, :, None] - own[:, None, :], 0.0)
        found: Floats = (own * first[0] * second[0]).sum(axis=1)
        found += (left * first[1] * second[1]).sum(axis=(1, 2)) / 2
        return found


def _slopes(tables: Floats, width: int) -> tuple[Floats, Floats]:
    """Return a and b (see the module) of the last cells of tables of largest entropy."""
    bits = np.array(list(itertools.product((0.0, 1.0), repeat=width)))
    one, other = np.triu_indices(width, 1)
    statistics = np.hstack([bits, bits[:, one] * bits[:, other]])
    shares = tables / tables.sum(axis=1, keepdims=True)
    means = shares @ statistics
    number = statistics.shape[1]
    products = statistics[:, :, None] * statistics[:, None, :]
    spread = (shares @ products.reshape(len(bits), -1)).reshape(-1, number, number)
    spread -= means[:, :, None] * means[:, None, :]
    # Where cells are all but empty a direction has no information; nothing is known to move it.
    spread += np.eye(number) * (_LEAST * np.trace(spread, axis1=1, axis2=2))[:, None, None]
    slopes = means * np.linalg.solve(spread, (1 - means)[:, :, None])[:, :, 0]
    ties = np.zeros((len(tables), width, width))
    ties[:, one, other] = ties[:, other, one] = slopes[:, width:]
    return slopes[:, :width] + ties.sum(axis=2), ties
