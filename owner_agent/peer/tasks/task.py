"""What a kind of learning says of itself: whose columns it needs, and what is run on them.

Also here:

* What one owner learned in a session, before it is shared or written.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic, Protocol, TypeVar

from owner_agent.peer.protocol.steps import Holdings
from pramana_core.domain import Domain
from pramana_core.errors import OptionError
from pramana_core.learn.networks.bayes_net import LearnedFamily
from pramana_core.learn.networks.search.structure_learning import LearnedLink
from pramana_core.marginals.counts import Marginals
from pramana_core.progress import Progress
from pramana_core.wire.base import Message

if TYPE_CHECKING:
    from datetime import datetime

    from owner_agent.peer.protocol.messages import Proposal
    from owner_agent.peer.tasks.holding import LocalRecords


# What one owner learned in a session, before it is shared or written.


class RecordDisclosure(Protocol):
    """What sharing the families discloses of this owner's true records."""

    def enter(self, holding: LocalRecords, proposal: Proposal, now: datetime) -> None:
        """Write it down durably, before it is disclosed, or raise why it may not be."""


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


TaskT_co = TypeVar("TaskT_co", bound=Message, covariant=True)


@dataclass(frozen=True)
class LearningTask(ABC, Generic[TaskT_co]):
    """What is learned in a session; a class for each kind.

    Attributes:
        task: what the session's proposal says of it.
        fewer: in the words of a remedy, how the session can ask for smaller families.
        shared: whether all owners learn their part and end with the same network; else the
            initiator alone learns, and keeps the result.
        searches: whether it reads a great many tables, so that noise cannot be added to all.
    """

    task: TaskT_co

    fewer: ClassVar[str]
    shared: ClassVar[bool] = False
    searches: ClassVar[bool] = False

    @abstractmethod
    def variables(self) -> tuple[str, ...]:
        """Return the variables that the session is about."""

    @abstractmethod
    def check(self) -> None:
        """Raise an InputError where the task contradicts itself."""

    @abstractmethod
    def learn(self, marginals: Marginals, nodes: Sequence[str], watch: Progress) -> Findings:
        """Run the learner for some nodes on an owner's marginals."""

    def asks(self, holdings: Holdings, sender: str, receiver: str) -> tuple[str, ...]:  # noqa: ARG002
        """Return the sender's variables that the receiver may ask for, in vertical sessions."""
        wanted = self.variables()
        return tuple(name for name in holdings[sender] if name in wanted)

    def scopes(self) -> list[tuple[str, ...]]:
        """Return the sets of variables whose tables are needed, in horizontal sessions."""
        return [self.variables()]

    def agreed_parents(self, node: str) -> tuple[str, ...]:  # noqa: ARG002
        """Return the parents of a node that are known before anything is learned."""
        return ()

    def allows(self, node: str, parents: Sequence[str]) -> bool:  # noqa: ARG002
        """Return whether a node of a shared network may be learned with some parents."""
        return False

    def require_fit(self, domain: Domain) -> None:
        """Raise an InputError where the task names what the owners' variables do not have."""


def require_distinct(names: Sequence[str], where: str) -> None:
    """Check that a task names no variable twice in one place. Raises OptionError."""
    if len(set(names)) < len(names):
        raise OptionError(f"The task's {where} name a variable twice.", where=f"task.{where}")
