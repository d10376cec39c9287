"""What a plan's blocks and variables tell, and how accurate estimates from them are, as JSON rows.

An infinite number is null; what has no value for another reason has that reason in `unavailable`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from owner_agent.site.planning import PlannedSite
from pramana_core.channels import RESOLUTION, RandomSymmetric, Transition
from pramana_core.domain import Variable
from pramana_core.errors import LimitExceeded, OptionError, SingularChannel
from pramana_core.marginals.score_interval import normal_quantile
from pramana_core.marginals.tables import LEVEL
from pramana_core.plan import Block
from pramana_core.privacy import (
    PRIOR,
    Amplification,
    attacker_accuracy,
    conditional_entropy,
    gamma,
    k_anonymity,
    largest_proportion_se,
    posterior_range,
    worst_posterior,
)
from pramana_core.report.numbers import finite

ALARMING = 0.95
"""A sensitive variable is warned of from this posterior on: it is next to a proof."""

POSTERIOR = 0.5
"""rho_2: the report says which priors stay below this posterior."""

BELIEF = 0.95
"""The belief whose largest fall is reported."""

THRESHOLD = 0.01
"""A category with a smaller posterior is not plausible (Ma 8 (b))."""

Z = normal_quantile(LEVEL)
"""Half the width of a 95 % interval in standard errors."""

LISTED_CATEGORIES = 1000
"""Posteriors of more categories are not listed."""

DECODED_ENTRIES = 1 << 22
"""Larger estimators, categories by reports, are not computed for a report."""

JOINT_LISTED, JOINT_NAMED = 512, 1 << 16
"""Combinations whose error is computed: by inverting a matrix, and where it has a closed form."""

Measures = dict[str, Any]
T = TypeVar("T")


def bounds(told: Amplification, within: float | None = None) -> Measures:
    """Return the bounds for every prior; `within` is gamma for whoever knows the group."""
    return {
        "gamma": finite(told.gamma),
        "gamma_within_groups": finite(told.gamma if within is None else within),
        "epsilon": finite(told.epsilon),
        "rho_2": told.grown(PRIOR),
        "rho_1": told.fallen(POSTERIOR),
        "falls_to": told.fallen(BELIEF),
    }


def holds_sensitive(plan: PlannedSite, block: Block) -> bool:
    """Whether some variable of a block is sensitive."""
    return any(name in plan.sensitive for name in block.names)


def together(plan: PlannedSite) -> Amplification:
    """Return the bound on all sensitive variables at once. Raises LimitExceeded."""
    return Amplification.together([b for b in plan.plan.blocks if holds_sensitive(plan, b)])


def variable_row(
    plan: PlannedSite, block: Block, name: str, records: int, limits: Measures
) -> Measures:
    """Return the measures of a variable; `limits` are the bounds of its block.

    `standard_error` is the largest of an estimated proportion, over categories and true
    distributions.
    """
    reasons: dict[str, str] = {}
    variable = next(v for v in block.variables if v.name == name)
    alone = block.restrict([name])
    channel: Transition | None = block.channel
    if len(block.names) > 1:
        channel = alone if block.channel.mixture is not None else None
    se = _attempt(reasons, "standard_error", lambda: _variable_se(block, name, records))
    return {
        "name": name,
        "column": plan.columns[name],
        "block": block.name,
        "channel": block.channel.describe(),
        "sensitive": name in plan.sensitive,
        **limits,
        **_attack(channel, reasons),
        "posteriors": _posteriors(channel, variable, limits["epsilon"], reasons),
        "condition_number": finite((alone or block.channel).condition_number),
        "standard_error": se,
        "half_width": None if se is None else Z * se,
        "records_reporting": records * block.channel.share_reported(block.names.index(name)),
        "unavailable": reasons,
    }


def block_row(plan: PlannedSite, block: Block, records: int, limits: Measures) -> Measures:
    """Return the measures of a block's variables together; `limits` are its bounds.

    `combination_standard_error` is the largest of the share of one combination. `choices` are the
    parts of a sampled block. `posterior_range` is where the posterior of a prior of `PRIOR` lies
    under a record's own matrix, where each record has one.
    """
    reasons: dict[str, str] = {}
    channel = block.channel
    gammas = {one: gamma(one) for one in {choice.channel for choice in channel.choices}}
    se = _attempt(reasons, "combination_standard_error", lambda: _joint_se(block, records))
    own = posterior_range(channel, PRIOR) if isinstance(channel, RandomSymmetric) else None
    return {
        "name": block.name,
        "variables": list(block.names),
        "channel": channel.describe(),
        "sensitive": holds_sensitive(plan, block),
        "combinations": channel.shape[0],
        **limits,
        **_attack(channel, reasons),
        "condition_number": finite(channel.condition_number),
        "combination_standard_error": se,
        "combination_half_width": None if se is None else Z * se,
        "choices": [
            {
                "variables": [block.names[axis] for axis in choice.axes],
                "probability": choice.weight / RESOLUTION,
                "records": choice.weight / RESOLUTION * records,
                "gamma": finite(gammas[choice.channel]),
            }
            for choice in channel.choices
        ],
        "posterior_range": None if own is None else [*own],
        "unavailable": reasons,
    }


def record_counts(records: int) -> tuple[int, ...]:
    """Return the numbers of records at which widths are predicted: the 1, 2, 5 of each decade."""
    last = max(6, math.ceil(math.log10(records)) + 1)
    ladder = {m * 10**e for e in range(2, last) for m in (1, 2, 5)} | {10**last}
    return tuple(sorted(ladder | {records}))


def _attempt(reasons: dict[str, str], name: str, compute: Callable[[], T]) -> T | None:
    try:
        return compute()
    except (SingularChannel, LimitExceeded, OptionError) as error:
        reasons[name] = error.message
        return None


_JOINT = "Its block reports variables together; gamma bounds what that tells of one."


def _attack(channel: Transition | None, reasons: dict[str, str]) -> Measures:
    """Return what an attacker learns and guesses to whom all categories are equally likely."""
    left = k = guess = None
    if channel is not None:
        measured = channel
        left = _attempt(reasons, "conditional_entropy", lambda: conditional_entropy(measured))
        k = _attempt(reasons, "k_anonymity", lambda: k_anonymity(measured, THRESHOLD))
        guess = _attempt(reasons, "guess", lambda: attacker_accuracy(measured))
    return {
        # Over the possible categories, which the blind guess counts.
        "entropy": None if left is None or guess is None else -math.log2(guess.blind),
        "conditional_entropy": left,
        "k_anonymity": None if k is None else k.categories,
        "dist_k": None if k is None else k.least_divergence,
        "dist_k_worst": None if k is None else k.worst_divergence,
        "guess_blind": None if guess is None else guess.blind,
        "guess_expected": None if guess is None else guess.expected,
        "guess_worst": None if guess is None else guess.worst,
    }


def _posteriors(
    channel: Transition | None, variable: Variable, epsilon: float | None, reasons: dict[str, str]
) -> list[Measures] | None:
    """Return each category's prior, largest posterior, and limit under any other beliefs."""
    if channel is None:
        reasons["posteriors"] = _JOINT
        return None
    if channel.shape[0] > LISTED_CATEGORIES:
        reasons["posteriors"] = f"{channel.shape[0]:,} categories are too many to list."
        return None
    worst = _attempt(reasons, "posteriors", lambda: worst_posterior(channel))
    if worst is None:
        return None
    told = Amplification(math.inf if epsilon is None else epsilon)
    possible = np.asarray(worst) > 0
    priors = (possible / possible.sum()).tolist()
    return [
        {
            "category": label,
            "prior": prior,
            "worst": float(high),
            "limit": told.grown(prior) if 0 < prior < 1 else prior,
        }
        for label, prior, high in zip(variable.categories, priors, worst, strict=True)
    ]


