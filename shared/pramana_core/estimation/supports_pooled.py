"""Supports of itemsets from pooled tables.

Single items, pairs and jointly reported itemsets are cells of tables. Longer itemsets have the
largest entropy given the supports of their pairs (Pavlov, Mannila and Smyth 2003). Errors are for
the population, by the delta method; given the items, errors of pairs are independent.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pramana_core.errors import LimitExceeded
from pramana_core.estimation.supports import TabulatedSupports, sides
from pramana_core.marginals.support_counts import (
    Flags,
    Floats,
    Indices,
    Item,
    RuleCounts,
    SupportCounts,
)

if TYPE_CHECKING:
    from pramana_core.marginals.counts import Marginals

LONGEST = 10
"""The maximum number of items of an itemset whose support is computed from pairs."""

_ROUNDS = 30
_AT_ONCE = 1 << 20
_LEAST = 1e-9


class PooledSupports:
    """Supports of items from pooled tables. `note` receives variables estimated from pairs."""

    def __init__(
        self,
        marginals: Marginals,
        items: tuple[Item, ...],
        note: Callable[[tuple[str, ...]], None] = lambda _names: None,
    ) -> None:
        self.marginals, self.items, self._note = marginals, items, note
        self._tables = TabulatedSupports(marginals, items)
        self._unshrunk = TabulatedSupports(marginals, items, unshrunk=True)
        self._axes = np.array([marginals.domain.axis(name) for name, _ in items], dtype=np.int64)
        self._codes = np.array([code for _, code in items], dtype=np.int64)
        self._known: set[tuple[int, int]] = set()
        # By item, and by pair of items; see `_Shares`.
        self._single = np.zeros((2, len(items)))
        self._pair = np.zeros((4, len(items), len(items)))

    def counts(self, itemsets: Indices) -> SupportCounts:
        read = self._read(itemsets)
        before = self._unshrunk.counts(itemsets[read])
        ways = [replace(self._tables.counts(itemsets[read]), before=before)]
        if not read.all():
            ways.append(self._modelled_counts(itemsets[~read]))
        return SupportCounts.merged(
            ways, [np.flatnonzero(read), np.flatnonzero(~read)][: len(ways)]
        )

    def rules(self, itemsets: Indices, antecedents: Flags) -> RuleCounts:
        read = self._read(itemsets)
        before = self._unshrunk.rules(itemsets[read], antecedents[read])
        ways = [replace(self._tables.rules(itemsets[read], antecedents[read]), before=before)]
        if not read.all():
            ways.append(self._modelled_rules(itemsets[~read], antecedents[~read]))
        return RuleCounts.merged(ways, [np.flatnonzero(read), np.flatnonzero(~read)][: len(ways)])

    def _read(self, itemsets: Indices) -> Flags:
        """Return which itemsets have a table, and note the others. Raises LimitExceeded."""
        if itemsets.shape[1] <= 2:
            return np.ones(len(itemsets), dtype=np.bool_)
        sets, place = np.unique(np.sort(self._axes[itemsets], axis=1), axis=0, return_inverse=True)
        read = np.zeros(len(sets), dtype=np.bool_)
        for row, axes in enumerate(sets.tolist()):
            names = tuple(self.marginals.domain.names[axis] for axis in axes)
            read[row] = self.marginals.can_estimate(names)
            if not read[row]:
                self._note(names)
        if itemsets.shape[1] > LONGEST and not read.all():
            raise LimitExceeded(
                f"Pairs give supports of at most {LONGEST} items, not of {itemsets.shape[1]}.",
                where="items",
                remedy="Limit the length of itemsets, or raise the minimum support.",
            )
        return read[place.ravel()]

    def _modelled_counts(self, itemsets: Indices) -> SupportCounts:
        records = self.marginals.records
        shares = self._shares(itemsets)
        support, slopes = shares.part(np.ones_like(itemsets, dtype=np.bool_))
        variance = np.square(support) * shares.covariance(slopes, slopes) * records**2
        return SupportCounts(records, support * records, variance, variance)

    def _modelled_rules(self, itemsets: Indices, antecedents: Flags) -> RuleCounts:
        records = self.marginals.records
        shares = self._shares(itemsets)
        parts = [shares.part(flags) for flags in sides(antecedents)]
        support = np.column_stack([part[0] for part in parts])
        error = np.empty((len(itemsets), 3, 3))
        for a, b in itertools.product(range(3), repeat=2):
            shared = shares.covariance(parts[a][1], parts[b][1])
            error[:, a, b] = support[:, a] * support[:, b] * shared * records**2
        return RuleCounts(records, support * records, error, error)

    def _shares(self, itemsets: Indices) -> _Shares:
        width = itemsets.shape[1]
        for a, b in itertools.combinations(range(width), 2):
            self._look_up(itemsets[:, a], itemsets[:, b])
        pair, weight, rest, spread = self._pair[:, itemsets[:, :, None], itemsets[:, None, :]]
        places = np.arange(width)
        spread[:, places, places] = self._single[1][itemsets]
        return _Shares(self._single[0][itemsets], pair, weight, rest, spread)

    def _look_up(self, first: Indices, second: Indices) -> None:
        for one, other in np.unique(
            np.column_stack([self._axes[first], self._axes[second]]), axis=0
        ):
            if (one, other) not in self._known:
                self._known |= {(one, other), (other, one)}
                self._take(*(np.flatnonzero(self._axes == axis) for axis in (one, other)))

    def _take(self, rows: Indices, columns: Indices) -> None:
        names = [self.items[items[0]][0] for items in (rows, columns)]
        table, records = self.marginals.marginal(names), self.marginals.records
        one, other = self._codes[rows], self._codes[columns]
        cells = np.ix_(one, other)
        weights = np.zeros((len(one) + len(other), *table.counts.shape))
        weights[np.arange(len(one)), one, :] = 1.0
        weights[len(one) + np.arange(len(other)), :, other] = 1.0
        margins = table.covariance_of(weights, population=True) / records**2
        crossed = table.covariance_with_cells(weights, population=True) / records**2
        place, at = np.arange(len(one))[:, None], np.arange(len(other))
        by_row = crossed[place, one[:, None], other]
        by_column = crossed[len(one) + at, one[:, None], other]
        variances = np.diagonal(margins)
        own = np.broadcast_to(variances[: len(one), None], by_row.shape)
        their = np.broadcast_to(variances[None, len(one) :], by_row.shape)
        both = margins[: len(one), len(one) :]
        of_margins = np.stack([own, both, both, their], axis=-1).reshape(*both.shape, 2, 2)
        with_margins = np.stack([by_row, by_column], axis=-1)
        follow = (np.linalg.pinv(of_margins, _DEPENDENT, hermitian=True) @ with_margins[..., None])[
            ..., 0
        ]
        variance = table.variance(population=True)[cells] / records**2
        rest = np.maximum(variance - (follow * with_margins).sum(axis=-1), 0.0)
        self._single[:, rows] = table.counts.sum(axis=1)[one] / records, variances[: len(one)]
        self._single[:, columns] = table.counts.sum(axis=0)[other] / records, variances[len(one) :]
        found = table.counts[cells] / records
        self._pair[:, rows[:, None], columns] = found, follow[..., 0], rest, both
        self._pair[:, columns[:, None], rows] = found.T, follow[..., 1].T, rest.T, both.T


_DEPENDENT = 1e-9


@dataclass(frozen=True, eq=False)
class _Shares:
    """Supports of the items of n itemsets of k items, and of their pairs."""

    single: Floats
    pair: Floats
    weight: Floats
    rest: Floats
    spread: Floats

    def part(self, flags: Flags) -> tuple[Floats, tuple[Floats, Floats]]:
        """Return the supports of each row's flagged items, and the derivatives of their logarithms.

        The derivatives are with respect to s_i, (n, k), and to s_ij, (n, k, k).
        """
        number, width = flags.shape
        support: Floats = np.ones(number)
        own, ties = np.zeros((number, width)), np.zeros((number, width, width))
        for kept in np.unique(flags, axis=0):
            rows = np.flatnonzero((flags == kept).all(axis=1))
            places = np.flatnonzero(kept)
            single = np.maximum(self.single[np.ix_(rows, places)], _LEAST)
            pair = np.maximum(self.pair[np.ix_(rows, places, places)], _LEAST)
            if len(places) == 1:
                made = single[:, 0], np.ones_like(single), np.zeros_like(pair)
            elif len(places) == 2:
                made = pair[:, 0, 1], np.zeros_like(single), np.ones_like(pair)
            else:
                made = _entropic(single, pair)
            support[rows], slopes, follows = made
            own[np.ix_(rows, places)] = slopes / single
            ties[np.ix_(rows, places, places)] = follows / pair
        places = np.arange(width)
        ties[:, places, places] = 0.0
        return support, (own, ties)

    def covariance(self, first: tuple[Floats, Floats], second: tuple[Floats, Floats]) -> Floats:
        """Return the covariance of the logarithms of the supports of two parts of each row."""
        by_single = [own + (ties * self.weight).sum(axis=2) for own, ties in (first, second)]
        found: Floats = np.einsum("ni,nij,nj->n", by_single[0], self.spread, by_single[1])
        found += (self.rest * first[1] * second[1]).sum(axis=(1, 2)) / 2
        return found


def _entropic(single: Floats, pair: Floats) -> tuple[Floats, Floats, Floats]:
    width = single.shape[1]
    most = max(1, _AT_ONCE >> (2 * width))
    parts = []
    for start in range(0, len(single), most):
        some = slice(start, start + most)
        tables = _entropic_tables(single[some], pair[some])
        parts.append((tables[:, -1], *_slopes(tables, width)))
    support, own, ties = (np.concatenate(part) for part in zip(*parts, strict=True))
    return support, own, ties


def _entropic_tables(single: Floats, pair: Floats) -> Floats:
    """Return the tables of largest entropy for the pairs' supports, (n, 2^k)."""
    number, width = single.shape
    single = np.clip(single, _LEAST, 1 - _LEAST)
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


def _slopes(tables: Floats, width: int) -> tuple[Floats, Floats]:
    bits = np.array(list(itertools.product((0.0, 1.0), repeat=width)))
    one, other = np.triu_indices(width, 1)
    statistics = np.hstack([bits, bits[:, one] * bits[:, other]])
    shares = tables / tables.sum(axis=1, keepdims=True)
    means = shares @ statistics
    number = statistics.shape[1]
    products = statistics[:, :, None] * statistics[:, None, :]
    spread = (shares @ products.reshape(len(bits), -1)).reshape(-1, number, number)
    spread -= means[:, :, None] * means[:, None, :]
    # Nearly empty cells leave a direction without information, in which nothing moves.
    spread += np.eye(number) * (_LEAST * np.trace(spread, axis1=1, axis2=2))[:, None, None]
    slopes = means * np.linalg.solve(spread, (1 - means)[:, :, None])[:, :, 0]
    ties = np.zeros((len(tables), width, width))
    ties[:, one, other] = ties[:, other, one] = slopes[:, width:]
    return slopes[:, :width], ties
