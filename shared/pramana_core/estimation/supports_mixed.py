"""Supports where every block is randomized by mixing: from counts of reported itemsets alone.

The inverse of a mixing channel is a I + b 11', for any of a block's variables (Ma proposition 7.2,
FRAPP eq. 28). So the estimator of "the record has these items of the block" is a y + b, where y
says whether the report has all of them; that of an itemset is the product over its blocks; and a
product of such factors is a sum over sets of blocks of a coefficient times the number of records
that report all items of the set: inclusion and exclusion (Ma proposition 7.4), in which no table of
2^k patterns is made or inverted. Squares and products of estimators are sums of the same counts.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pramana_core.channels import Transition
from pramana_core.errors import LimitExceeded, SingularChannel
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.marginals.passes import CountedRecords
from pramana_core.marginals.score_interval import MORE, Tilt
from pramana_core.marginals.support_counts import (
    Flags,
    Floats,
    Indices,
    Item,
    RuleCounts,
    SupportCounts,
)
from pramana_core.plan import Block, Plan
from pramana_core.progress import Tick, no_cancel

MOST_ENTRIES = 1 << 28
"""Itemsets asked for at once are refused where all their inclusions and exclusions, two to the
number of an itemset's randomized blocks, are more: they would take hours."""

Group = tuple[int, int]
"""The columns of an itemset that are of one block: from, up to."""


def served(plan: Plan, items: Sequence[Item]) -> Flags:
    """Say of each item whether its block is randomized by mixing, or is a single binary one."""
    names = {name for block in plan.blocks if _mixes(block) for name in block.names}
    return np.array([name in names for name, _ in items], dtype=np.bool_)


def serves(plan: Plan, items: Sequence[Item]) -> bool:
    """Say whether that is so of all items, and all are of the plan."""
    return bool(served(plan, items).all())


def _mixes(block: Block) -> bool:
    binary = len(block.names) == 1 and block.channel.shape == (2, 2)
    return binary or block.channel.mixture is not None


