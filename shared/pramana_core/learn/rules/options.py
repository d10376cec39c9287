"""How itemsets are mined: what counts as frequent, and how that is decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Le

from pramana_core.learn.common.options import InnerShare, Share, require_limits

Decisions = Literal["point", "controlled"]
Against = Literal["records", "population"]

MinimumConfidence = Annotated[float, Ge(0), Le(1)]
"""The least confidence of a rule."""

MINIMUM_CONFIDENCE = 0.8


@dataclass(frozen=True)
class RuleOptions:
    """How itemsets are mined.

    Attributes:
        minimum_support: the least support, as a share of the records, above 0 and at most 1.
        max_length: the most items of an itemset; None for no limit.
        decisions: how the frequent ones are chosen (see `mining`).
        confidence: of the intervals and verdicts.
        false_discovery: the rate that `controlled` decisions keep.
        against: the error of intervals and tests: given the true records, or against their
            population.
        consistent: whether supports are also made consistent (see `mining`).

    Raises:
        OptionError: an option outside its range.
    """

    minimum_support: Share
    max_length: Annotated[int, Ge(1)] | None = None
    decisions: Decisions = "point"
    confidence: InnerShare = 0.95
    false_discovery: InnerShare = 0.05
    against: Against = "records"
    consistent: bool = False

    def __post_init__(self) -> None:
        require_limits(self)
