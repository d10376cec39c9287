"""What a plan discloses of one person, block by block, in words and numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pramana_core.plan import Block, Plan
from pramana_core.privacy import PRIOR, Amplification, record_loss

if TYPE_CHECKING:
    import pandas as pd

NO_BOUND = Amplification(math.inf)
"""The amplification of values that are released as they are."""


def told_by_block(block: Block) -> Amplification:
    """Return the amplification of a block; of one that is not randomized there is no bound."""
    return NO_BOUND if block.channel.is_identity else Amplification.of(block.channel)


def public_names(plan: Plan) -> tuple[str, ...]:
    """Return the variables that a plan does not randomize."""
    return tuple(n for block in plan.blocks if block.channel.is_identity for n in block.names)


def in_words(plan: Plan) -> str:
    """Return the amplification of a whole record in a few words."""
    told, public = record_loss(plan), public_names(plan)
    words = f"whole record: {told.told}"
    if public and math.isfinite(told.epsilon):
        return f"{words}, and {', '.join(public)} as it is"
    return words


def privacy_frame(plan: Plan, prior: float = PRIOR) -> pd.DataFrame:
    """Return a row for each variable of a plan (see `Reports.privacy`)."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for block in plan.blocks:
        disclosure = told_by_block(block)
        rows += [
            {
                "variable": name,
                "together": block.name,
                "channel": block.channel.describe(),
                "reported": block.channel.share_reported(place),
                "kept": math.nan if alone is None else alone.truthful,
                "gamma": disclosure.gamma,
                "epsilon": disclosure.epsilon,
                "posterior": disclosure.grown(prior),
            }
            for place, name in enumerate(block.names)
            for alone in [block.restrict([name])]
        ]
    return pd.DataFrame(rows).set_index("variable")
