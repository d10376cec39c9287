"""Association rules from the itemsets held frequent, with the errors of their measures (Ma 7.1.1).

A rule A -> C is made of a frequent itemset, parted in two; its confidence is the share of the
records with A that have C too. All parts of a frequent itemset are frequent, so that nothing is
counted again to find the rules, only to know their errors.

Also here:

* Errors of the measures of rules, from the joint error of the three counts of each.
* Itemsets counted some at a time, so that a long count shows progress and can be stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, compress
from typing import Any

import numpy as np

from pramana_core.errors import LimitExceeded
from pramana_core.learn.common.documents import Ends, Known
from pramana_core.learn.common.options import MINIMUM_CONFIDENCE, MinimumConfidence, require_limit
from pramana_core.learn.rules.itemsets import FoundItemsets, Level, Trie, reaches
from pramana_core.marginals.counts import Marginals, Supports
from pramana_core.marginals.score_interval import normal_quantile, possible
from pramana_core.marginals.support_counts import ROUNDING, Flags, Floats, Indices, Item, RuleCounts
from pramana_core.progress import Progress, unwatched

# Errors of the measures of rules, from the joint error of the three counts of each.
#
# With supports X of the whole rule, Y of its antecedent and Z of its consequent, the confidence is
# X / Y, the lift X / (Y Z) and the leverage X - Y Z. Standard errors are those of the delta method,
# and so are the intervals of lifts and leverages. The interval of a confidence is Fieller's (1954):
# the c for which X - c Y lies within z standard errors of 0, the sampling part of the error, that
# of a binomial distribution, taken at c; without randomization it is Wilson's.
#
# Where the antecedent, or for lifts the product of both sides, is not sure to be positive, nothing
# speaks against large values: the interval has no upper end but what the measure cannot exceed.


@dataclass(frozen=True, eq=False)
class RuleEstimates:
    """Estimates with their standard errors and intervals, arrays of one shape."""

    estimate: Floats
    se: Floats
    low: Floats
    high: Floats


def supports(counts: RuleCounts, z: float, *, population: bool) -> RuleEstimates:
    """Return the supports of whole rules, as itemsets have them; arguments as for `confidences`."""
    wholes = counts.wholes
    low, high = wholes.interval(z, population=population)
    se = np.sqrt(wholes.variance(population=population)) / counts.records
    estimate = wholes.counts / counts.records
    return RuleEstimates(estimate, se, *possible(low, high, estimate))


def confidences(counts: RuleCounts, z: float, *, population: bool) -> RuleEstimates:
    """Return the confidences; their intervals are within [0, 1], the estimates raw.

    Args:
        counts: the three counts of each rule; antecedents positive.
        z: the normal quantile of the intervals.
        population: which error.
    """
    whole, antecedent, _ = (counts.counts / counts.records).T
    noise = counts.covariance(population=population) / counts.records**2
    drawn = antecedent / counts.records if population else np.zeros_like(antecedent)
    if population:
        noise = noise - _sampling(counts) / counts.records
    square = np.square(antecedent) - z**2 * (noise[:, 1, 1] - drawn)
    linear = 2 * whole * antecedent + z**2 * (drawn - 2 * noise[:, 0, 1])
    level = np.square(whole) - z**2 * noise[:, 0, 0]
    root = np.sqrt(np.maximum(np.square(linear) - 4 * square * level, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        estimate = whole / antecedent
        gradient = np.column_stack([np.ones_like(whole), -estimate, np.zeros_like(whole)])
        gradient /= antecedent[:, None]
        ends = (linear - root) / (2 * square), (linear + root) / (2 * square)
    sure = (square > 0) & (antecedent > 0)
    low, high = np.where(sure, ends[0], 0.0), np.where(sure, ends[1], 1.0)
    return _estimates(counts, estimate, gradient, possible(low, high, estimate), population)


def lifts(counts: RuleCounts, z: float, *, population: bool) -> RuleEstimates:
    """Return the lifts; arguments as for `confidences`, all three counts positive.

    Where nothing is known of a lift its interval is from 0 to infinity.
    """
    whole, antecedent, consequent = (counts.counts / counts.records).T
    with np.errstate(divide="ignore", invalid="ignore"):
        estimate = whole / antecedent / consequent
        of_product = np.column_stack([np.zeros_like(whole), 1 / antecedent, 1 / consequent])
        gradient = -estimate[:, None] * of_product
        gradient[:, 0] = 1 / (antecedent * consequent)
        half = z * np.sqrt(_variance(counts, gradient, population=population))
    known = (antecedent > 0) & (consequent > 0)
    sure = known & (z * np.sqrt(_variance(counts, of_product, population=population)) < 1)
    low = np.where(known, np.maximum(estimate - half, 0.0), 0.0)
    high = np.where(sure, estimate + half, np.inf)
    return _estimates(counts, estimate, gradient, (low, high), population)


def leverages(counts: RuleCounts, z: float, *, population: bool) -> RuleEstimates:
    """Return the leverages; arguments as for `confidences`."""
    whole, antecedent, consequent = (counts.counts / counts.records).T
    estimate = whole - antecedent * consequent
    gradient = np.column_stack([np.ones_like(whole), -consequent, -antecedent])
    half = z * np.sqrt(_variance(counts, gradient, population=population))
    return _estimates(counts, estimate, gradient, (estimate - half, estimate + half), population)


def _sampling(counts: RuleCounts) -> Floats:
    """Return the covariance of the indicators of a rule's whole, antecedent and consequent."""
    share = counts.counts / counts.records
    both = np.broadcast_to(share[:, :1, None], (len(share), 3, 3)).copy()
    both[:, [1, 2], [1, 2]] = share[:, 1:]
    return np.asarray(both - share[:, :, None] * share[:, None, :])


