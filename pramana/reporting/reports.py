"""Randomized records together with the plan that made them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pramana.frames.codes import decode, encode
from pramana.frames.tables import Frame, shown
from shared.domain import Domain
from shared.errors import PlanError
from shared.marginals.counts import Codes, ReportedCounts
from shared.plan import Plan
from shared.privacy import Amplification
from shared.wire.parts import Keys as Pseudonyms

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Reports:
    """What left an owner: randomized records, and the plan that says how they were randomized.

    Attributes:
        plan: the transition matrices, by block.
        codes: the reported codes by variable, N of each; a code beyond the categories is withheld.
        pseudonyms: N of 128 bits, ascending; None where the reports were not made here.
        draws: the identity of each randomized block's draws, by block: equal identities are the
            same draws, which tell nothing new (see `accountant`). None where they are not known.
    """

    plan: Plan
    codes: Mapping[str, Codes]
    pseudonyms: Pseudonyms | None = None
    draws: Mapping[str, str] | None = None

    @classmethod
    def from_frame(cls, frame: Frame, plan: Plan) -> Reports:
        """Take reports that come from elsewhere, a column per variable, as labels.

        Empty cells of a variable that a plan withholds from some records are withheld.

        Raises:
            TableError, MissingColumn, UnknownCategory: the table does not fit the plan.
            PlanError: a plan whose reports are not the variables' own categories.
        """
        require_plan(plan)
        codes = encode(frame, plan.domain, "frame", missing=_withholds(plan))
        return cls(plan, codes)

    @property
    def domain(self) -> Domain:
        """The variables, with their true categories."""
        return self.plan.domain

    @cached_property
    def counts(self) -> ReportedCounts:
        """The reports as what estimators count."""
        return ReportedCounts(self.codes, self.plan.reported_sizes)

    def __len__(self) -> int:
        return self.counts.records

    @cached_property
    def amplification(self) -> Amplification:
        """What one person's whole record tells, over all blocks."""
        blocks = [block for block in self.plan.blocks if not block.channel.is_identity]
        return Amplification.together(blocks)

    @property
    def gamma(self) -> float:
        """The amplification of the whole record: how much its odds can change, at most."""
        return self.amplification.gamma

    @property
    def epsilon(self) -> float:
        """Its logarithm."""
        return self.amplification.epsilon

    def to_frame(self) -> pd.DataFrame:
        """Return the reports as labels, a row per record; what was withheld is missing."""
        return decode(self.codes, self.domain)

    def __repr__(self) -> str:
        names = ", ".join(self.domain.names)
        return (
            f"Reports({len(self):,} records of {names}; whole record: gamma"
            f" {self.amplification.written_gamma}, epsilon {self.epsilon:.4g})"
        )


def require_plan(plan: object, argument: str = "plan") -> Plan:
    """Return a plan. Raises PlanError where something else was given."""
    if not isinstance(plan, Plan):
        raise PlanError(f"{argument} must be a Plan, not {shown(plan)}.", where=argument)
    return plan


def _withholds(plan: Plan) -> bool:
    return any(plan.reported_sizes[v.name] > v.size for v in plan.domain)
