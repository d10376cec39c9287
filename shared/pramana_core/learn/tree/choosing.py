"""Choosing the attribute by which a node of a decision tree is split.

An attribute is a candidate if its gain is significantly above the gain expected by chance, with a
correction for the number of attributes compared. The candidate with the largest gain, after
subtracting the part expected from randomization, is chosen. If gains tie, the first is chosen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pramana_core.errors import EstimationError, LimitExceeded
from pramana_core.learn.tree.evidence import (
    EMPTY,
    GainEvidence,
    best_of,
    information_gain,
    valid_counts,
    weigh,
)
from pramana_core.learn.tree.node import Split
from pramana_core.marginals.counts import Tensor
from pramana_core.marginals.subpopulations import Subpopulation, Subtable
from pramana_core.ties import TIE, first_largest, reaches

UNSURE = 0.05
"""The significance level at which the interval of a split's information excludes 0."""

_BIT = 1.0
"""Differences in bits that are rounding errors at this scale count as zero."""

LEAST_GAIN = TIE * _BIT
"""Gains, and differences between gains, below this value count as zero because of rounding."""


@dataclass(frozen=True, eq=False)
class SplitCandidate:
    """An attribute that may split a node, with its table, and the number of attributes tried."""

    attribute: str
    table: Subtable
    tried: int

    @cached_property
    def counts(self) -> Tensor:
        """The raw counts, with a row for each category and a column for each class."""
        return self.table.counts

    @cached_property
    def covariance(self) -> Tensor:
        """The covariance of the counts given the records. Raises LimitExceeded."""
        try:
            return self.table.covariance
        except LimitExceeded as error:
            raise _too_wide(self.attribute, error) from None

    @cached_property
    def evidence(self) -> GainEvidence:
        """The evidence of the table for a split by the attribute."""
        table = self.table
        return weigh(self.counts, self.covariance, table.records, counted=table.counted)

    def trial(self, *, tested: bool) -> tuple[float, float]:
        """Return gain and p-value. If `tested`, the gain due to randomization is subtracted."""
        # Tables of a node are fitted separately, so their sums may differ.
        there = self.counts.sum() > EMPTY * self.table.records
        gain = information_gain(valid_counts(self.counts)) if there else 0.0
        if gain <= LEAST_GAIN:
            return 0.0, math.nan
        return (gain - self.evidence.noise, self.evidence.p_value) if tested else (gain, 0.0)

    def split(self) -> Split:
        """Return the split of the node by the attribute."""
        evidence = self.evidence
        # Information is at most the entropy of the attribute and of the class.
        most = math.log2(min(self.counts.shape))
        p_value = best_of(self.tried, evidence.p_value)
        low, high = (min(end, most) for end in evidence.interval)
        return Split(
            attribute=self.attribute,
            gain=evidence.gain,
            excess=min(evidence.information, most),
            low=low if p_value < UNSURE else 0.0,
            high=high,
            chance=evidence.chance,
            statistic=evidence.statistic,
            degrees=evidence.degrees,
            tried=self.tried,
            p_value=p_value,
        )


def best_split(
    within: Subpopulation,
    target: str,
    attributes: Sequence[str],
    *,
    limit: float | None,
) -> SplitCandidate | None:
    """Return the best attribute to split a node by, or None if no split is worthwhile.

    Attributes whose table cannot be estimated in the node are skipped. If several attributes are
    equally good, the first is chosen. `limit` is the largest p-value; with None, splits are not
    tested. Raises EstimationError: no attribute has an estimate at the root. LimitExceeded: a table
    is too large.
    """
    failed: EstimationError | None = None
    tried: dict[str, tuple[float, float]] = {}
    for name in attributes:
        try:
            tried[name] = candidate(within, name, target, 0).trial(tested=limit is not None)
        except EstimationError as error:
            failed = failed or error
    if failed is not None and not tried and not within.given:
        raise failed
    most = 1.0 if limit is None else limit
    gains = {n: gain for n, (gain, p) in tried.items() if reaches(most, best_of(len(tried), p))}
    if not gains:
        return None
    best = [*gains][first_largest([*gains.values()], scale=_BIT)]
    # Recompute the table: the tables of all candidates together could exceed memory.
    return candidate(within, best, target, len(tried))


def candidate(within: Subpopulation, name: str, target: str, tried: int) -> SplitCandidate:
    """Return an attribute that may split a node. Raises LimitExceeded: its table is too large."""
    try:
        return SplitCandidate(name, within.table([name, target]), tried)
    except LimitExceeded as error:
        raise _too_wide(name, error) from None


def _too_wide(attribute: str, error: LimitExceeded) -> LimitExceeded:
    return LimitExceeded(
        f"Attribute {attribute!r} has too many categories for this tree: {error.message}",
        where=attribute,
        remedy="Leave it out of the attributes, or group its categories.",
    )