def _estimates(
    counts: RuleCounts,
    estimate: Floats,
    gradient: Floats,
    ends: tuple[Floats, Floats],
    population: bool,
) -> RuleEstimates:
    """Return measures with their errors; where there is no error they are their own intervals."""
    se = np.sqrt(_variance(counts, gradient, population=population))
    exact = (se == 0) & (not population)
    low, high = (np.where(exact, estimate, end) for end in ends)
    return RuleEstimates(estimate, se, low, high)


def _variance(counts: RuleCounts, gradient: Floats, *, population: bool) -> Floats:
    """Return the variance of a linear function of the three supports; 0 where it is rounding."""
    covariance = counts.covariance(population=population) / counts.records**2
    variance = np.einsum("ni,nij,nj->n", gradient, covariance, gradient)
    largest = np.abs(counts.counts).max(axis=1, initial=1.0) / counts.records**2
    scale = ROUNDING * np.square(gradient).max(axis=1, initial=0.0) * largest
    return np.asarray(np.where(variance > scale, variance, 0.0))


# Itemsets counted some at a time, so that a long count shows progress and can be stopped.

PIECE = 20_000
"""About so many itemsets are counted at once."""


def variables_of(items: tuple[Item, ...]) -> Indices:
    """Return a number per item, the same for items of one variable."""
    numbers = {name: number for number, (name, _) in enumerate(items)}
    return np.array([numbers[name] for name, _ in items], dtype=np.int64)


def pieces(itemsets: Indices, variables: Indices) -> list[Indices]:
    """Return the rows of itemsets in pieces; those over one set of variables stay together.

    Where supports are told from tables, these share one.

    Args:
        itemsets: shape (n, k).
        variables: of `variables_of`.
    """
    if len(itemsets) <= PIECE:
        return [np.arange(len(itemsets), dtype=np.int64)]
    _, kind = np.unique(variables[itemsets], axis=0, return_inverse=True)
    order = np.argsort(kind.ravel(), kind="stable")
    starts = np.append(0, np.flatnonzero(np.diff(kind.ravel()[order])) + 1)
    # A set of variables is begun in the piece in which its first itemset falls.
    firsts = np.append(True, np.diff(starts // PIECE) > 0)
    return np.split(order, starts[firsts][1:])


# Association rules from the itemsets held frequent, with the errors of their measures (Ma 7.1.1).


MOST_RULES = 1_000_000
"""More rules than this are refused if not told otherwise."""

MOST_PARTS = 1 << 16
"""Itemsets of more parts than this are refused."""

Interval = tuple[float, float]


@dataclass(frozen=True)
class Rule:
    """A rule `antecedent -> consequent` between items.

    Estimates are raw: a support may be above that of a subset, and so a confidence above 1.
    Standard errors and intervals are of the kind and at the confidence of the itemsets' options;
    the intervals of supports and confidences are within [0, 1].
    """

    antecedent: tuple[Item, ...]
    consequent: tuple[Item, ...]
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
    """Return the rules between the parts of the itemsets held frequent.

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
        LimitExceeded: more than `most` rules, an itemset of too many items. Where rules are
            to be `certain`, also more than `MOST_RULES` of which only the estimate suffices.
    """
    require_limit(minimum_confidence, MinimumConfidence, "minimum_confidence")
    report = on_step or unwatched
    population = found.options.against == "population"
    z = normal_quantile(found.options.confidence)
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
            estimates = measured(counts, z, population=population)
            confidence = estimates[1].low if certain else estimates[1].estimate
            enough = np.flatnonzero(reaches(confidence, minimum_confidence))
            _require_few(len(rules) + len(enough), most)
            columns = [
                _parts_of(found, rows[enough], antecedents[enough]),
                (counts.counts[enough, 1:] / counts.records).tolist(),
                *(_listed(part, enough) for part in estimates),
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
    """Return the itemsets of the rules whose estimated confidence suffices, and their parts."""
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


def measured(counts: RuleCounts, z: float, *, population: bool) -> tuple[RuleEstimates, ...]:
    """Return supports, confidences, lifts and leverages of rules; arguments as for these.

    Intervals of shrunk counts are those of the counts before, widened to hold the estimates.
    """
    made = []
    for measure in (supports, confidences, lifts, leverages):
        own, raw = (measure(c, z, population=population) for c in (counts, counts.unshrunk))
        low, high = np.minimum(raw.low, own.estimate), np.maximum(raw.high, own.estimate)
        made.append(replace(own, low=low, high=high) if counts.before else own)
    return tuple(made)


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
