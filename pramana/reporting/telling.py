"""What a plan tells of one person, block by block, in words and numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pramana.frames.tables import shown
from pramana_core.channels import LISTED_ENTRIES, RESOLUTION, OneHot, Sampled, Transition
from pramana_core.errors import OptionError
from pramana_core.plan import Block, Plan
from pramana_core.privacy import Amplification, composed
from pramana_core.privacy.amplification import PRIOR

if TYPE_CHECKING:
    import pandas as pd

NO_BOUND = Amplification(math.inf)
"""What tells the values themselves."""


def told_by_block(block: Block) -> Amplification:
    """Return what a block tells: of one that is not randomized, everything."""
    return NO_BOUND if block.channel.is_identity else Amplification.of(block.channel)


def told_by_record(plan: Plan) -> Amplification:
    """Return what a whole record tells, over all randomized blocks; without any, everything.

    Public variables are in nobody's epsilon where others are randomized: who reports a plan says
    which they are.
    """
    noisy = [b for b in plan.blocks if not (b.channel.is_identity or b.channel.withheld)]
    if not noisy and any(block.channel.is_identity for block in plan.blocks):
        return NO_BOUND
    return composed(Amplification.of(block.channel) for block in noisy)


def public_names(plan: Plan) -> tuple[str, ...]:
    """Return the variables that a plan reports as they are."""
    return tuple(n for block in plan.blocks if block.channel.is_identity for n in block.names)


def in_words(plan: Plan) -> str:
    """Return what a whole record tells in a few words."""
    told, public = told_by_record(plan), public_names(plan)
    words = f"whole record: {told.told}"
    if public and math.isfinite(told.epsilon):
        return f"{words}, and {', '.join(public)} as it is"
    return words


def privacy_frame(plan: Plan, prior: float = PRIOR) -> pd.DataFrame:
    """Return a row for each variable of a plan (see `Reports.privacy`)."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for block in plan.blocks:
        told = told_by_block(block)
        rows += [
            {
                "variable": name,
                "together": block.name,
                "channel": block.channel.describe(),
                "reported": block.channel.share_reported(place),
                "kept": _kept_of(block, name),
                "gamma": told.gamma,
                "epsilon": told.epsilon,
                "posterior": told.grown(prior),
            }
            for place, name in enumerate(block.names)
        ]
    return pd.DataFrame(rows).set_index("variable")


def _kept_of(block: Block, name: str) -> float:
    alone = block.restrict([name])
    return math.nan if alone is None else kept(alone)


def required_prior(prior: object) -> float:
    """Return a belief. Raises OptionError where it is not above 0 and below 1."""
    if isinstance(prior, bool) or not isinstance(prior, int | float) or not 0 < prior < 1:
        raise OptionError(
            f"prior must be a number above 0 and below 1, not {shown(prior)}.", where="prior"
        )
    return prior


def kept(channel: Transition) -> float:
    """Return the probability that what is reported is true, NaN where there is no such number.

    Where it depends on the truth it is the largest; of reported items, each item's.
    """
    if channel.withheld:
        return math.nan
    if isinstance(channel, Sampled):
        told = sum(choice.weight for choice in channel.choices)
        return sum(choice.weight * kept(choice.channel) for choice in channel.choices) / told
    if channel.replaced is not None:
        return 1 - channel.replaced
    if isinstance(channel, OneHot):
        return 1 - channel.flip_units / RESOLUTION
    true, reported = channel.shape
    if true != reported or true * reported > LISTED_ENTRIES:
        return math.nan
    return float(np.diagonal(channel.matrix()).max())