class MixedSupports:
    """Estimates supports from the counts of reported itemsets.

    Args:
        reports: the reported codes.
        plan: the channels.
        items: the items; only itemsets of those that are `served` may be asked for.
        tick: called all along a count; what it raises stops it.
        of_records: how many records there are, if these are one of several sources.

    Attributes:
        at_once: about so many inclusions and exclusions are held at once.
    """

    def __init__(
        self,
        reports: CountedRecords,
        plan: Plan,
        items: tuple[Item, ...],
        tick: Tick = no_cancel,
        of_records: int | None = None,
    ):
        self.items = items
        self.at_once = 1 << 24
        self.records = reports.records
        blocks = {name: place for place, block in enumerate(plan.blocks) for name in block.names}
        # Inside, items are numbered block by block, so that those of one block stand together.
        self._order = np.array(
            sorted(range(len(items)), key=lambda i: blocks[items[i][0]]), dtype=np.int64
        )
        self._rank = np.argsort(self._order)
        ordered = [items[i] for i in self._order]
        self._names = [name for name, _ in ordered]
        self._block = np.array([blocks[name] for name in self._names], dtype=np.int64)
        self._plan = plan
        # Exact blocks need no inclusion and exclusion: what is reported is true.
        self._exact = np.array(
            [plan.blocks[block].channel.is_identity for block in self._block], dtype=np.bool_
        )
        self._reported = ReportedSupports(reports, ordered, tick)
        self._inverses: dict[tuple[int, ...], tuple[float, float]] = {}
        self._more = MORE * self.records / max(of_records or self.records, 1)
        self._shares = np.full(len(items), np.nan)

    def counts(self, itemsets: Indices) -> SupportCounts:
        """Return the estimated counts of itemsets; see `Supports`.

        Raises:
            LimitExceeded: more than `MOST_ENTRIES`, with `where` "max_length".
        """
        counts, second = np.zeros((2, len(itemsets)))
        moments = np.ones((5, len(itemsets)))
        ranked = np.sort(self._rank[itemsets], axis=1)
        exact = self._exact[ranked]
        for rows, groups in self._alike(ranked, exact, lambda own: 1 if own.any() else 2):
            parts = self._wholes(ranked[rows], groups)
            cells = self._monomials(ranked[rows], parts)
            counts[rows] = _contract(cells, [part.functions[0] for part in parts])
            squares = [_product(part.functions[0], part.functions[0]) for part in parts]
            second[rows] = _contract(cells, squares)
            for part, group in zip(parts, groups, strict=True):
                moments[:, rows] *= part.moments(self._alone(ranked[rows, slice(*group)]))
        sums, own = self.records * moments[:3], moments[3:]
        tilt = Tilt.of((sums[0], sums[1], sums[2]), (own[0], own[1]), self.records, self._more)
        return SupportCounts.from_moments(self.records, counts, second, tilt)

    def rules(self, itemsets: Indices, antecedents: Flags) -> RuleCounts:
        """Return the estimated counts of itemsets and their parts; see `Supports`.

        Raises:
            LimitExceeded: as `counts`.
        """
        counts, moments = np.zeros((len(itemsets), 3)), np.zeros((len(itemsets), 3, 3))
        tilts = np.zeros((3, len(itemsets), 3))
        parts = (np.ones_like(antecedents), antecedents, ~antecedents)
        for part, flags in enumerate(parts):
            counts[:, part], moments[:, part, part], *own = self._counted(itemsets, flags)
            tilts[:, :, part] = own
        order = np.argsort(self._rank[itemsets], axis=1)
        ranked = np.take_along_axis(self._rank[itemsets], order, axis=1)
        flags = np.take_along_axis(antecedents, order, axis=1)
        crossed = self._crossed(ranked, flags)
        for place, (one, other) in enumerate(((0, 1), (0, 2), (1, 2))):
            moments[:, one, other] = moments[:, other, one] = crossed[place]
        return RuleCounts.from_moments(self.records, counts, moments, Tilt(*tilts))

    def _counted(self, itemsets: Indices, flags: Flags) -> Floats:
        """Return the counts, second moments and tilts of chosen items of itemsets, shape (5, n)."""
        found = np.zeros((5, len(itemsets)))
        sizes = flags.sum(axis=1)
        for size in np.unique(sizes):
            rows = np.flatnonzero(sizes == size)
            chosen = itemsets[rows][flags[rows]].reshape(len(rows), size)
            sets, which = np.unique(chosen, axis=0, return_inverse=True)
            made = self.counts(sets)
            second = made.variance_records + made.counts
            moments = np.stack([made.counts, second, *made.tilt.numbers])
            found[:, rows] = moments[:, which.ravel()]
        return found

    def _crossed(self, ranked: Indices, flags: Flags) -> Floats:
        """Return the products of whole, antecedent and consequent.

        They are whole with antecedent, whole with consequent and the two sides, shape (3, n).
        """
        found = np.zeros((3, len(ranked)))
        for rows, groups in self._alike(ranked, flags, _sides):
            parts = [_Part.split(self, ranked[rows], group, flags[rows[0]]) for group in groups]
            cells = self._monomials(ranked[rows], parts)
            for place, (one, other) in enumerate(((0, 1), (0, 2), (1, 2))):
                products = [_product(p.functions[one], p.functions[other]) for p in parts]
                found[place, rows] = _contract(cells, products)
        return found

    def inverse(self, ranked: Indices) -> Floats:
        """Return (a, b) of the estimator a y + b of items of one block, shape (2, n).

        Raises:
            SingularChannel: the block's channel has no inverse.
        """
        sets, which = np.unique(ranked, axis=0, return_inverse=True)
        found = np.array([self._inverse(tuple(row)) for row in sets.tolist()])
        return found[which.ravel()].T

    def _inverse(self, ranked: tuple[int, ...]) -> tuple[float, float]:
        if ranked not in self._inverses:
            block = self._plan.blocks[self._block[ranked[0]]]
            channel = block.restrict([self._names[i] for i in ranked])
            code = self.items[self._order[ranked[0]]][1]
            self._inverses[ranked] = _estimator(channel or block.channel, code)
        return self._inverses[ranked]

    def _alone(self, ranked: Indices) -> Floats:
        """Return how frequent items would be together, each with its own estimate, shape (n,)."""
        for item in np.unique(ranked[np.isnan(self._shares[ranked])]):
            (scale,), (shift,) = self.inverse(np.array([[item]]))
            reported = self._reported.of(np.array([[item]]))[0] / max(self.records, 1)
            self._shares[item] = np.clip(scale * reported + shift, 0.0, 1.0)
        return np.asarray(self._shares[ranked].prod(axis=1))

    def _alike(
        self, ranked: Indices, flags: Flags, monomials: Callable[[Flags], int]
    ) -> Iterator[tuple[Indices, list[Group]]]:
        """Yield rows whose blocks are divided alike, some at a time, with their groups."""
        blocks = self._block[ranked]
        pattern = np.concatenate([blocks[:, 1:] == blocks[:, :-1], flags], axis=1)
        kinds, kind = np.unique(pattern, axis=0, return_inverse=True)
        width = ranked.shape[1]
        alike = []
        for number, same in enumerate(kinds):
            starts = [0, *(np.flatnonzero(~same[: width - 1]) + 1).tolist()]
            rows = np.flatnonzero(kind.ravel() == number)
            groups = list(itertools.pairwise([*starts, width]))
            own = flags[rows[0]]
            entries = math.prod(monomials(own[slice(*group)]) for group in groups)
            alike.append((rows, groups, entries))
        _require_few(sum(len(rows) * entries for rows, _, entries in alike))
        for rows, groups, entries in alike:
            some = max(1, self.at_once // entries)
            for start in range(0, len(rows), some):
                yield rows[start : start + some], groups

    def _wholes(self, ranked: Indices, groups: Sequence[Group]) -> list[_Part]:
        """Return the parts of itemsets that are exact in the same groups."""
        exact = self._exact[ranked[0]]
        return [
            _Part.exact(len(ranked), group) if exact[group[0]] else _Part.whole(self, ranked, group)
            for group in groups
        ]

    def _monomials(self, ranked: Indices, parts: Sequence[_Part]) -> Floats:
        """Return how many records report each union of parts' items, an axis per part."""
        shape = [len(part.monomials) for part in parts]
        cells = np.zeros((*shape, len(ranked)))
        for chosen in np.ndindex(*shape):
            columns = sorted(
                c for part, i in zip(parts, chosen, strict=True) for c in part.monomials[i]
            )
            cells[chosen] = self._reported.of(ranked[:, columns])
        return cells


@dataclass(frozen=True, eq=False)
class _Part:
    """The items of one block in some itemsets, and functions of whether they are reported.

    `monomials` are sets of columns: none, and those all of which must be reported. A function is a
    coefficient of each monomial, shape (monomials, n).
    """

    monomials: tuple[tuple[int, ...], ...]
    functions: tuple[Floats, ...]

    @classmethod
    def whole(cls, supports: MixedSupports, ranked: Indices, group: Group) -> _Part:
        columns = tuple(range(*group))
        scale, shift = supports.inverse(ranked[:, columns])
        return cls(((), columns), (np.stack([shift, scale]),))

    @classmethod
    def exact(cls, itemsets: int, group: Group) -> _Part:
        return cls((tuple(range(*group)),), (np.ones((1, itemsets)),))

    def moments(self, share: Floats) -> Floats:
        """Return the moments of the first function, a y + b, if a share of records has the items.

        Those of W, W^2 and W^3 over all reports, and those of W^2 and W^3 for a record that has all
        items, shape (5, n). The means of W, the share and 1, say how likely y is.
        """
        function = self.functions[0]
        if len(function) == 1:
            return np.stack([share, share, share, np.ones(len(share)), np.ones(len(share))])
        shift, scale = function

        def mean(power: int, of: Floats | float) -> Floats:
            standardized = (of - shift) / scale
            return np.asarray(
                standardized * (scale + shift) ** power + (1.0 - standardized) * shift**power
            )

        return np.stack([share, mean(2, share), mean(3, share), mean(2, 1.0), mean(3, 1.0)])

    @classmethod
    def split(
        cls, supports: MixedSupports, ranked: Indices, group: Group, antecedent: Flags
    ) -> _Part:
        """Return the functions that estimate the whole, the antecedent and the consequent."""
        columns = tuple(range(*group))
        parts = [tuple(c for c in columns if bool(antecedent[c]) is side) for side in (True, False)]
        one = np.stack([np.ones(len(ranked)), np.zeros(len(ranked))])
        if not all(parts):
            own = cls.whole(supports, ranked, group)
            alone = (own.functions[0], one) if parts[0] else (one, own.functions[0])
            return cls(own.monomials, (own.functions[0], *alone))
        monomials = ((), *parts, columns)
        functions = []
        for place, items in ((3, columns), (1, parts[0]), (2, parts[1])):
            function = np.zeros((4, len(ranked)))
            function[place], function[0] = supports.inverse(ranked[:, items])
            functions.append(function)
        return cls(monomials, tuple(functions))


def _sides(antecedent: Flags) -> int:
    """Return the monomials of a group: four where it is divided, as in `_Part.split`."""
    return 4 if antecedent.any() and not antecedent.all() else 2


def _require_few(entries: int) -> None:
    if entries > MOST_ENTRIES:
        raise LimitExceeded(
            f"To count itemsets of so many items takes {entries:,} inclusions and exclusions;"
            f" {MOST_ENTRIES:,} are allowed.",
            where="max_length",
            remedy="Limit the length, raise the minimum support or choose fewer items.",
        )


def _product(left: Floats, right: Floats) -> Floats:
    """Multiply two functions of one part: a product of monomials is that of their union."""
    product = np.zeros_like(left)
    # Of four monomials 1 and 2 are the two sides and 3 both: the union is the bitwise or.
    for i, j in np.ndindex(len(left), len(right)):
        product[i | j] += left[i] * right[j]
    return product


def _contract(cells: Floats, functions: Sequence[Floats]) -> Floats:
    for function in functions:
        cells = np.einsum("m...n,mn->...n", cells, function)
    return cells


def _estimator(channel: Transition, code: int) -> tuple[float, float]:
    if (mixture := channel.inverse_mixture) is not None:
        return mixture
    own, other = channel.decoder()[code, [code, 1 - code]]
    if not np.isfinite([own, other]).all():
        raise SingularChannel("A channel of two categories has no inverse.")
    return float(own - other), float(other)


Count = Callable[[Indices], Indices]
"""Counts the records that report each of n itemsets, rows of shape (n, k)."""


class ReportedSupports:
    """Counts of records by the items they report; what was counted once is kept.

    Args:
        reports: the records.
        items: variables and codes.
        tick: called for each prefix; what it raises stops the count.
    """

    def __init__(self, reports: CountedRecords, items: Sequence[Item], tick: Tick):
        self._count: Count
        if isinstance(reports, ReportedCounts):
            self._count = _packed(reports, items, tick)
        else:
            self._count = lambda sets: reports.counted(_ItemsetPass(tuple(items), sets), tick)
        self._known: dict[bytes, int] = {b"": reports.records}

    def of(self, itemsets: Indices) -> Indices:
        """Return the counts of itemsets, rows of shape (n, k), each ascending."""
        rows = np.ascontiguousarray(itemsets, dtype=np.int64)
        keys = [row.tobytes() for row in rows]
        fresh = [place for place, key in enumerate(keys) if key not in self._known]
        if fresh:
            # In order: those of one prefix follow each other.
            asked = np.unique(rows[fresh], axis=0)
            for row, count in zip(asked, self._count(asked).tolist(), strict=True):
                self._known[row.tobytes()] = count
        return np.array([self._known[key] for key in keys], dtype=np.int64)


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
