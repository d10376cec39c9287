"""Association rules from the itemsets held frequent, with the errors of their measures (Ma 7.1.1).

A rule A -> C is made of a frequent itemset, parted in two; its confidence is the share of the
records with A that have C too. All parts of a frequent itemset are frequent, so that nothing is
counted again to find the rules, only to know their errors.

Also here:

* The measures of a rule as functions of three supports, under the names that mlxtend gives them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, compress
from typing import Any

import numpy as np

from pramana_core.errors import LimitExceeded
from pramana_core.learn.common.options import require_limit
from pramana_core.learn.rules.decisions import reaches
from pramana_core.learn.rules.itemsets import FoundItemsets, Level, Trie
from pramana_core.learn.rules.options import MINIMUM_CONFIDENCE, MinimumConfidence
from pramana_core.learn.rules.rule_errors import (
    PIECE,
    RuleEstimates,
    confidences,
    leverages,
    lifts,
    pieces,
    supports,
    variables_of,
)
from pramana_core.marginals.counts import Marginals, Supports
from pramana_core.marginals.score_interval import normal_quantile
from pramana_core.marginals.support_counts import Flags, Floats, Indices, Item, RuleCounts
from pramana_core.progress import Progress, unwatched

MOST_RULES = 1_000_000
"""More rules than this are refused if not told otherwise."""

MOST_PARTS = 1 << 16
"""Itemsets of more parts than this are refused."""

Interval = tuple[float, float]


@dataclass(frozen=True)
class Rule:
    """A rule `antecedent -> consequent` between items.

    Estimates are raw: a support may be above that of a subset, and so a confidence above 1. They
    are so too where the itemsets were made consistent: the errors are those of the raw estimates.
    Standard errors and intervals are of the kind and at the confidence of the itemsets' options;
    the intervals of supports and confidences are within [0, 1].
    """

    antecedent: tuple[Item, ...]
    consequent: tuple[Item, ...]
    antecedent_support: float
    consequent_support: float
    support: float
    support_se: float
    support_interval: Interval
    confidence: float
    confidence_se: float
    confidence_interval: Interval
    lift: float
    lift_se: float
    lift_interval: Interval
    leverage: float
    leverage_se: float
    leverage_interval: Interval


def derive_rules(
    found: FoundItemsets,
    marginals: Marginals,
    minimum_confidence: float = MINIMUM_CONFIDENCE,
    *,
    certain: bool = False,
    most: int = MOST_RULES,
    on_step: Progress | None = None,
) -> tuple[Rule, ...]:
    """Return the rules between the parts of the itemsets held frequent.

    Supports and confidences are the raw estimates, also of itemsets that were made consistent.

    Args:
        found: the itemsets.
        marginals: what they were mined from.
        minimum_confidence: the least confidence, from 0 to 1.
        certain: apply `minimum_confidence` to the lower end of the interval, not to the estimate.
        most: the most rules allowed; they are counted before they are made.
        on_step: called with (lengths done, lengths in all) before each length and, in a long one,
            before each piece of it; may raise to stop.

    Returns:
        Rules by length, then by itemset, longer antecedents first.

    Raises:
        OptionError: the confidence is not a share.
        LimitExceeded: more than `most` rules, an itemset of too many items, or itemsets too many
            for their length (`mixed_supports.MOST_ENTRIES`). Where rules are to be `certain`, also
            more than `MOST_RULES` of which only the estimate suffices.
    """
    require_limit(minimum_confidence, MinimumConfidence, "minimum_confidence")
    report = on_step or unwatched
    estimated, variables = marginals.supports(found.items), variables_of(found.items)
    shares = _Shares(found)
    last = max(0, len(found.levels) - 1)
    rules: list[Rule] = []
    for done, level in enumerate(found.levels[1:]):
        on_piece = partial(report, done, last)
        on_piece()
        # Of the certain ones those that are not are still among the candidates.
        before, allowed = (0, max(most, MOST_RULES)) if certain else (len(rules), most)
        rows, antecedents = _candidates(level, shares, minimum_confidence, before, allowed)
        if len(rows):
            counts = _counted(estimated, rows, antecedents, variables, on_piece)
            measured = _measured(found, counts)
            confidence = measured[1].low if certain else measured[1].estimate
            enough = np.flatnonzero(reaches(confidence, minimum_confidence))
            _require_few(len(rules) + len(enough), most)
            columns = [
                _parts_of(found, rows[enough], antecedents[enough]),
                (counts.counts[enough, 1:] / counts.records).tolist(),
                *(_listed(part, enough) for part in measured),
            ]
            rules += _made(columns, on_piece)
    report(last, last)
    return tuple(rules)


class _Shares:
    """The supports of the chosen itemsets, found by their items."""

    def __init__(self, found: FoundItemsets) -> None:
        self._trie = Trie(len(found.items))
        self._supports: list[Floats] = []
        for level in found.levels:
            self._trie = self._trie.grown(level.itemsets[level.chosen])
            self._supports.append(level.support[level.chosen])

    def of(self, rows: Indices) -> Floats:
        """Return the supports of chosen itemsets of one length."""
        return np.asarray(self._supports[rows.shape[1] - 1][self._trie.find(rows)])


def _candidates(
    level: Level, shares: _Shares, minimum: float, before: int, most: int
) -> tuple[Indices, Flags]:
    """Return the itemsets of the rules whose estimated confidence suffices, and their parts.

    Raises:
        LimitExceeded: with the rules `before`, more than `most`.
    """
    chosen = level.itemsets[level.chosen]
    whole = level.support[level.chosen]
    parts = _parts(level.itemsets.shape[1]) if len(chosen) else np.zeros((0, 1), dtype=np.bool_)
    number, found, places = before, [], []
    for place, antecedent in enumerate(parts):
        # By the same two divisions as everywhere, so that a confidence at the minimum is there.
        enough = np.flatnonzero(reaches(whole / shares.of(chosen[:, antecedent]), minimum))
        found.append(enough)
        places.append(np.full(len(enough), place))
        number += len(enough)
        _require_few(number, most)
    nothing = np.zeros(0, dtype=np.int64)
    rows, part = np.concatenate([nothing, *found]), np.concatenate([nothing, *places])
    order = np.lexsort([part, rows])
    return chosen[rows[order]], parts[part[order]]


def _parts(length: int) -> Flags:
    """Return every way to choose an antecedent of some but not all items, longer ones first."""
    if 1 << length > MOST_PARTS:
        raise LimitExceeded(
            f"An itemset of {length} items has too many parts for rules.",
            where="max_length",
            remedy="Mine shorter itemsets.",
        )
    flags = (np.arange(1, (1 << length) - 1)[:, None] >> np.arange(length)[::-1]) & 1 == 1
    # Numbers that count down put the items of an antecedent in the order of combinations.
    flags = flags[::-1]
    return np.asarray(flags[np.argsort(-flags.sum(axis=1), kind="stable")])


def _require_few(number: int, most: int) -> None:
    if number > most:
        raise LimitExceeded(
            f"There are more than {most} rules.",
            where="minimum_confidence",
            remedy="Raise the minimum confidence or the minimum support.",
        )


def _counted(
    estimated: Supports,
    rows: Indices,
    antecedents: Flags,
    variables: Indices,
    on_piece: Callable[[], None],
) -> RuleCounts:
    """Return the counts of rules, counted some at a time."""
    chosen = pieces(rows, variables)
    parts: list[RuleCounts] = []
    for some in chosen:
        if parts:
            on_piece()
        parts.append(estimated.rules(rows[some], antecedents[some]))
    return RuleCounts.merged(parts, chosen)


def _measured(found: FoundItemsets, counts: RuleCounts) -> tuple[RuleEstimates, ...]:
    """Return supports, confidences, lifts and leverages of rules."""
    population = found.options.against == "population"
    z = normal_quantile(found.options.confidence)
    return tuple(
        measure(counts, z, population=population)
        for measure in (supports, confidences, lifts, leverages)
    )


def _made(columns: Sequence[Sequence[Any]], on_piece: Callable[[], None]) -> Iterator[Rule]:
    """Yield rules of what each has in each column."""
    for number, values in enumerate(zip(*columns, strict=True)):
        if number and number % PIECE == 0:
            on_piece()
        yield Rule(*chain.from_iterable(values))


def _listed(measured: RuleEstimates, rows: Indices) -> list[tuple[float, float, Interval]]:
    low, high = measured.low[rows].tolist(), measured.high[rows].tolist()
    ends = zip(low, high, strict=True)
    return list(
        zip(measured.estimate[rows].tolist(), measured.se[rows].tolist(), ends, strict=True)
    )


def _parts_of(
    found: FoundItemsets, rows: Indices, antecedents: Flags
) -> list[tuple[tuple[Item, ...], tuple[Item, ...]]]:
    """Return the items of the antecedent and of the consequent of each rule."""
    items = found.items
    lists = zip(rows.tolist(), antecedents.tolist(), (~antecedents).tolist(), strict=True)
    return [
        (
            tuple(items[place] for place in compress(row, left)),
            tuple(items[place] for place in compress(row, right)),
        )
        for row, left, right in lists
    ]


# The measures of a rule as functions of three supports, under the names that mlxtend gives them.
#
# A rule A -> C of supports s(AC), s(A), s(C): confidence s(AC) / s(A); lift s(AC) / (s(A) s(C));
# leverage s(AC) - s(A) s(C) (Piatetsky-Shapiro 1991); conviction (1 - s(C)) / (1 - confidence)
# (Brin et al. 1997); Zhang's metric (2000); Jaccard's and Kulczynski's similarities; certainty, the
# share of what C lacks that A adds.

MEASURES = (
    "antecedent support",
    "consequent support",
    "support",
    "confidence",
    "lift",
    "representativity",
    "leverage",
    "conviction",
    "zhangs_metric",
    "jaccard",
    "certainty",
    "kulczynski",
)
"""mlxtend's columns, in its order."""


def measures(whole: Floats, antecedent: Floats, consequent: Floats) -> dict[str, Floats]:
    """Return all measures of rules, arrays of one shape, from the three supports of each.

    `representativity` is 1: no value is missing where supports are estimated.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        confidence = whole / antecedent
        leverage = whole - antecedent * consequent
        found = (
            antecedent,
            consequent,
            whole,
            confidence,
            confidence / consequent,
            np.ones_like(whole),
            leverage,
            np.where(confidence < 1, (1 - consequent) / (1 - confidence), np.inf),
            _zhang(leverage, whole, antecedent, consequent),
            whole / (antecedent + consequent - whole),
            np.where(consequent == 1, 0.0, (confidence - consequent) / (1 - consequent)),
            (confidence + whole / consequent) / 2,
        )
    return dict(zip(MEASURES, found, strict=True))


def _zhang(leverage: Floats, whole: Floats, antecedent: Floats, consequent: Floats) -> Floats:
    largest = np.maximum(whole * (1 - antecedent), antecedent * (consequent - whole))
    return np.where(largest == 0, 0.0, leverage / largest)
