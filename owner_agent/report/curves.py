"""Privacy against the strength p of a block's family, and widths against records.

Also here:

* The one strength that some families of channels have: the probability of replacing.
* What an attacker is taken to believe before a report: public beliefs from a file, or uniform.
* How accurate the miner's estimates will be, before anybody estimates anything.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import singledispatch
from pathlib import Path
from typing import Any

import numpy as np

from owner_agent.report.losses import finite
from owner_agent.site.planning import PlannedSite
from pramana_core.channels import (
    Grouped,
    StructuralZeros,
    Symmetric,
    Transition,
    UnitTransition,
)
from pramana_core.domain import Variable
from pramana_core.errors import LimitExceeded, OptionError, PramanaError, SingularChannel
from pramana_core.marginals.counts import LEVEL, Tensor
from pramana_core.marginals.score_interval import normal_quantile
from pramana_core.plan import Block
from pramana_core.privacy import (
    attacker_accuracy,
    conditional_entropy,
    gamma_within_groups,
    largest_proportion_se,
)
from pramana_core.text_files import read_text

# The one strength that some families of channels have: the probability of replacing.

DRAWN_CELLS = 4096
"""Above so many combinations a record is almost always replaced, and p says nothing."""


@dataclass(frozen=True)
class Strength:
    """The probability `p` of replacing a category, and the channel of any other p up to `most`."""

    p: float
    most: float
    at: Callable[[float], UnitTransition]


@singledispatch
def strength(channel: Transition) -> Strength | str:
    """Return the strength of a channel of one parameter, or why it has no such strength."""
    if channel.replaced is not None:
        return _replacing(channel.shape[0], channel.replaced)
    return f"Its strength is not one number p ({channel.describe()})."


@strength.register
def _(channel: Grouped) -> Strength | str:
    parts = [part for part in channel.channels if part is not None]
    moves = [part.replaced for part in parts if part.replaced is not None]
    # Rounding to 2^-32 moves each group's p by less than its number of categories over 2^32.
    if len(moves) < len(parts) or not moves or max(moves) - min(moves) > channel.shape[0] / 2**31:
        return "Its groups are randomized in different ways."
    smallest = min(len(group) for group in channel.groups if len(group) > 1)
    return Strength(
        moves[0],
        (smallest - 1) / smallest,
        lambda p: Grouped.from_probability(channel.groups, p),
    )


@strength.register
def _(channel: StructuralZeros) -> Strength | str:
    inner = strength(channel.channel)
    if isinstance(inner, str):
        return inner
    return Strength(
        inner.p,
        inner.most,
        lambda p: StructuralZeros(channel.size, channel.impossible, inner.at(p)),
    )


def _replacing(size: int, p: float) -> Strength | str:
    if size > DRAWN_CELLS:
        return f"Over {size:,} combinations p is next to 1 for any protection."
    return Strength(p, (size - 1) / size, lambda q: Symmetric.from_probability(size, q))


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
    """Return the curve of a block, why it has no curve, or None for a block left as it is."""
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


# What an attacker is taken to believe before a report: public beliefs from a file, or uniform.
#
# Never computed from the table: the report is meant to be shown to others, and shares of the
# table's categories are true values of a sensitive column.

Priors = Mapping[str, tuple[float, ...]]
"""A probability of each category of some variables, in code order; the others are uniform."""

SUM_TOLERANCE = 1e-6
"""Beliefs typed to six digits sum to 1 no better than this."""


def read_priors(path: Path, plan: PlannedSite) -> Priors:
    """Read beliefs from a JSON file `{variable: [probability of each category]}`.

    Raises:
        OptionError: the file cannot be read or is another object, names a variable the plan does
            not have, or gives it other than one probability for each category that sum to 1.
    """
    try:
        content = json.loads(read_text(path))
    except (OSError, ValueError):
        raise OptionError(
            f"The beliefs in {path} cannot be read as JSON.",
            where="prior",
            remedy='Write {"variable": [probability of each category, ...]}.',
        ) from None
    if not isinstance(content, dict):
        raise OptionError(
            f"The beliefs in {path} are not an object with a list for each variable.",
            where="prior",
            remedy='Write {"variable": [probability of each category, ...]}.',
        )
    return {name: _prior(name, given, plan) for name, given in content.items()}


def _prior(name: str, given: Any, plan: PlannedSite) -> tuple[float, ...]:
    if name not in plan.variables:
        raise OptionError(
            f"The prior names a variable {name!r}, which the plan does not have.",
            where=f"prior.{name}",
            remedy=f"The variables are {list(plan.variables)}.",
        )
    size = plan.variables[name].size
    numbers = given if isinstance(given, list) else []
    if len(numbers) != size or not all(map(_is_probability, numbers)):
        raise OptionError(
            f"The prior of {name!r} is not a list of {size} probabilities.",
            where=f"prior.{name}",
            remedy="Give one between 0 and 1 for each category, in the site file's order.",
        )
    total = math.fsum(numbers)
    if abs(total - 1) > SUM_TOLERANCE:
        raise OptionError(
            f"The prior of {name!r} sums to {total:.9g}, not 1.",
            where=f"prior.{name}",
            remedy="Scale its probabilities to sum to 1.",
        )
    return tuple(number / total for number in numbers)


def _is_probability(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


# How accurate the miner's estimates will be, before anybody estimates anything.

Z = normal_quantile(LEVEL)
"""Half the width of a 95 % interval in standard errors."""

DECODED_ENTRIES = 1 << 22
"""An estimator is a table of categories by reports; a larger one is not listed for a page."""

JOINT_LISTED = 512
"""The estimator of so many combinations is inverted for a report."""

JOINT_NAMED = 1 << 16


def variable_se(block: Block, name: str, records: int) -> float:
    """Return the largest standard error of a proportion of one variable.

    Raises:
        OptionError: `records` is not positive.
        SingularChannel: its proportions cannot be estimated.
        LimitExceeded: its estimator is too large to list for a report.
    """
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


def joint_se(block: Block, records: int) -> float:
    """Return the largest standard error of the share of one combination of a block's categories.

    Raises:
        SingularChannel: combinations cannot be estimated by moments.
        LimitExceeded: too many combinations.
    """
    channel, size = block.channel, block.channel.shape[0]
    if not math.isfinite(channel.condition_number):
        # The channel says why; it is asked for nothing but its refusal.
        raise SingularChannel(
            "No record reports all variables of the block, so single combinations cannot be"
            " estimated by moments; pairs that are reported together can."
            if channel.choices
            else "The channel has no inverse."
        )
    closed = channel.mixture is not None
    if size > (JOINT_NAMED if closed else JOINT_LISTED) or channel.report_sizes((size,)) is None:
        raise LimitExceeded(
            f"The error of each of {size:,} combinations is not computed for this channel."
        )
    combined = Variable("combination", tuple(str(code) for code in range(size)))
    return largest_proportion_se(Block((combined,), channel), combined.name, records)


def share_reported(block: Block, name: str) -> float:
    """Return the share of records that report a variable, which is below 1 in a sampled block."""
    return block.channel.share_reported(block.names.index(name))


def record_counts(records: int) -> tuple[int, ...]:
    """Return the numbers of records at which widths are predicted: the 1, 2, 5 of each decade."""
    last = max(6, math.ceil(math.log10(records)) + 1)
    ladder = {m * 10**e for e in range(2, last) for m in (1, 2, 5)} | {10**last}
    return tuple(sorted(ladder | {records}))
