"""Supports of itemsets from marginal tables: for any marginals, a table per set of variables.

Supports from pooled tables of pairs: single items and pairs as they are told, longer itemsets from
a model of the pairs. The model is that of largest entropy over the items of a set for their pairs'
supports (Pavlov, Mannila and Smyth 2003), by iterative proportional fitting of all itemsets of a
length at once; above `ENTROPY_LENGTH` items the tree of their strongest dependences (Chow and Liu
1968), at the cost of their pairs. Errors follow from those of the items and pairs, by the delta
method,

    d log support = sum a_i d log s_i + sum b_e d log r_e ,  r_ij = s_ij / (s_i s_j) ,

with independent errors of all s_i and r_e. In a tree a is 1 and b is 1 of its links; in the table
of largest entropy p both follow from the derivative of its last cell by the mean parameters m,
(f - m)' C^-1, f the statistics of that cell and C their covariance under p. They suppose that the
model holds: no more than two items interact beyond what their pairs say.

Also here:

* How many records report sets of items: each set counted once, from packed bits or from tables.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pramana_core.domain import Domain
from pramana_core.errors import DomainError
from pramana_core.estimation.weights import SourceWeights
from pramana_core.marginals.counts import (
    RecordTables,
    ReportedCounts,
    ReportTables,
    Supports,
    Tensor,
)
from pramana_core.marginals.passes import CountedRecords
from pramana_core.marginals.score_interval import Tilt
from pramana_core.marginals.support_counts import (
    Flags,
    Floats,
    Indices,
    Item,
    RuleCounts,
    SupportCounts,
)
from pramana_core.progress import Tick
from pramana_core.ties import first_largest_of_rows

if TYPE_CHECKING:
    from pramana_core.marginals.counts import Marginals


@dataclass(frozen=True, eq=False)
class TabulatedSupports:
    """Supports that are cells of marginal tables; all itemsets over some variables share one."""

    marginals: Marginals
    items: tuple[Item, ...]

    def counts(self, itemsets: Indices) -> SupportCounts:
        """Return the estimated counts of itemsets; see `Supports`."""
        found, tilts = np.zeros((3, len(itemsets))), np.zeros((3, len(itemsets)))
        for rows, names, cells in self._by_variables(itemsets):
            table = self.marginals.marginal(names)
            found[0, rows] = table.counts[cells]
            for error, population in ((1, False), (2, True)):
                found[error, rows] = table.variance(population=population)[cells]
            tilts[:, rows] = [part[cells] for part in table.tilt().numbers]
        counts, noise, sampled = found
        return SupportCounts(self.marginals.records, counts, noise, sampled, Tilt(*tilts))

    def rules(self, itemsets: Indices, antecedents: Flags) -> RuleCounts:
        """Return the estimated counts of itemsets and their parts; see `Supports`."""
        counts, errors = np.zeros((len(itemsets), 3)), np.zeros((2, len(itemsets), 3, 3))
        tilts = np.zeros((3, len(itemsets), 3))
        for rows, names, cells in self._by_variables(itemsets):
            table = self.marginals.marginal(names)
            for place, row in enumerate(rows):
                cell = tuple(int(axis[place]) for axis in cells)
                weights = _parts(table.counts.shape, cell, antecedents[row])
                counts[row] = (weights * table.counts).reshape(3, -1).sum(axis=1)
                for error in (0, 1):
                    errors[error, row] = table.covariance_of(weights, population=error == 1)
            for part, flags in enumerate(_sides(antecedents[rows])):
                tilts[:, rows, part] = self._tilts(names, cells, flags)
        noise, sampled = errors
        return RuleCounts(self.marginals.records, counts, noise, sampled, Tilt(*tilts))

    def _tilts(self, names: Sequence[str], cells: tuple[Indices, ...], flags: Flags) -> Floats:
        """Return the tilts of the flagged items of each cell, shape (3, cells).

        They are those of the flagged variables' own tables.
        """
        found = np.zeros((3, len(flags)))
        kinds, kind = np.unique(flags, axis=0, return_inverse=True)
        for number, kept in enumerate(kinds):
            rows = np.flatnonzero(kind.ravel() == number)
            own = tuple(axis[rows] for axis, keep in zip(cells, kept, strict=True) if keep)
            table = self.marginals.marginal(list(itertools.compress(names, kept)))
            found[:, rows] = [part[own] for part in table.tilt().numbers]
        return found

    def _by_variables(
        self, itemsets: Indices
    ) -> Iterator[tuple[Indices, list[str], tuple[Indices, ...]]]:
        """Yield sets of itemsets over the same variables: rows, variables, and cells by axis."""
        domain = self.marginals.domain
        variables = np.array([domain.axis(name) for name, _ in self.items])[itemsets]
        codes = np.array([code for _, code in self.items])[itemsets]
        kinds, kind = np.unique(variables, axis=0, return_inverse=True)
        for number, axes in enumerate(kinds):
            rows = np.flatnonzero(kind.ravel() == number)
            names = [domain.names[axis] for axis in axes]
            yield rows, names, tuple(codes[rows].T)


@dataclass(frozen=True, eq=False)
class DividedSupports:
    """Supports of itemsets in two ways: of those that the first serves, and of all others.

    `served` says which itemsets these are.
    """

    first: Supports
    second: Supports
    served: Callable[[Indices], Flags]

    @classmethod
    def by_items(cls, first: Supports, second: Supports, quick: Flags) -> DividedSupports:
        """Return those of which the first way serves itemsets of some items alone."""
        return cls(first, second, lambda itemsets: np.asarray(quick[itemsets].all(axis=1)))

    @classmethod
    def told(cls, modelled: Supports, marginals: Marginals) -> DividedSupports:
        """Return modelled ones, and of three items and more that are told together the tables'."""
        axes = np.array([marginals.domain.axis(name) for name, _ in modelled.items])
        names = marginals.domain.names

        def served(itemsets: Indices) -> Flags:
            if itemsets.shape[1] <= 2:
                return np.zeros(len(itemsets), dtype=np.bool_)
            sets, place = np.unique(np.sort(axes[itemsets], axis=1), axis=0, return_inverse=True)
            estimable = [
                marginals.can_estimate([names[axis] for axis in one]) for one in sets.tolist()
            ]
            return np.array(estimable, dtype=np.bool_)[place.ravel()]

        return cls(TabulatedSupports(marginals, modelled.items), modelled, served)

    @property
    def items(self) -> tuple[Item, ...]:
        """The items."""
        return self.first.items

    def counts(self, itemsets: Indices) -> SupportCounts:
        """Return the estimated counts of itemsets; see `Supports`."""
        ways = self._ways(itemsets)
        parts = [way.counts(itemsets[rows]) for way, rows in ways]
        return SupportCounts.merged(parts, [rows for _, rows in ways])

    def rules(self, itemsets: Indices, antecedents: Flags) -> RuleCounts:
        """Return the estimated counts of itemsets and their parts; see `Supports`."""
        ways = self._ways(itemsets)
        parts = [way.rules(itemsets[rows], antecedents[rows]) for way, rows in ways]
        return RuleCounts.merged(parts, [rows for _, rows in ways])

    def _ways(self, itemsets: Indices) -> list[tuple[Supports, Indices]]:
        served = self.served(itemsets)
        ways = ((self.first, np.flatnonzero(served)), (self.second, np.flatnonzero(~served)))
        used = [(way, rows) for way, rows in ways if len(rows)]
        return used or [(self.first, np.flatnonzero(served))]


