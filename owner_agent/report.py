"""What a plan reveals and how accurate its results will be, before anything is published."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from owner_agent.planning import Planned
from shared.errors import SingularChannel
from shared.plan import Block
from shared.privacy import (
    epsilon,
    gamma,
    gamma_within_groups,
    largest_proportion_se,
    posterior_bound,
)
from shared.transition import Dense, Grouped, Identity, Symmetric, Transition

PRIOR = 0.05
"""rho_1: the prior probability whose largest posterior is reported."""

ALARMING = 0.95
"""A posterior from which on a sensitive variable is warned of: next to a proof."""


@dataclass(frozen=True)
class VariableReport:
    """What one variable's channel costs; `gamma` and `epsilon` may be infinite.

    `gamma_within` bounds what is learned beyond the group, where groups are reported truthfully.
    `se` is the largest standard error of an estimated proportion, over all categories and true
    distributions; None where the channel is not square and the moment estimate does not exist.
    """

    name: str
    column: str
    block: str
    channel: str
    sensitive: bool
    gamma: float
    gamma_within: float
    epsilon: float
    rho2: float
    se: float | None

    def as_dict(self) -> dict[str, Any]:
        """Return JSON; an infinite number is null, which JSON has no other word for."""
        return {
            "name": self.name,
            "column": self.column,
            "block": self.block,
            "channel": self.channel,
            "sensitive": self.sensitive,
            "gamma": _finite(self.gamma),
            "gamma_within_groups": _finite(self.gamma_within),
            "epsilon": _finite(self.epsilon),
            "rho_2": self.rho2,
            "standard_error": self.se,
        }


@dataclass(frozen=True)
class PlanReport:
    """The report of a plan at a number of records."""

    records: int
    plan_digest: str
    variables: tuple[VariableReport, ...]
    warnings: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return JSON (see `VariableReport.as_dict`)."""
        return {
            "records": self.records,
            "plan_digest": self.plan_digest,
            "rho_1": PRIOR,
            "variables": [variable.as_dict() for variable in self.variables],
            "warnings": list(self.warnings),
        }


def report(plan: Planned, records: int) -> PlanReport:
    """Report on a plan. Raises OptionError if `records` is not positive."""
    rows = tuple(
        _variable_report(plan, block, name, records)
        for block in plan.plan.blocks
        for name in block.names
    )
    return PlanReport(records, plan.plan.digest, rows, warnings(plan))


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
    return "∞" if math.isinf(value) else f"{value:.4g}"


def describe(channel: Transition) -> str:
    """Return a channel's family and strength in a few words."""
    if isinstance(channel, Identity):
        return "none"
    if isinstance(channel, Symmetric):
        kept = channel.keep_units / 2**32
        return f"symmetric, kept {kept:.3g}"
    if isinstance(channel, Grouped):
        return f"grouped in {len(channel.groups)}"
    if isinstance(channel, Dense):
        return f"matrix {channel.shape[0]} x {channel.shape[1]}"
    return type(channel).__name__.lower()


def _variable_report(plan: Planned, block: Block, name: str, records: int) -> VariableReport:
    amplification = gamma(block.channel)
    try:
        se = largest_proportion_se(block, name, records)
    except SingularChannel:
        se = None
    return VariableReport(
        name=name,
        column=plan.columns[name],
        block=block.name,
        channel=describe(block.channel),
        sensitive=name in plan.sensitive,
        gamma=amplification,
        gamma_within=gamma_within_groups(block.channel),
        epsilon=epsilon(block.channel),
        rho2=posterior_bound(amplification, PRIOR),
        se=se,
    )


def _warning(name: str, amplification: float) -> str:
    if math.isinf(amplification):
        return f"{name} is sensitive, and some of its reports rule out a truth with certainty."
    return (
        f"{name} is sensitive, and some report can turn a belief of {PRIOR:.0%} about it into one"
        f" of {ALARMING:.0%} or more (gamma {number(amplification)})."
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
