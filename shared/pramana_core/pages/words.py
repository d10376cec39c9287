"""A plan in words: what is randomized together, how, and what that tells."""

from __future__ import annotations

from collections.abc import Sequence

from pramana_core.pictures.svg import short
from pramana_core.plan import Block, Plan
from pramana_core.privacy import Amplification

_NAMES, _BLOCKS = 6, 12

_APART = "\u2068{}\u2069"
"""A name whose own direction turns nothing around it (Unicode's isolates)."""


def plan_words(plan: Plan, *, whole: bool = False) -> list[str]:
    """Return a sentence on each block of a plan, and one on what is told as it is.

    Args:
        plan: the plan.
        whole: name every block and variable, and not only the first of many.
    """
    names = None if whole else _NAMES
    as_it_is = [name for block in plan.blocks if block.channel.is_identity for name in block.names]
    randomized = [block for block in plan.blocks if not block.channel.is_identity]
    shown = randomized if whole else randomized[:_BLOCKS]
    told = [_block_words(block, names) for block in shown]
    if len(randomized) > len(shown):
        told.append(f"And {len(randomized) - len(shown)} more blocks of variables.")
    if as_it_is:
        how = "as it is" if len(as_it_is) == 1 else "as they are"
        told.append(f"{named(as_it_is, names)}: told {how}, not randomized.")
    return told


def apart(name: str) -> str:
    """Return a name, shortened, whose own direction turns nothing around it."""
    return _APART.format(short(name, 60))


def named(names: Sequence[str], most: int | None = _NAMES) -> str:
    """Return names as people read them: the first few, and how many more there are."""
    shown = names if most is None else names[:most]
    more = len(names) - len(shown)
    told = ", ".join(map(apart, shown))
    return f"{told} and {more} more" if more > 0 else told


def _block_words(block: Block, names: int | None) -> str:
    together = " together" if len(block.names) > 1 else ""
    told = Amplification.of(block.channel).told
    return f"{named(block.names, names)}{together}: {block.channel.describe()}; {told}."