@dataclass(frozen=True, eq=False)
class CombinedSupports:
    """The weighted sums of supports in strata, different records of one population."""

    strata: tuple[Supports, ...]
    weights: SourceWeights | None

    @property
    def items(self) -> tuple[Item, ...]:
        """The items."""
        return self.strata[0].items

    def counts(self, itemsets: Indices) -> SupportCounts:
        """Return the estimated counts of itemsets; see `Supports`."""
        parts = [stratum.counts(itemsets) for stratum in self.strata]
        return SupportCounts.pooled(parts, self._factors(itemsets))

    def rules(self, itemsets: Indices, antecedents: Flags) -> RuleCounts:
        """Return the estimated counts of itemsets and their parts; see `Supports`."""
        parts = [stratum.rules(itemsets, antecedents) for stratum in self.strata]
        return RuleCounts.pooled(parts, self._factors(itemsets))

    def _factors(self, itemsets: Indices) -> Floats:
        if self.weights is None:
            return np.ones((len(self.strata), len(itemsets)))
        return self.weights.of_itemsets(self.items, itemsets)


def _sides(antecedents: Flags) -> tuple[Flags, Flags, Flags]:
    """Return which items are in the whole, the antecedent and the consequent of each rule."""
    return np.ones_like(antecedents), antecedents, ~antecedents


