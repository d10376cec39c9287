"""What the report says of each variable and of each block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from owner_agent.report.accuracy import Z, joint_se, share_reported, variable_se
from owner_agent.report.losses import Attack, Bounds, Reasons, attack, attempt, finite
from owner_agent.site.planning import PlannedSite
from pramana_core.channels import RESOLUTION, RandomSymmetric, Transition
from pramana_core.plan import Block
from pramana_core.privacy import PRIOR, gamma, posterior_range


@dataclass(frozen=True)
class VariableReport:
    """What one variable's channel costs.

    `bounds` are those of its block. `attack` is what the whole report of the block tells about
    this variable. `se` is the largest standard error of an estimated proportion, over all
    categories and true distributions. What is None has its reason in `reasons`.
    """

    name: str
    column: str
    block: str
    channel: str
    sensitive: bool
    categories: tuple[str, ...]
    bounds: Bounds
    attack: Attack
    se: float | None
    condition_number: float
    reported: float
    reasons: Reasons

    @property
    def half_width(self) -> float | None:
        """Half the width of the 95 % interval of the worst proportion."""
        return None if self.se is None else Z * self.se

    def as_dict(self, records: int) -> dict[str, Any]:
        """Return JSON for a number of records; an infinite number is null."""
        return {
            "name": self.name,
            "column": self.column,
            "block": self.block,
            "channel": self.channel,
            "sensitive": self.sensitive,
            **self.bounds.as_dict(),
            **self.attack.figures,
            "posteriors": self._posteriors(),
            "condition_number": finite(self.condition_number),
            "standard_error": self.se,
            "half_width": self.half_width,
            "records_reporting": self.reported * records,
            "unavailable": dict(self.reasons),
        }

    def _posteriors(self) -> list[dict[str, Any]] | None:
        if self.attack.prior is None or self.attack.worst is None:
            return None
        return [
            {"category": label, "prior": prior, "worst": worst, "limit": self.limit(prior)}
            for label, prior, worst in zip(
                self.categories, self.attack.prior, self.attack.worst, strict=True
            )
        ]

    def limit(self, prior: float) -> float:
        """Return the most its block's report can make of a prior, under any beliefs about it."""
        return self.bounds.told.grown(prior) if 0 < prior < 1 else prior


@dataclass(frozen=True)
class ChoiceReport:
    """One part of a sampled block: its variables, its probability and its own gamma."""

    variables: tuple[str, ...]
    probability: float
    gamma: float

    def as_dict(self, records: int) -> dict[str, Any]:
        """Return JSON for a number of records."""
        return {
            "variables": list(self.variables),
            "probability": self.probability,
            "records": self.probability * records,
            "gamma": finite(self.gamma),
        }


@dataclass(frozen=True)
class BlockReport:
    """What a block reveals about its variables together.

    `se` is the largest standard error of the share of one combination. `choices` are the parts of a
    sampled block. `posterior_range` is where the posterior of a prior of `PRIOR` lies under the
    record's own matrix, where each record has one.
    """

    name: str
    variables: tuple[str, ...]
    channel: str
    sensitive: bool
    combinations: int
    bounds: Bounds
    attack: Attack
    condition_number: float
    se: float | None
    choices: tuple[ChoiceReport, ...]
    posterior_range: tuple[float, float] | None
    reasons: Reasons

    def as_dict(self, records: int) -> dict[str, Any]:
        """Return JSON for a number of records; an infinite number is null."""
        return {
            "name": self.name,
            "variables": list(self.variables),
            "channel": self.channel,
            "sensitive": self.sensitive,
            "combinations": self.combinations,
            **self.bounds.as_dict(),
            **self.attack.figures,
            "condition_number": finite(self.condition_number),
            "combination_standard_error": self.se,
            "combination_half_width": None if self.se is None else Z * self.se,
            "choices": [choice.as_dict(records) for choice in self.choices],
            "posterior_range": None if self.posterior_range is None else [*self.posterior_range],
            "unavailable": dict(self.reasons),
        }


def variable_report(
    plan: PlannedSite, block: Block, name: str, records: int, bounds: Bounds
) -> VariableReport:
    """Report on one variable of a block, which has these bounds."""
    reasons: Reasons = {}
    variable = next(v for v in block.variables if v.name == name)
    alone = block.restrict([name])
    return VariableReport(
        name=name,
        column=plan.columns[name],
        block=block.name,
        channel=block.channel.describe(),
        sensitive=name in plan.sensitive,
        categories=variable.categories,
        bounds=bounds,
        attack=(found := _attack(block, name)),
        se=attempt(reasons, "standard_error", lambda: variable_se(block, name, records)),
        condition_number=(block.channel if alone is None else alone).condition_number,
        reported=share_reported(block, name),
        reasons=reasons | found.reasons,
    )


def _attack(block: Block, name: str) -> Attack:
    """Return what a block's whole report tells of one variable, all beliefs being uniform.

    Of a mixture that is what the variable's own report tells.
    """
    channel: Transition | None = block.channel
    if len(block.names) > 1:
        alone = block.restrict([name])
        channel = alone if block.channel.mixture is not None else None
    if channel is None:
        return Attack.unknown(
            "Its block reports variables together; gamma bounds what that tells of one."
        )
    return attack(channel)


def block_report(plan: PlannedSite, block: Block, records: int, bounds: Bounds) -> BlockReport:
    """Report on a block's variables together, which has these bounds."""
    reasons: Reasons = {}
    channel, size = block.channel, block.channel.shape[0]
    found = attack(channel)
    return BlockReport(
        name=block.name,
        variables=block.names,
        channel=channel.describe(),
        sensitive=holds_sensitive(plan, block),
        combinations=size,
        bounds=bounds,
        attack=found,
        condition_number=channel.condition_number,
        se=attempt(reasons, "combination_standard_error", lambda: _se(block, records)),
        choices=_choices(block),
        posterior_range=(
            posterior_range(channel, PRIOR) if isinstance(channel, RandomSymmetric) else None
        ),
        reasons=reasons | found.reasons,
    )


def _se(block: Block, records: int) -> float:
    if len(block.names) == 1:
        return variable_se(block, block.names[0], records)
    return joint_se(block, records)


def _choices(block: Block) -> tuple[ChoiceReport, ...]:
    # Thousands of subsets share a channel or two.
    gammas = {channel: gamma(channel) for channel in {c.channel for c in block.channel.choices}}
    return tuple(
        ChoiceReport(
            tuple(block.names[axis] for axis in choice.axes),
            choice.weight / RESOLUTION,
            gammas[choice.channel],
        )
        for choice in block.channel.choices
    )


def holds_sensitive(plan: PlannedSite, block: Block) -> bool:
    """Whether some variable of a block is sensitive."""
    return any(name in plan.sensitive for name in block.names)
