"""Privacy against the strength p of a block's family, and widths against records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from owner_agent.costs.measures import finite
from owner_agent.report.families import Strength, strength
from pramana_core.channels import Transition
from pramana_core.errors import PramanaError
from pramana_core.marginals.counts import Tensor
from pramana_core.plan import Block
from pramana_core.privacy import attacker_accuracy, conditional_entropy, gamma_within_groups

POINTS = 48


@dataclass(frozen=True)
class StrengthCurve:
    """A block's measures for every p of its family; `at` is the plan's own.

    p runs from next to nothing to where the report says nothing, or to the plan's own beyond that.
    `gamma` is that within groups where groups are reported truthfully.
    """

    block: str
    at: float
    p: tuple[float, ...]
    gamma: tuple[float, ...]
    entropy: tuple[float, ...]
    guess: tuple[float, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return JSON."""
        return {
            "block": self.block,
            "plan_p": self.at,
            "p": list(self.p),
            "gamma": [finite(value) for value in self.gamma],
            "conditional_entropy": list(self.entropy),
            "guess_expected": list(self.guess),
        }


def strength_curve(block: Block, prior: Tensor | None) -> StrengthCurve | str | None:
    """Return the curve of a block, the reason for none, or None for a block left as it is."""
    if block.channel.is_identity:
        return None
    found = strength(block.channel)
    if isinstance(found, str):
        return found
    try:
        return _curve(block, found, prior)
    except PramanaError as error:
        return error.message


def _curve(block: Block, family: Strength, prior: Tensor | None) -> StrengthCurve:
    start = min(0.01, family.most / 100, family.p / 2) if family.p > 0 else 0.01
    # Denser where p is small, for there gamma is steep.
    grid = start + (max(family.most, family.p) - start) * np.linspace(0, 1, POINTS) ** 2
    points = tuple(sorted({float(p) for p in grid} | {family.p}))
    channels = [block.channel if p == family.p else family.at(p) for p in points]
    return StrengthCurve(
        block=block.name,
        at=family.p,
        p=points,
        gamma=tuple(gamma_within_groups(channel) for channel in channels),
        entropy=tuple(conditional_entropy(channel, prior) for channel in channels),
        guess=tuple(_guess(channel, prior) for channel in channels),
    )


def _guess(channel: Transition, prior: Tensor | None) -> float:
    return attacker_accuracy(channel, prior).expected
