"""What one owner learned in a session, before it is shared or written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pramana_core.learn.networks.bayes_net import LearnedFamily
from pramana_core.learn.networks.search.structure_learning import LearnedLink

if TYPE_CHECKING:
    from datetime import datetime

    from owner_agent.peer.protocol.messages import Proposal
    from owner_agent.peer.tasks.holding import Holding


class ToldRecord(Protocol):
    """What is told of this owner's true records where its families are shared."""

    def enter(self, holding: Holding, proposal: Proposal, now: datetime) -> None:
        """Write it down durably, before it is told, or raise why it may not be."""


@dataclass(frozen=True, eq=False)
class Findings:
    """What one owner learned: its families of the network, or files for itself alone.

    `told` is what sharing the families tells.
    """

    families: tuple[LearnedFamily, ...] = ()
    links: tuple[LearnedLink, ...] = ()
    files: Mapping[str, bytes] | None = None
    told: ToldRecord | None = None

    @classmethod
    def kept(cls, texts: Mapping[str, str]) -> Findings:
        """Return files for this owner alone, by name."""
        return cls(files={name: text.encode() for name, text in texts.items()})
