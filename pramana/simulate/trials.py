"""Draw records and randomize them, again and again, as owners do; whatever is learned from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pramana.setups.owner import SeededOwner
from pramana.simulate.inputs.sources import Source
from pramana_core.errors import OptionError
from pramana_core.marginals.counts import Codes, ReportedCounts
from pramana_core.plan import Plan
from pramana_core.privacy import Amplification

if TYPE_CHECKING:
    from pramana.simulate.inputs.designs import DesignedPlan


def require_repeatable(records: int, runs: int, seed: int, holdout: float) -> None:
    """Raise OptionError for no run, a negative seed, or a share that leaves a side too few."""
    if runs < 1:
        raise OptionError(f"runs must be at least 1, not {runs}.", where="--runs")
    if seed < 0:
        raise OptionError(f"seed must be 0 or more, not {seed}.", where="--seed")
    if not 0 <= holdout < 1 or (holdout and not 0 < round(holdout * records) < records - 1):
        raise OptionError(
            f"Holding out {holdout:g} of {records} records leaves too few on one side.",
            where="--holdout",
            remedy="Give a share between 0 and 1, usually 0.2 to 0.5.",
        )


@dataclass(frozen=True, eq=False)
class Trial:
    """The records of one run, as they are and as they are reported.

    `held_out` are the true codes of records that were neither reported nor counted.
    """

    index: int
    true: ReportedCounts
    reported: ReportedCounts
    held_out: Mapping[str, Codes]


@dataclass(frozen=True, eq=False)
class Trials:
    """What is repeated: how many records of what, under which plan, how often.

    Every run has a draw key of its own. The same seed gives the same records and reports.
    `design` is what a designer says who made the plan; where several owners report by a study plan,
    `plan` is that of all of them together. `holdout` is the share of the records that a run draws
    at random, does not report, and keeps for a test.

    Raises:
        OptionError: no run, a negative seed, or a share that leaves no record to one side.
    """

    source: Source
    plan: Plan
    records: int
    runs: int
    seed: int
    design: DesignedPlan | None = None
    holdout: float = 0.0

    def __post_init__(self) -> None:
        require_repeatable(self.records, self.runs, self.seed, self.holdout)

    @property
    def tested(self) -> int:
        """The number of records held out in each run."""
        return round(self.holdout * self.records)

    @property
    def same_records(self) -> bool:
        """Whether all runs report the same records: a table, whole."""
        return not self.tested and self.source.same_records(self.records)

    @property
    def told(self) -> Amplification:
        """The amplification of the plan about the whole record."""
        return Amplification.together(self.plan.blocks)

    def described(self) -> dict[str, Any]:
        """Return, as JSON, what the records are of."""
        source = self.source
        return {
            "kind": source.kind,
            "name": source.name,
            "variables": len(source.domain),
            "note": source.note,
        }

    def setting(self) -> dict[str, Any]:
        """Return, as JSON, what decides records and reports."""
        told = self.told
        return {
            "records": self.records,
            "runs": self.runs,
            "seed": self.seed,
            **(self.design.as_dict() if self.design is not None else {"design": None}),
            "gamma": told.gamma if np.isfinite(told.gamma) else None,
            "plan_digest": self.plan.digest,
        }

    def everything(self) -> ReportedCounts:
        """Return the true counts of all records the source has, or of one draw from a network."""
        rng = np.random.default_rng([self.seed, self.runs])
        return ReportedCounts(self.source.draw(self.source.records, rng), self._sizes)

    def __iter__(self) -> Iterator[Trial]:
        owner = SeededOwner.of("simulate", self.seed, self.records - self.tested)
        drawn = self.plan if self.design is None else self.design.drawn
        for index in range(self.runs):
            rng = np.random.default_rng([self.seed, index])
            codes, held_out = self._split(self.source.draw(self.records, rng), rng)
            reported = owner.report(drawn, codes, index)
            yield Trial(index, ReportedCounts(codes, self._sizes), reported, held_out)

    def _split(
        self, codes: Mapping[str, Codes], rng: np.random.Generator
    ) -> tuple[Mapping[str, Codes], Mapping[str, Codes]]:
        if not self.tested:
            return codes, {name: column[:0] for name, column in codes.items()}
        order = rng.permutation(self.records)
        held, kept = order[: self.tested], order[self.tested :]
        return _rows(codes, kept), _rows(codes, held)

    @property
    def _sizes(self) -> dict[str, int]:
        return {v.name: v.size for v in self.source.domain}


def _rows(
    codes: Mapping[str, Codes], rows: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> dict[str, Codes]:
    return {name: column[rows] for name, column in codes.items()}