def _parts(shape: tuple[int, ...], cell: tuple[int, ...], antecedent: Flags) -> Floats:
    """Return the weights of a table's cells in a rule's whole, antecedent and consequent."""
    weights: Tensor = np.zeros((3, *shape))
    weights[(0, *cell)] = 1.0
    for part, kept in ((1, antecedent), (2, ~antecedent)):
        chosen = (code if keep else slice(None) for code, keep in zip(cell, kept, strict=True))
        weights[(part, *chosen)] = 1.0
    return weights


def require_items(domain: Domain, items: tuple[Item, ...]) -> None:
    """Check that items are categories of a domain's variables.

    Raises:
        UnknownVariable: a variable that is not there.
        DomainError: a code that is not a category, or an item named twice.
    """
    for name, code in items:
        if not 0 <= code < domain[name].size:
            raise DomainError(f"{name!r} has no category of code {code}.", where=name)
    if len(set(items)) < len(items):
        raise DomainError("An item is named twice.", where="items")


# How many records report sets of items: each set counted once, from packed bits or from tables.
#
# What was counted stays in a trie kept in arrays (Ma 7.1.1): a node is an itemset, its key the
# number of its parent, the itemset without its last item, and that item.

Count = Callable[[Indices], Indices]
"""Counts the records that report each of n itemsets, rows of shape (n, k)."""

_CELL_COST, _TABLES_AT_ONCE = 16, 256


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

    Packed bits cost a pass over an eighth of a byte per record and itemset; tables one over some of
    the cells per set of variables. So tables serve where the cells are few for the records, and
    where only tables are known.
    """
    if not isinstance(reports, CountedRecords) or _CELL_COST * reports.cells <= reports.records:
        count = _tabulated(reports, items, tick)
    elif isinstance(reports, ReportedCounts):
        count = _packed(reports, items, tick)
    else:

        def count(itemsets: Indices) -> Indices:
            return reports.counted(_ItemsetPass(tuple(items), itemsets), tick)

    return ReportedSupports(count, len(items), reports.records)


@dataclass(frozen=True, eq=False)
class _ItemsetPass:
    """A pass that counts the records with all items of each of some itemsets."""

    items: tuple[Item, ...]
    itemsets: Indices

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.items[place][0] for place in np.unique(self.itemsets)))

    def __call__(self, reports: ReportedCounts, tick: Tick, /) -> Indices:
        places, itemsets = np.unique(self.itemsets, return_inverse=True)
        asked = [self.items[place] for place in places]
        return _packed(reports, asked, tick)(itemsets.reshape(self.itemsets.shape))


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
        ordered = np.argsort(kind.ravel(), kind="stable")
        ends = np.searchsorted(kind.ravel()[ordered], np.arange(len(kinds) + 1))
        for first in range(0, len(kinds), _TABLES_AT_ONCE):
            asked = [[names[a] for a in axes] for axes in kinds[first : first + _TABLES_AT_ONCE]]
            for number, table in enumerate(_tables(reports, asked, tick), start=first):
                rows = ordered[ends[number] : ends[number + 1]]
                counts[rows] = table[tuple(codes[itemsets[rows]].T)]
        return counts

    return count


def _tables(
    reports: ReportTables, asked: Sequence[Sequence[str]], tick: Tick
) -> Iterator[npt.NDArray[np.int64]]:
    if isinstance(reports, RecordTables):
        tick()
        yield from reports.tables(asked, tick)
        return
    for names in asked:
        tick()
        yield reports.table(names)


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
