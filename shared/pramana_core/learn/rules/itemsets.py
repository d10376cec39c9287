"""Items, and examined itemsets with their errors and decisions.

An item is a category of a variable. Categories of one variable exclude each other, so an itemset
has at most one item per variable (FRAPP 6).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

from annotated_types import Len

from pramana_core.domain import Domain
from pramana_core.errors import UnknownCategory
from pramana_core.learn.common.documents import Known
from pramana_core.learn.common.options import RuleOptions
from pramana_core.learn.rules.decisions import VERDICTS, Verdict
from pramana_core.marginals.score_interval import possible
from pramana_core.marginals.support_counts import Flags, Floats, Indices, Item


def items_of(
    domain: Domain,
    present: str | None = None,
    items: Mapping[str, Sequence[str]] | None = None,
) -> tuple[Item, ...]:
    """Return the items to mine; by default they are all categories of all variables, in order.

    With `present`, only this category, such as "yes", becomes an item of each variable that has it.
    `items` maps variables to categories. Raises UnknownVariable, UnknownCategory.
    """
    if present is None:
        labels = {v.name: v.categories for v in domain} | dict(items or {})
        return tuple((name, domain[name].code(c)) for name, own in labels.items() for c in own)
    found = tuple((v.name, v.code(present)) for v in domain if present in v.categories)
    if not found:
        raise UnknownCategory(
            f"No variable has a category {present!r}.",
            where="items",
            remedy=f"The variables are {list(domain.names)}.",
        )
    return found


@dataclass(frozen=True)
class Itemset:
    """An examined itemset.

    Attributes:
        items: the indices of its items in `FoundItemsets.items`, ascending.
        support: the raw estimate, a share of the records; may be outside [0, 1], or NaN.
        se_records, se_population: standard errors, without and with the error of sampling.
        interval: the interval of the support, within [0, 1], at the options' confidence level.
        verdict: how the interval compares with the minimum support.
        chosen: whether the itemset is frequent by the decision rule of the options.
        p_value: of the hypothesis that its support or a subset's support is below the minimum.
    """

    items: Annotated[tuple[int, ...], Len(1)]
    support: Known
    se_records: Known
    se_population: Known
    interval: tuple[Known, Known]
    verdict: Verdict
    chosen: bool
    p_value: Known


@dataclass(frozen=True, eq=False)
class Level:
    """The examined itemsets of one length k, as an (n, k) array in lexicographic order.

    The other arrays have shape (n,). `verdict` has indices in `VERDICTS`. See also `Itemset`.
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
        """Yield the itemsets as `Itemset` values."""
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
    """The examined itemsets, with the decision on each.

    Attributes:
        domain, records, options: the variables, the number of records, and the mining options.
        items: the items; itemsets contain indices of this tuple.
        levels: the examined itemsets by length, from 1.
        modelled_from: the length from which supports come from a model of shorter itemsets, with
            errors that assume that the model is right. None if no support comes from a model.
    """

    domain: Domain
    records: int
    options: RuleOptions
    items: tuple[Item, ...]
    levels: tuple[Level, ...]
    modelled_from: int | None = None

    @cached_property
    def itemsets(self) -> tuple[Itemset, ...]:
        """All examined itemsets, by length and then in lexicographic order of their items."""
        return tuple(itemset for level in self.levels for itemset in level.listed())

    @cached_property
    def frequent(self) -> tuple[Itemset, ...]:
        """The itemsets that were decided to be frequent; all their subsets are frequent, too."""
        return tuple(itemset for itemset in self.itemsets if itemset.chosen)

    def labels(self, items: tuple[int, ...]) -> tuple[str, ...]:
        """Return the labels of items, as `variable=category`."""
        return tuple(self.item_labels[place] for place in items)

    @cached_property
    def item_labels(self) -> tuple[str, ...]:
        """The labels of all items."""
        return tuple(f"{name}={self.domain[name].categories[code]}" for name, code in self.items)
