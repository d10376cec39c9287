"""What a plan discloses about one person, block by block, and the identity of draws."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pramana_core.plan import Block, Plan
from pramana_core.privacy import PRIOR, Amplification, record_loss

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class BlockDraw:
    """The draws of one block by one owner.

    `owner` is the fingerprint of the draw key. `draw` identifies the draws: two values are equal if
    and only if every record has the same draw. `people` is the digest of the pseudonyms of all
    records drawn, even if only some of these records are present.
    """

    owner: str
    block: Block
    draw: str
    people: str = ""


NO_BOUND = Amplification(math.inf)
"""The amplification of values that are released unchanged."""


def block_amplification(block: Block) -> Amplification:
    """Return the amplification of a block; infinite for a block that is not randomized."""
    return NO_BOUND if block.channel.is_identity else Amplification.of(block.channel)


def public_names(plan: Plan) -> tuple[str, ...]:
    """Return the variables that a plan does not randomize."""
    return tuple(n for block in plan.blocks if block.channel.is_identity for n in block.names)


def in_words(plan: Plan) -> str:
    """Describe the amplification of a whole record, and name the unrandomized variables."""
    loss, public = record_loss(plan), public_names(plan)
    words = f"whole record: {loss.told}"
    if public and math.isfinite(loss.epsilon):
        return f"{words}, and {', '.join(public)} unchanged"
    return words


def privacy_frame(plan: Plan, prior: float = PRIOR) -> pd.DataFrame:
    """Return the frame of `Reports.privacy`, one row per variable of the plan."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for block in plan.blocks:
        disclosure = block_amplification(block)
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
