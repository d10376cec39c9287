"""What a plan reveals and how accurate its results will be, before anything is published.

Computed from the plan, the number of records and public beliefs only: nothing else of the table
enters, so that the report may be shown to whoever has to approve the release.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from owner_agent.planning import Planned
from owner_agent.reporting.curves import StrengthCurve, strength_curve
from owner_agent.reporting.entries import (
    Assumptions,
    BlockReport,
    VariableReport,
    block_report,
    holds_sensitive,
    variable_report,
)
from owner_agent.reporting.losses import Losses
from owner_agent.reporting.measures import BELIEF, POSTERIOR, PRIOR, Bounds
from owner_agent.reporting.precision import record_counts
from owner_agent.reporting.seen import joint_prior
from shared.errors import OptionError, PramanaError
from shared.plan import Block
from shared.privacy import gamma, posterior_bound, simultaneous_gamma

ALARMING = 0.95
"""A posterior from which on a sensitive variable is warned of: next to a proof."""

T = TypeVar("T")
Tick = Callable[[int, int], None]
"""Called with (done, total)."""


def unwatched(done: int, total: int) -> None:
    """Report progress to nobody."""


@dataclass(frozen=True)
class PlanReport:
    """The report of a plan at a number of records.

    `together` is gamma about all sensitive variables at once: the product over the blocks that hold
    any. `curves` has a curve, or the reason for none, of each block.
    """

    records: int
    assumed: Assumptions
    plan_digest: str
    variables: tuple[VariableReport, ...]
    blocks: tuple[BlockReport, ...]
    together: Bounds
    curves: dict[str, StrengthCurve | str]
    losses: Losses | None
    warnings: tuple[str, ...]

    def widths(self) -> dict[str, list[float]]:
        """Return each variable's half width at each of `record_counts`, where it has one."""
        return {
            v.name: [v.half_width * (self.records / n) ** 0.5 for n in record_counts(self.records)]
            for v in self.variables
            if v.half_width is not None
        }

    def as_dict(self) -> dict[str, Any]:
        """Return JSON; an infinite number is null, and `unavailable` says why any other is."""
        sensitive = [block.name for block in self.blocks if block.sensitive]
        drawn = [c.as_dict() for c in self.curves.values() if isinstance(c, StrengthCurve)]
        return {
            "records": self.records,
            "plan_digest": self.plan_digest,
            "rho_1": PRIOR,
            "rho_2": POSTERIOR,
            "belief": BELIEF,
            "threshold": self.assumed.threshold,
            "priors_given": list(self.assumed.priors),
            "variables": [v.as_dict(self.records) for v in self.variables],
            "blocks": [b.as_dict(self.records) for b in self.blocks],
            "together": {"blocks": sensitive, **self.together.as_dict()},
            "curves": drawn,
            "no_curves": {k: c for k, c in self.curves.items() if isinstance(c, str)},
            "widths": {
                "records": list(record_counts(self.records)),
                "half_widths": self.widths(),
            },
            "ledger": None if self.losses is None else self.losses.as_dict(),
            "warnings": list(self.warnings),
        }


def report(
    plan: Planned,
    records: int,
    assumed: Assumptions = Assumptions(),  # noqa: B008 - frozen
    losses: Losses | None = None,
    tick: Tick = unwatched,
) -> PlanReport:
    """Report on a plan.

    Args:
        plan: the plan.
        records: N, how many will be reported.
        assumed: what an attacker is taken to believe.
        losses: what left before and what this plan adds, where anything left.
        tick: told how many steps are done.

    Raises:
        OptionError: `records` is not positive.
        LimitExceeded: a channel without closed form whose gamma is out of reach.
    """
    if records < 1:
        raise OptionError(f"There are {records} records; one or more are needed.", where="records")
    blocks = plan.plan.blocks
    steps = _counted(2 * len(blocks) + len(plan.variables), tick)
    variables = tuple(
        _after(steps, variable_report(plan, block, name, records, assumed))
        for block in blocks
        for name in block.names
    )
    joint = tuple(_after(steps, block_report(plan, block, records, assumed)) for block in blocks)
    curves = {b.name: _after(steps, _curve(b, assumed)) for b in blocks}
    sensitive = [b for b in blocks if holds_sensitive(plan, b)]
    together = simultaneous_gamma(sensitive)
    return PlanReport(
        records=records,
        assumed=assumed,
        plan_digest=plan.plan.digest,
        variables=variables,
        blocks=joint,
        together=Bounds(together, together),
        curves={name: curve for name, curve in curves.items() if curve is not None},
        losses=losses,
        warnings=warnings(plan),
    )


def warnings(plan: Planned) -> tuple[str, ...]:
    """Return a sentence for each sensitive variable of which some report proves nearly anything."""
    return tuple(
        _warning(name, amplification)
        for block in plan.plan.blocks
        if posterior_bound(amplification := gamma(block.channel), PRIOR) >= ALARMING
        for name in block.names
        if name in plan.sensitive
    )


def number(value: float) -> str:
    """Write a number with four digits, or the sign of infinity."""
    return "∞" if value == float("inf") else f"{value:.4g}"


def _counted(total: int, tick: Tick) -> Iterator[None]:
    for done in itertools.count(1):
        tick(done, total)
        yield


def _after(steps: Iterator[None], made: T) -> T:
    next(steps)
    return made


def _curve(block: Block, assumed: Assumptions) -> StrengthCurve | str | None:
    try:
        return strength_curve(block, joint_prior(block, assumed.priors))
    except PramanaError as error:
        return error.message


def _warning(name: str, amplification: float) -> str:
    if amplification == float("inf"):
        return f"{name} is sensitive, and some of its reports rule out a truth with certainty."
    return (
        f"{name} is sensitive, and some report can turn a belief of {PRIOR:.0%} about it into one"
        f" of {ALARMING:.0%} or more (gamma {number(amplification)})."
    )
