"""A plan in words: what is randomized together, how, and what that tells."""

from __future__ import annotations

from pramana_core.pictures.svg import short
from pramana_core.plan import Block, Plan
from pramana_core.privacy import Amplification

_NAMES, _BLOCKS = 6, 12

_APART = "\u2068{}\u2069"
"""A name whose own direction turns nothing around it (Unicode's isolates)."""


def plan_words(plan: Plan) -> list[str]:
    """Return a sentence on each block of a plan, and one on what is told as it is."""
    as_it_is = [name for block in plan.blocks if block.channel.is_identity for name in block.names]
    randomized = [block for block in plan.blocks if not block.channel.is_identity]
    told = [_block_words(block) for block in randomized[:_BLOCKS]]
    if len(randomized) > _BLOCKS:
        told.append(f"And {len(randomized) - _BLOCKS} more blocks of variables.")
    if as_it_is:
        told.append(f"{named(as_it_is)}: told as they are, not randomized.")
    return told


def _block_words(block: Block) -> str:
    together = " together" if len(block.names) > 1 else ""
    told = Amplification.of(block.channel).told
    return f"{named(block.names)}{together}: {block.channel.describe()}; {told}."


def named(names: list[str] | tuple[str, ...]) -> str:
    """Return names as people read them: the first few, and how many more there are."""
    shown = ", ".join(_APART.format(short(name, 60)) for name in names[:_NAMES])
    more = len(names) - _NAMES
    return f"{shown} and {more} more" if more > 0 else shown
