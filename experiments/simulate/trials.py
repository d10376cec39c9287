"""Draw records and randomize them, again and again, as owners do; whatever is learned from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from experiments.production import Owner
from experiments.simulate.sources import Source
from shared.counts import ReportedCounts
from shared.errors import OptionError
from shared.plan import Plan


@dataclass(frozen=True, eq=False)
class Trial:
    """The records of one run, as they are and as they are reported."""

    index: int
    true: ReportedCounts
    reported: ReportedCounts


@dataclass(frozen=True, eq=False)
class Trials:
    """What is repeated: how many records of what, under which plan, how often.

    Every run has a draw key of its own. The same seed gives the same records and reports.

    Raises:
        OptionError: no run, or a negative seed.
    """

    source: Source
    plan: Plan
    records: int
    runs: int
    seed: int

    def __post_init__(self) -> None:
        if self.runs < 1:
            raise OptionError(
                f"{self.runs} runs are none.", where="--runs", remedy="Give 1 or more."
            )
        if self.seed < 0:
            raise OptionError(
                f"A seed of {self.seed} is negative.", where="--seed", remedy="Give 0 or more."
            )

    def everything(self) -> ReportedCounts:
        """Return the true counts of all records the source has, or of one draw from a network."""
        rng = np.random.default_rng([self.seed, self.runs])
        return ReportedCounts(self.source.draw(self.source.records, rng), self._sizes)

    def __iter__(self) -> Iterator[Trial]:
        owner = Owner.of("simulate", self.seed, self.records)
        for index in range(self.runs):
            rng = np.random.default_rng([self.seed, index])
            codes = self.source.draw(self.records, rng)
            reported = owner.report(self.plan, codes, index)
            yield Trial(index, ReportedCounts(codes, self._sizes), reported)

    @property
    def _sizes(self) -> dict[str, int]:
        return {v.name: v.size for v in self.source.domain}
