"""How large the matrices are that a channel's estimates must hold."""

from __future__ import annotations

from shared.channels.base import Transition
from shared.channels.items import CutAndPaste
from shared.channels.mixture import Mixture, Withheld
from shared.channels.sampled import Sampled
from shared.channels.symmetric import Identity, Symmetric


def listed_rows(channel: Transition) -> int:
    """Return the rows of the largest matrix that a channel's estimates must hold."""
    if isinstance(channel, Identity | Symmetric | Mixture | Withheld):
        return 0
    if isinstance(channel, Sampled):
        return max(listed_rows(choice.channel) for choice in channel.choices)
    if isinstance(channel, CutAndPaste):
        return max(channel.sizes)
    return channel.shape[0]
