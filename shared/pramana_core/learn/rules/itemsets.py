"""What mining found: every itemset that was examined, with its errors and its decision.

Also here:

* Items: the categories of variables that itemsets are made of.
* Candidates of the next length from the itemsets kept at this one (Agrawal and Srikant; Ma
  7.1.1).
* Is an itemset frequent? Intervals, tests and controlled false discovery.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.special import ndtr

from pramana_core.domain import Domain
from pramana_core.errors import LimitExceeded, UnknownCategory
from pramana_core.learn.common.documents import Known
from pramana_core.learn.common.options import RuleOptions
from pramana_core.marginals.score_interval import possible
from pramana_core.marginals.support_counts import Flags, Floats, Indices, Item
from pramana_core.ties import TIE

# Is an itemset frequent? Intervals, tests and controlled false discovery.
#
# The error of an estimated support is the noise of randomization alone (`records`: the minimum is
# compared with the support among these very records), or with the sampling of the N records from
# their population added. The interval is the score interval of
# `pramana_core.marginals.score_interval`: an interval holds the supports under which the estimate
# is no surprise, with the error, and the skewness of the noise, that it would have under that
# support. Without randomization the interval against the population is Wilson's. The p-value of
# "below the minimum" is one less the confidence of the one-sided interval that ends at the minimum,
# so that test and interval agree.
#
# What is below a minimum by rounding alone reaches it (`reaches`).


Verdict = Literal["frequent", "not frequent", "undecided"]

VERDICTS: tuple[Verdict, ...] = ("not frequent", "undecided", "frequent")
"""Verdicts as arrays of them hold them: by place."""

NOT_FREQUENT, UNDECIDED, FREQUENT = range(3)

SELECTION = 2.0
"""Estimates of all subsets at or above the minimum have a probability of about one half at least
where an itemset is at the minimum; the p-value of one that was examined for that is divided by
it."""


def reaches(values: Floats, minimum: float) -> Flags:
    """Return which shares are a minimum or more, rounding aside; those not known are not."""
    return np.asarray(values >= minimum * (1 - TIE))


def verdicts(low: Floats, high: Floats, minimum: float) -> Indices:
    """Return the place in `VERDICTS` of each interval's verdict; undecided where it has no ends."""
    below = ~reaches(high, minimum) & ~np.isnan(high)
    return np.where(reaches(low, minimum), FREQUENT, np.where(below, NOT_FREQUENT, UNDECIDED))


def p_values(deviates: Floats) -> Floats:
    """Return the one-sided p-values of "the support is below the minimum".

    They are 0 or 1 where there is no error, and 1 where there is no estimate.

    Args:
        deviates: of the minimum (`SupportCounts.deviates`).
    """
    return np.where(np.isnan(deviates), 1.0, ndtr(-deviates))


def benjamini_hochberg(p_values: Floats, false_discovery: float) -> Flags:
    """Return which hypotheses Benjamini and Hochberg's procedure rejects (1995)."""
    ordered = np.sort(p_values)
    bound = false_discovery * np.arange(1, len(ordered) + 1) / max(1, len(ordered))
    below = np.flatnonzero(ordered <= bound * (1 + TIE))
    return p_values <= (ordered[below[-1]] * (1 + TIE) if len(below) else -1.0)


def adjust_for_screening(p_values: Sequence[Floats]) -> Floats:
    """Return p-values given that the itemsets were examined, of all lengths one after another.

    Single items always are; a longer itemset only where its subsets' estimates reach the minimum.
    """
    longer = [np.minimum(1.0, SELECTION * p) for p in p_values[1:]]
    return np.concatenate([*p_values[:1], *longer])


# What mining found: every itemset that was examined, with its errors and its decision.


# Items: the categories of variables that itemsets are made of.
#
# A variable's categories exclude each other, so that an itemset has at most one of each variable
# (FRAPP 6). Where a category only says that something is absent, `present_items` leaves it out, as
# in market baskets (Ma 7.1).


def all_items(domain: Domain) -> tuple[Item, ...]:
    """Return every category of every variable, in the order of the domain."""
    return tuple((v.name, code) for v in domain for code in range(v.size))


def chosen_items(domain: Domain, categories: Mapping[str, Sequence[str]]) -> tuple[Item, ...]:
    """Return the named categories of the named variables, in the order given.

    Raises:
        UnknownVariable, UnknownCategory: a name that the domain does not have.
    """
    return tuple(
        (name, domain[name].code(label)) for name, labels in categories.items() for label in labels
    )


def present_items(domain: Domain, label: str) -> tuple[Item, ...]:
    """Return the items of the variables that have a category `label`, say "yes".

    Raises:
        UnknownCategory: no variable has it.
    """
    items = tuple((v.name, v.code(label)) for v in domain if label in v.categories)
    if not items:
        raise UnknownCategory(
            f"No variable has a category {label!r}.",
            where="items",
            remedy=f"The variables are {list(domain.names)}.",
        )
    return items


def items_wanted(
    domain: Domain, present: str | None, items: Mapping[str, Sequence[str]] | None
) -> tuple[Item, ...]:
    """Return the items that a task asks for, of some variables.

    Args:
        domain: the variables.
        present: the one category that is an item, of the variables that have it.
        items: the categories that are items, of the variables that it names.

    Raises:
        UnknownVariable, UnknownCategory: a name that the domain does not have.
    """
    if present is not None:
        return present_items(domain, present)
    every = {v.name: v.categories for v in domain}
    return chosen_items(domain, {**every, **(items or {})})


def item_label(domain: Domain, item: Item) -> str:
    """Return an item in words: `variable=category`."""
    name, code = item
    return f"{name}={domain[name].categories[code]}"


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
    """

    items: tuple[int, ...]
    support: Known
    se_records: Known
    se_population: Known
    interval: tuple[Known, Known]
    verdict: Verdict
    chosen: bool
    p_value: Known


@dataclass(frozen=True, eq=False)
class Level:
    """The examined itemsets of one length k, as arrays: their rows, shape (n, k), and per row.

    Rows ascend and stand in lexicographic order. `verdict` holds places in `VERDICTS`; for the
    others see `Itemset`.
    """

    itemsets: Indices
    support: Floats
    se_records: Floats
    se_population: Floats
    low: Floats
    high: Floats
    verdict: Indices
    p_value: Floats
    chosen: Flags

    def __len__(self) -> int:
        return len(self.itemsets)

    def listed(self) -> Iterator[Itemset]:
        """Yield the itemsets one by one."""
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


# Candidates of the next length from the itemsets kept at this one (Agrawal and Srikant; Ma 7.1.1).
#
# Itemsets of one length are the rows of an array, each row ascending and the rows in lexicographic
# order. A trie over them is an array per length: a node is named by its place among those of its
# length, and found by the number (place of its prefix) * items + (last item).

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
