"""Items, and what mining found: every itemset that was examined, with its errors and decision.

An item is a category of a variable. Categories of one variable exclude each other, so that an
itemset has at most one of each (FRAPP 6). Where a category only says that something is absent,
`present_items` leaves it out, as in market baskets (Ma 7.1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pramana_core.domain import Domain
from pramana_core.errors import UnknownCategory
from pramana_core.learn.common.documents import Known
from pramana_core.learn.common.options import RuleOptions
from pramana_core.learn.rules.decisions import VERDICTS, Verdict
from pramana_core.marginals.score_interval import possible
from pramana_core.marginals.support_counts import Flags, Floats, Indices, Item


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
            reports do not estimate it.
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
    """The itemsets that were examined, with the decision on each.

    Attributes:
        domain: the variables.
        records: the number of records.
        options: how was mined and decided.
        items: what the itemsets' numbers mean.
        levels: the examined itemsets by length, from 1.
        modelled_from: the length from which supports come of a model of shorter itemsets, because
            no reports have them; errors and intervals suppose that it holds. None without such.
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
        """The itemsets decided frequent; every subset of one is another."""
        return tuple(itemset for itemset in self.itemsets if itemset.chosen)

    def labels(self, items: tuple[int, ...]) -> tuple[str, ...]:
        """Return items in words: `variable=category`."""
        return tuple(self.item_labels[place] for place in items)

    @cached_property
    def item_labels(self) -> tuple[str, ...]:
        """All items in words."""
        return tuple(item_label(self.domain, item) for item in self.items)
