"""Association rules from the frequent itemsets (Ma 7.1.1).

A rule A -> C splits a frequent itemset into two parts. Its confidence is the share of the records
with A that also have C.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, compress
from typing import Any

import numpy as np

from pramana_core.errors import LimitExceeded
from pramana_core.learn.common.documents import Ends, Known
from pramana_core.learn.common.options import MINIMUM_CONFIDENCE, MinimumConfidence, require_limit
from pramana_core.learn.rules.decisions import reaches
from pramana_core.learn.rules.itemsets import FoundItemsets, Level
from pramana_core.learn.rules.measures import RuleEstimates, measured
from pramana_core.learn.rules.mining import PIECE, pieces, variables_of
from pramana_core.marginals.counts import Marginals, Supports
from pramana_core.marginals.score_interval import normal_quantile
from pramana_core.marginals.support_counts import Flags, Indices, RuleCounts
from pramana_core.progress import Progress, unwatched

MOST_RULES = 1_000_000
"""The maximum number of rules, unless the caller gives another."""

MOST_PARTS = 1 << 16
"""The maximum number of ways in which an itemset is split into two sides of a rule."""

Interval = tuple[float, float]


@dataclass(frozen=True)
class Rule:
    """A rule `antecedent -> consequent`; each side is a tuple of item indices, as in `Itemset`.

    The measures are raw estimates. Their errors and intervals follow the options of the itemsets.
    """

    antecedent: tuple[int, ...]
    consequent: tuple[int, ...]
    antecedent_support: Known
    consequent_support: Known
    support: Known
    support_se: Known
    support_interval: Ends
    confidence: Known
    confidence_se: Known
    confidence_interval: Ends
    lift: Known
    lift_se: Known
    lift_interval: Ends
    leverage: Known
    leverage_se: Known
    leverage_interval: Ends


def derive_rules(
    found: FoundItemsets,
    marginals: Marginals,
    minimum_confidence: float = MINIMUM_CONFIDENCE,
    *,
    certain: bool = False,
    most: int = MOST_RULES,
    on_step: Progress | None = None,
) -> tuple[Rule, ...]:
    """Return the rules from splitting each frequent itemset, those with longer antecedents first.

    `minimum_confidence` applies to the estimated confidence or, if `certain`, to the lower end of
    its interval. `on_step` is called with the number of lengths done and in total. Raises
    OptionError: `minimum_confidence` is not between 0 and 1. LimitExceeded: more than `most` rules,
    more than `MOST_RULES` candidates of `certain` rules, or an itemset of too many items.
    """
    require_limit(minimum_confidence, MinimumConfidence, "minimum_confidence")
    report = on_step or unwatched
    population = found.options.against == "population"
    z = normal_quantile(found.options.confidence)
    estimated, variables = marginals.supports(found.items), variables_of(found.items)
    shares = _supports_of(found)
    last = max(0, len(found.levels) - 1)
    rules: list[Rule] = []
    for done, level in enumerate(found.levels[1:]):
        on_piece = partial(report, done, last)
        on_piece()
        # Candidates of certain rules still include uncertain rules.
        before, allowed = (0, max(most, MOST_RULES)) if certain else (len(rules), most)
        rows, antecedents = _candidates(level, shares, minimum_confidence, before, allowed)
        if len(rows):
            counts = _counted(estimated, rows, antecedents, variables, on_piece)
            estimates = measured(counts, z, population=population)
            confidence = estimates[1].low if certain else estimates[1].estimate
            enough = np.flatnonzero(reaches(confidence, minimum_confidence))
            _require_few(len(rules) + len(enough), most)
            columns = [
                _sides(rows[enough], antecedents[enough]),
                (counts.counts[enough, 1:] / counts.records).tolist(),
                *(_listed(part, enough) for part in estimates),
            ]
            rules += _rules(columns, on_piece)
    report(last, last)
    return tuple(rules)


def _supports_of(found: FoundItemsets) -> dict[tuple[int, ...], float]:
    return {
        tuple(row): support
        for level in found.levels
        for row, support in zip(
            level.itemsets[level.chosen].tolist(), level.support[level.chosen], strict=True
        )
    }


def _candidates(
    level: Level, shares: Mapping[tuple[int, ...], float], minimum: float, before: int, most: int
) -> tuple[Indices, Flags]:
    chosen = level.itemsets[level.chosen]
    whole = level.support[level.chosen]
    parts = _parts(level.itemsets.shape[1]) if len(chosen) else np.zeros((0, 1), dtype=np.bool_)
    number, kept, places = before, [], []
    for place, antecedent in enumerate(parts):
        # The same two divisions as everywhere, so that a confidence at the minimum is included.
        of = np.array([shares[tuple(row)] for row in chosen[:, antecedent].tolist()])
        enough = np.flatnonzero(reaches(whole / of, minimum))
        kept.append(enough)
        places.append(np.full(len(enough), place))
        number += len(enough)
        _require_few(number, most)
    nothing = np.zeros(0, dtype=np.int64)
    rows, part = np.concatenate([nothing, *kept]), np.concatenate([nothing, *places])
    order = np.lexsort([part, rows])
    return chosen[rows[order]], parts[part[order]]


def _parts(length: int) -> Flags:
    if 1 << length > MOST_PARTS:
        raise LimitExceeded(
            f"An itemset of {length} items can be split into two sides of a rule in too many ways.",
            where="max_length",
            remedy="Mine shorter itemsets.",
        )
    flags = (np.arange(1, (1 << length) - 1)[:, None] >> np.arange(length)[::-1]) & 1 == 1
    # Counting down gives the antecedents in the order of combinations.
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
    chosen = pieces(rows, variables)
    parts: list[RuleCounts] = []
    for some in chosen:
        if parts:
            on_piece()
        parts.append(estimated.rules(rows[some], antecedents[some]))
    return RuleCounts.merged(parts, chosen)


def _rules(columns: Sequence[Sequence[Any]], on_piece: Callable[[], None]) -> Iterator[Rule]:
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


def _sides(rows: Indices, antecedents: Flags) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    lists = zip(rows.tolist(), antecedents.tolist(), (~antecedents).tolist(), strict=True)
    return [(tuple(compress(row, left)), tuple(compress(row, right))) for row, left, right in lists]
