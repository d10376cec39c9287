"""What mining found: every itemset that was examined, with its errors and its decision."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from pramana_core.domain import Domain
from pramana_core.learn.rules.decisions import VERDICTS, Verdict
from pramana_core.learn.rules.items import item_label
from pramana_core.learn.rules.options import RuleOptions
from pramana_core.marginals.score_interval import possible
from pramana_core.marginals.support_counts import Flags, Floats, Indices, Item


@dataclass(frozen=True)
class Itemset:
    """An itemset that was examined.

    Attributes:
        items: places of its items in `FoundItemsets.items`, ascending.
        support: the raw estimate, as a share of the records; may be outside [0, 1]. NaN where the
            reports tell nothing of it.
        se_records: its standard error given the true records (the noise of randomization alone).
        se_population: that against the population the records were drawn from.
        interval: of the support, at the confidence and against what the options say, in [0, 1].
        verdict: what the interval says of the minimum.
        chosen: whether the options' decisions hold it frequent.
        p_value: of "it or a subset of it is below the minimum", one-sided.
        consistent: the support made consistent with all others, if that was asked for.
    """

    items: tuple[int, ...]
    support: float
    se_records: float
    se_population: float
    interval: tuple[float, float]
    verdict: Verdict
    chosen: bool
    p_value: float
    consistent: float | None


@dataclass(frozen=True, eq=False)
class Level:
    """The examined itemsets of one length k, as arrays: their rows, shape (n, k), and per row.

    Rows ascend and stand in lexicographic order. `subsets` has, in the shape of `itemsets`, the
    row of the level before that lacks the item at that position (all zero for single items).
    `verdict` holds places in `VERDICTS`; for the others see `Itemset`.
    """

    itemsets: Indices
    subsets: Indices
    support: Floats
    se_records: Floats
    se_population: Floats
    low: Floats
    high: Floats
    verdict: Indices
    p_value: Floats
    chosen: Flags
    consistent: Floats | None = None

    def __len__(self) -> int:
        return len(self.itemsets)

    def listed(self) -> Iterator[Itemset]:
        """Yield the itemsets one by one."""
        nothing = [None] * len(self)
        low, high = possible(self.low, self.high, self.support)
        for row, *rest in zip(
            self.itemsets.tolist(),
            self.support.tolist(),
            self.se_records.tolist(),
            self.se_population.tolist(),
            zip(low.tolist(), high.tolist(), strict=True),
            [VERDICTS[place] for place in self.verdict.tolist()],
            self.chosen.tolist(),
            self.p_value.tolist(),
            nothing if self.consistent is None else self.consistent.tolist(),
            strict=True,
        ):
            yield Itemset(tuple(row), *rest)


@dataclass(frozen=True, eq=False)
class FoundItemsets:
    """The itemsets that were examined and which of them are held frequent.

    Attributes:
        domain: the variables.
        records: the number of records.
        options: how was mined and decided.
        items: what the itemsets' numbers mean.
        levels: the examined itemsets by length, from 1.
        modelled_from: from this length on there are supports of a model of shorter itemsets, for
            no reports tell them; errors and intervals suppose that it holds. None if none are.
    """

    domain: Domain
    records: int
    options: RuleOptions
    items: tuple[Item, ...]
    levels: tuple[Level, ...]
    modelled_from: int | None = None

    @cached_property
    def itemsets(self) -> tuple[Itemset, ...]:
        """All examined itemsets: by length, then in lexicographic order of their items."""
        return tuple(itemset for level in self.levels for itemset in level.listed())

    @cached_property
    def frequent(self) -> tuple[Itemset, ...]:
        """The itemsets held frequent; every subset of one is another."""
        return tuple(itemset for itemset in self.itemsets if itemset.chosen)

    def length(self, k: int) -> tuple[Itemset, ...]:
        """Return the itemsets of k items that are held frequent."""
        return tuple(itemset for itemset in self.frequent if len(itemset.items) == k)

    def labels(self, items: tuple[int, ...]) -> tuple[str, ...]:
        """Return items in words: `variable=category`."""
        return tuple(self.item_labels[place] for place in items)

    @cached_property
    def item_labels(self) -> tuple[str, ...]:
        """All items in words."""
        return tuple(item_label(self.domain, item) for item in self.items)