def _variable_se(block: Block, name: str, records: int) -> float:
    alone = block.restrict([name])
    if alone is not None and alone.withheld:
        raise SingularChannel("No record reports this variable.")
    if alone is None or alone.mixture is None:
        true, reported = (alone or block.channel).shape
        if true * reported > DECODED_ENTRIES:
            raise LimitExceeded(
                f"An estimator over {reported:,} different reports is too large to list here."
            )
    return largest_proportion_se(block, name, records)


def _joint_se(block: Block, records: int) -> float:
    channel, size = block.channel, block.channel.shape[0]
    if len(block.names) == 1:
        return _variable_se(block, block.names[0], records)
    if not math.isfinite(channel.condition_number):
        raise SingularChannel(
            "No record reports all variables of the block, so single combinations cannot be"
            " estimated by moments; pairs that are reported together can."
            if channel.choices
            else "The channel has no inverse."
        )
    largest = JOINT_LISTED if channel.mixture is None else JOINT_NAMED
    if size > largest or channel.report_sizes((size,)) is None:
        raise LimitExceeded(
            f"The error of each of {size:,} combinations is not computed for this channel."
        )
    combined = Variable("combination", tuple(map(str, range(size))))
    return largest_proportion_se(Block((combined,), channel), combined.name, records)
