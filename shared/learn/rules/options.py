"""How itemsets are mined: what counts as frequent, and how that is decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from shared.errors import OptionError
from shared.learn.rules.decisions import Against, require_share

Decisions = Literal["point", "controlled"]


@dataclass(frozen=True)
class RuleOptions:
    """How itemsets are mined.

    Attributes:
        minimum_support: the least support, as a share of the records, above 0 and at most 1.
        max_length: the most items of an itemset; None for no limit.
        decisions: how the frequent ones are chosen (see the module).
        confidence: of the intervals and verdicts.
        false_discovery: the rate that `controlled` decisions keep.
        against: the error of intervals and tests: given the true records, or against their
            population.
        consistent: whether supports are also made consistent (see `consistency`).

    Raises:
        OptionError: an option outside its range.
    """

    minimum_support: float
    max_length: int | None = None
    decisions: Decisions = "point"
    confidence: float = 0.95
    false_discovery: float = 0.05
    against: Against = "records"
    consistent: bool = False

    def __post_init__(self) -> None:
        require_share(self.minimum_support, "minimum_support")
        require_share(self.confidence, "confidence", one=False)
        require_share(self.false_discovery, "false_discovery", one=False)
        if self.max_length is not None and self.max_length < 1:
            raise OptionError(
                f"max_length must be at least 1, not {self.max_length}.", where="max_length"
            )
        for where, known in (("decisions", Decisions), ("against", Against)):
            if getattr(self, where) not in get_args(known):
                raise OptionError(
                    f"{where} cannot be {getattr(self, where)!r}.",
                    where=where,
                    remedy=f"Choose one of {list(get_args(known))}.",
                )
