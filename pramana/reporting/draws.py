"""The draws of reports: the same draws are counted once."""

from __future__ import annotations

from dataclasses import dataclass

from pramana_core.plan import Block


@dataclass(frozen=True)
class BlockDraw:
    """One block of one owner, as it was drawn.

    Attributes:
        owner: whose; the fingerprint of the draw key.
        block: the variables and their channel, as the owner drew them.
        draw: the identity of the draws: equal exactly if every record's draw is the same.
        people: which records were drawn for, by their pseudonyms' digest; a part of them, or what
            they were joined to, is of the same.
    """

    owner: str
    block: Block
    draw: str
    people: str = ""
