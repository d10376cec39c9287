"""Frequent itemsets, level by level, from estimated supports (Ma 7.1.2; FRAPP 6).

An itemset is examined if the estimates of all its subsets with one item less reach the minimum.
Then one of two rules decides. *point* chooses itemsets with estimates at or above the minimum, as
the papers do. *controlled* limits the expected share of wrong choices to `false_discovery`
(Benjamini and Hochberg). For this rule, the p-value of an itemset is the largest among its own and
its subsets'. The p-values of itemsets with two or more items are doubled first, because such
itemsets were selected. The limit assumes normal estimates. With N = 5,000, p = 0.0005 and 70 items
just below the minimum, the share was 7 % instead of 5 %.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from pramana_core.errors import EstimationError, LimitExceeded, OptionError, SingularChannel
from pramana_core.learn.common.options import RuleOptions
from pramana_core.learn.rules.decisions import (
    adjust_for_screening,
    benjamini_hochberg,
    p_values,
    reaches,
    verdicts,
)
from pramana_core.learn.rules.itemsets import FoundItemsets, Level
from pramana_core.marginals.counts import Marginals, Supports
from pramana_core.marginals.score_interval import normal_quantile
from pramana_core.marginals.support_counts import Indices, Item, SupportCounts
from pramana_core.progress import Progress, unwatched

PIECE = 20_000
"""The approximate number of itemsets counted at a time."""

MOST_CANDIDATES = 1_000_000
"""The maximum number of candidate itemsets of one length."""

_NOT_ESTIMATED = (SingularChannel, EstimationError, LimitExceeded)
"""The errors raised if the reports do not estimate an itemset."""


def mine_itemsets(
    marginals: Marginals,
    items: Sequence[Item],
    options: RuleOptions,
    on_step: Progress | None = None,
) -> FoundItemsets:
    """Mine frequent itemsets among some items, with at most one item per variable.

    Itemsets that the reports do not estimate are undecided and are not extended. `on_step` is
    called with the number of lengths done and the maximum length. Raises OptionError,
    UnknownVariable, DomainError: there are no items, or an item is unknown. LimitExceeded: there
    are more than `MOST_CANDIDATES` itemsets of one length. SingularChannel, EstimationError: not
    even single items can be estimated.
    """
    items = tuple(items)
    if not items:
        raise OptionError("The list of items is empty.", where="items")
    supports = marginals.supports(items)
    variables = variables_of(items)
    levels = _decide(_levels(supports, variables, options, on_step or unwatched), options)
    return FoundItemsets(
        marginals.domain,
        marginals.records,
        options,
        items,
        tuple(levels),
        _modelled_from(marginals, items, levels, options),
    )


def _modelled_from(
    marginals: Marginals, items: tuple[Item, ...], levels: Sequence[Level], options: RuleOptions
) -> int | None:
    names = [name for name, _ in items]
    if marginals.can_estimate(list(dict.fromkeys(names))):
        return None
    for length, level in enumerate(levels[1:], start=2):
        large = level.itemsets[reaches(level.support, options.minimum_support)]
        needed = {frozenset(names[place] for place in row) for row in large.tolist()}
        if not all(marginals.can_estimate(sorted(own)) for own in needed):
            return length
    return None


def _levels(
    supports: Supports, variables: Indices, options: RuleOptions, on_step: Progress
) -> list[Level]:
    most = min(options.max_length, len(np.unique(variables)))
    itemsets = np.arange(len(variables), dtype=np.int64)[:, None]
    subsets = np.zeros_like(itemsets)
    levels: list[Level] = []
    while len(levels) < most and len(itemsets):
        counts = _counted(supports, itemsets, variables, partial(on_step, len(levels), most))
        level = _judge(itemsets, subsets, counts, levels, options)
        levels.append(level)
        if len(levels) == most:
            break
        kept = reaches(level.support, options.minimum_support)
        itemsets, places = next_candidates(itemsets[kept], variables)
        subsets = np.flatnonzero(kept)[places]
    on_step(most, most)
    return levels


def next_candidates(
    rows: Indices, variables: Indices, most: int = MOST_CANDIDATES
) -> tuple[Indices, Indices]:
    """Return the itemsets with one more item than the kept ones, all of whose subsets are kept.

    `rows` are kept itemsets of k items, (n, k), in lexicographic order; `variables` has a number
    per item. Returns (m, k + 1) candidates in that order and, in the same shape, the row of the
    subset without each item. Raises LimitExceeded: more than `most` candidates.
    """
    place = {tuple(row): at for at, row in enumerate(rows.tolist())}
    of = variables.tolist()
    length = rows.shape[1] + 1
    candidates, subsets = [], []
    for _, group in itertools.groupby(place, key=lambda row: row[:-1]):
        for left, right in itertools.combinations(list(group), 2):
            if of[left[-1]] == of[right[-1]]:
                continue
            candidate = (*left, right[-1])
            parts = (candidate[:at] + candidate[at + 1 :] for at in range(length))
            own = [place.get(part, -1) for part in parts]
            if min(own) < 0:
                continue
            candidates.append(candidate)
            subsets.append(own)
            if len(candidates) > most:
                raise LimitExceeded(
                    f"There are more than {most} candidate itemsets of {length} items.",
                    where="minimum_support",
                    remedy="Raise the minimum support, choose fewer items or set a smaller"
                    " max_length.",
                )
    shape = len(candidates), length
    return (
        np.array(candidates, dtype=np.int64).reshape(shape),
        np.array(subsets, dtype=np.int64).reshape(shape),
    )


def _judge(
    itemsets: Indices,
    subsets: Indices,
    counts: SupportCounts,
    before: Sequence[Level],
    options: RuleOptions,
) -> Level:
    records = counts.records
    support = counts.counts / records
    population = options.against == "population"
    low, high = counts.interval(normal_quantile(options.confidence), population=population)
    p_value = p_values(counts.deviates(options.minimum_support, population=population))
    if before:
        p_value = np.maximum(p_value, before[-1].p_value[subsets].max(axis=1, initial=0.0))
    return Level(
        itemsets,
        support,
        np.sqrt(counts.variance(population=False)) / records,
        np.sqrt(counts.variance(population=True)) / records,
        low,
        high,
        verdicts(low, high, options.minimum_support),
        p_value,
        reaches(support, options.minimum_support),
    )


def _decide(levels: Sequence[Level], options: RuleOptions) -> list[Level]:
    if options.decisions == "point":
        return list(levels)
    adjusted = adjust_for_screening([level.p_value for level in levels])
    tested = np.concatenate([~np.isnan(level.support) for level in levels])
    chosen = np.zeros(len(tested), dtype=np.bool_)
    chosen[tested] = benjamini_hochberg(adjusted[tested], options.false_discovery)
    parts = np.split(chosen, np.cumsum([len(level) for level in levels])[:-1])
    return [replace(level, chosen=part) for level, part in zip(levels, parts, strict=True)]


def _counted(
    supports: Supports, itemsets: Indices, variables: Indices, on_piece: Callable[[], None]
) -> SupportCounts:
    rows, parts = pieces(itemsets, variables), []
    failure: Exception | None = None
    for some in rows:
        on_piece()
        try:
            parts.append(supports.counts(itemsets[some]))
        except _NOT_ESTIMATED as error:
            failure = error
            parts.append(_counted_separately(supports, itemsets[some], variables))
    counts = SupportCounts.merged(parts, rows)
    if failure and itemsets.shape[1] == 1 and np.isnan(counts.counts).all():
        raise failure from None
    return counts


def _counted_separately(supports: Supports, itemsets: Indices, variables: Indices) -> SupportCounts:
    found = np.full((3, len(itemsets)), np.nan)
    records = 1
    _, kinds = np.unique(variables[itemsets], axis=0, return_inverse=True)
    for kind in range(int(kinds.max()) + 1):
        rows = np.flatnonzero(kinds.ravel() == kind)
        try:
            part = supports.counts(itemsets[rows])
        except _NOT_ESTIMATED:
            continue
        records = part.records
        found[:, rows] = part.counts, part.error_records, part.error_population
    return SupportCounts(records, *found)


def variables_of(items: tuple[Item, ...]) -> Indices:
    """Return an integer for each item, which is equal for items of the same variable."""
    numbers = {name: number for number, (name, _) in enumerate(items)}
    return np.array([numbers[name] for name, _ in items], dtype=np.int64)


def pieces(itemsets: Indices, variables: Indices) -> list[Indices]:
    """Return the rows of itemsets, (n, k), in pieces that do not split a set of variables."""
    if len(itemsets) <= PIECE:
        return [np.arange(len(itemsets), dtype=np.int64)]
    _, kind = np.unique(variables[itemsets], axis=0, return_inverse=True)
    order = np.argsort(kind.ravel(), kind="stable")
    starts = np.append(0, np.flatnonzero(np.diff(kind.ravel()[order])) + 1)
    # Each set of variables goes to the piece of its first itemset.
    firsts = np.append(True, np.diff(starts // PIECE) > 0)
    return np.split(order, starts[firsts][1:])
