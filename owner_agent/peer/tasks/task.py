"""What a kind of learning says of itself: whose columns it needs, and what is run on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from owner_agent.peer.protocol.steps import Holdings
from pramana_core.domain import Domain
from pramana_core.errors import OptionError
from pramana_core.learn.networks.bayes_net import LearnedFamily
from pramana_core.learn.networks.search.structure_learning import LearnedLink
from pramana_core.marginals.counts import Marginals
from pramana_core.progress import Progress

if TYPE_CHECKING:
    from datetime import datetime

    from owner_agent.peer.protocol.messages import Proposal
    from owner_agent.peer.tasks.holding import LocalRecords


# What one owner learned in a session, before it is shared or written.


class RecordDisclosure(Protocol):
    """What is told of this owner's true records where its families are shared."""

    def enter(self, holding: LocalRecords, proposal: Proposal, now: datetime) -> None:
        """Write it down durably, before it is told, or raise why it may not be."""


@dataclass(frozen=True, eq=False)
class Findings:
    """What one owner learned: its families of the network, or files for itself alone.

    `told` is what sharing the families tells.
    """

    families: tuple[LearnedFamily, ...] = ()
    links: tuple[LearnedLink, ...] = ()
    files: Mapping[str, bytes] | None = None
    told: RecordDisclosure | None = None

    @classmethod
    def kept(cls, texts: Mapping[str, str]) -> Findings:
        """Return files for this owner alone, by name."""
        return cls(files={name: text.encode() for name, text in texts.items()})


@dataclass(frozen=True)
class LearningTask:
    """One kind of learning.

    Attributes:
        variables: the variables a session is about.
        check: raises an InputError where the task contradicts itself.
        asks: the sender's variables that the receiver may ask for, in vertical sessions.
        scopes: the sets of variables whose tables are needed, in horizontal sessions.
        learn: runs the learner for some nodes on an owner's marginals.
        fewer: in the words of a remedy, how the session can ask for smaller families.
        shared: whether all owners learn their part and end with the same network; else the
            initiator alone learns, and keeps the result.
        agreed_parents: the parents of a node that are known before anything is learned.
        fits: raises an InputError where the task names what the owners' variables do not have.
    """

    variables: Callable[[Any], tuple[str, ...]]
    check: Callable[[Any], None]
    asks: Callable[[Any, Holdings, str, str], tuple[str, ...]]
    scopes: Callable[[Any], list[tuple[str, ...]]]
    learn: Callable[[Any, Marginals, Sequence[str], Progress], Findings]
    fewer: str
    shared: bool = False
    agreed_parents: Callable[[Any, str], tuple[str, ...]] = field(default=lambda _task, _node: ())
    fits: Callable[[Any, Domain], object] = field(default=lambda _task, _domain: None)


def require_distinct(names: Sequence[str], where: str) -> None:
    """Check that a task names no variable twice in one place. Raises OptionError."""
    if len(set(names)) < len(names):
        raise OptionError(f"The task's {where} name a variable twice.", where=f"task.{where}")
