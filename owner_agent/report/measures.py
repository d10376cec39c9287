"""How much a plan's variables and blocks reveal, and how accurate estimates are, as JSON rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from owner_agent.site.planning import PlannedSite
from pramana_core.channels import RESOLUTION, Transition
from pramana_core.errors import LimitExceeded, OptionError, SingularChannel
from pramana_core.marginals.score_interval import normal_quantile
from pramana_core.marginals.tables import LEVEL
from pramana_core.plan import Block
from pramana_core.privacy import (
    PRIOR,
    Amplification,
    attacker_accuracy,
    gamma,
    largest_proportion_se,
)
from pramana_core.report.numbers import finite

ALARMING = 0.95
"""Posterior from which a report warns of a sensitive variable: almost a proof."""

HIGH = 0.5
"""Posterior from which a table shows the value in red."""

Z = normal_quantile(LEVEL)
"""Half the width of a 95 % interval in standard errors."""

DECODED_ENTRIES = 1 << 22
"""Largest estimator, in categories times reports, that is computed for a report."""

Measures = dict[str, Any]
T = TypeVar("T")


def bounds(loss: Amplification, within: float | None = None) -> Measures:
    """Return privacy bounds that are valid for every prior, as JSON values.

    `within` is the gamma against a reader who already knows the record's group.
    """
    return {
        "gamma": finite(loss.gamma),
        "gamma_within_groups": finite(loss.gamma if within is None else within),
        "epsilon": finite(loss.epsilon),
        "rho_2": loss.grown(PRIOR),
    }


def holds_sensitive(plan: PlannedSite, block: Block) -> bool:
    """Whether a block contains a sensitive variable."""
    return any(name in plan.sensitive for name in block.names)


def together(plan: PlannedSite) -> Amplification:
    """Return the joint privacy bound for all sensitive variables. Raises LimitExceeded."""
    return Amplification.together([b for b in plan.plan.blocks if holds_sensitive(plan, b)])


def variable_row(
    plan: PlannedSite, block: Block, name: str, records: int, limits: Measures
) -> Measures:
    """Return a variable's disclosure and accuracy as a row. `limits` are its block's bounds."""
    reasons: dict[str, str] = {}
    channel: Transition | None = block.channel
    if len(block.names) > 1:
        channel = block.restrict([name]) if block.channel.mixture is not None else None
    se = _attempt(reasons, "standard_error", lambda: _variable_se(block, name, records))
    return {
        "name": name,
        "column": plan.columns[name],
        "block": block.name,
        "channel": block.channel.describe(),
        "sensitive": name in plan.sensitive,
        **limits,
        **_guess(channel, reasons),
        "standard_error": se,
        "half_width": None if se is None else Z * se,
        "records_reporting": records * block.channel.share_reported(block.names.index(name)),
        "unavailable": reasons,
    }


def block_row(plan: PlannedSite, block: Block, records: int, limits: Measures) -> Measures:
    """Return the joint disclosure and accuracy of a block's variables.

    `limits` are the bounds of the block.
    """
    reasons: dict[str, str] = {}
    channel = block.channel
    gammas = {one: gamma(one) for one in {choice.channel for choice in channel.choices}}
    return {
        "name": block.name,
        "variables": list(block.names),
        "channel": channel.describe(),
        "sensitive": holds_sensitive(plan, block),
        "combinations": channel.shape[0],
        **limits,
        **_guess(channel, reasons),
        "choices": [
            {
                "variables": [block.names[axis] for axis in choice.axes],
                "probability": choice.weight / RESOLUTION,
                "records": choice.weight / RESOLUTION * records,
                "gamma": finite(gammas[choice.channel]),
            }
            for choice in channel.choices
        ],
        "unavailable": reasons,
    }


def _attempt(reasons: dict[str, str], name: str, compute: Callable[[], T]) -> T | None:
    try:
        return compute()
    except (SingularChannel, LimitExceeded, OptionError) as error:
        reasons[name] = error.message
        return None


def _guess(channel: Transition | None, reasons: dict[str, str]) -> Measures:
    """Return how often an attacker with a uniform prior is right, without and with a report."""
    guess = None
    if channel is not None:
        guess = _attempt(reasons, "guess", lambda: attacker_accuracy(channel))
    return {
        "guess_blind": None if guess is None else guess.blind,
        "guess_expected": None if guess is None else guess.expected,
    }


def _variable_se(block: Block, name: str, records: int) -> float:
    alone = block.restrict([name])
    if alone is not None and alone.withheld:
        raise SingularChannel("No record reports this variable.")
    pooled = alone is None and any(choice.channel.tags for choice in block.channel.choices)
    if not pooled and (alone is None or alone.mixture is None):
        true, reported = (alone or block.channel).shape
        if true * reported > DECODED_ENTRIES:
            raise LimitExceeded(
                f"The block has {reported:,} different reports, too many to compute the accuracy."
            )
    return largest_proportion_se(block, name, records)
