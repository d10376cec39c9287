"""Choosing the attribute that a node asks.

Of the attributes whose gain is more than chance (see `evidence`; corrected for taking the best of
several) it is the one with the largest gain, after what randomization alone adds to the gain is
taken off: noise adds to every attribute's gain, most to those of many categories or of heavy
randomization, and the largest raw gain would often be theirs. Where nothing is randomized nothing
is taken off. The smallest p-value would be another choice; it prefers what is known well to what
tells much, and was no better on held-out records.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from shared.counts import Subpopulation, Subtable, Tensor
from shared.learn.tree.evidence import (
    EMPTY,
    Evidence,
    entropy,
    information_gain,
    valid_counts,
    weigh,
)
from shared.learn.tree.model import Split
from shared.learn.tree.options import Growth

LEAST_GAIN = 1e-12
"""A gain of fewer bits is rounding and counts as none; so does a difference of two."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """An attribute that a node may ask, and the table of it and the class within the node."""

    attribute: str
    table: Subtable

    @cached_property
    def counts(self) -> Tensor:
        """The raw counts, a row per category and a column per class."""
        return self.table.counts

    @cached_property
    def covariance(self) -> Tensor:
        """The covariance of the counts given the records."""
        return self.table.covariance(population=False)

    @cached_property
    def gain(self) -> float:
        """The information gain in bits; none of a table that is empty or less."""
        # Fitted one by one, two tables of a node may differ in their sums.
        if self.counts.sum() <= EMPTY * self.table.records:
            return 0.0
        return information_gain(valid_counts(self.counts))

    @cached_property
    def evidence(self) -> Evidence:
        """What the table says of the split."""
        return weigh(self.counts, self.covariance, self.table.records)

    @property
    def own_information(self) -> float:
        """The information, in bits, that the attribute has of itself."""
        return entropy(valid_counts(self.counts).sum(axis=1))

    def split(self, tried: int) -> Split:
        """Return the question, given the number of attributes tried."""
        found = self.evidence
        return Split(
            attribute=self.attribute,
            gain=found.gain,
            se=found.se,
            chance=found.chance,
            degrees=found.degrees,
            tried=tried,
            p_value=best_of(tried, found.p_value),
        )


def best_split(
    within: Subpopulation, target: str, attributes: Sequence[str], options: Growth
) -> Candidate | None:
    """Return the attribute to ask in a node, the first of equals; None where none is worth it."""
    tried = [Candidate(name, within.table([name, target])) for name in attributes]
    limit = options.limit
    if limit is None:
        gains = {c: c.gain for c in tried if c.gain > LEAST_GAIN}
    else:
        gains = {
            c: c.evidence.excess
            for c in tried
            if c.gain > LEAST_GAIN and best_of(len(tried), c.evidence.p_value) <= limit
        }
    if options.criterion == "gain-ratio":
        gains = _ratios(gains)
    best: Candidate | None = None
    for candidate, gain in gains.items():
        if best is None or gain > gains[best] + LEAST_GAIN:
            best = candidate
    return best


def best_of(tried: int, p_value: float) -> float:
    """Return the probability that the least of several p-values is as small (Sidak)."""
    return 1.0 if p_value >= 1 else -math.expm1(tried * math.log1p(-p_value))


def _ratios(gains: dict[Candidate, float]) -> dict[Candidate, float]:
    """Return the gain ratios of those with at least average gain (Quinlan's C4.5)."""
    average = sum(gains.values()) / max(len(gains), 1)
    # A table with a gain has two categories, so the divisor is positive.
    return {c: g / c.own_information for c, g in gains.items() if g >= average - LEAST_GAIN}
