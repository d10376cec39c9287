"""The messages between owners in a joint session. Unknown fields are errors.

In order, these are the initiator's `Proposal`, each owner's `Offer` and `Announcement`, and the
`NetworkPart` that each owner has learned.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self, TypeVar

from pydantic import Field, StringConstraints, ValidationError, model_validator

from owner_agent.peer.protocol.tasks import TaskMessage
from pramana_core.alike import first_few
from pramana_core.errors import PeerDeviated
from pramana_core.wire.base import (
    MAX_PARTS,
    MAX_RECORDS,
    MAX_VARIABLES,
    Label,
    Message,
    Name,
    Sha256,
)
from pramana_core.wire.channels import PlanMessage, VariableMessage
from pramana_core.wire.releases import PartManifest
from pramana_core.wire.services import ProblemDetail

LONGEST_SECONDS = 24 * 3600.0

Holdings = Mapping[str, tuple[str, ...]]
"""The variables of each owner, all different."""

SessionId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$", strict=True)]
Signature = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{128}$", strict=True)]


class PeerMessage(Message):
    """A message from one owner to another."""


class Statement(PeerMessage):
    """A message that an owner signs, at most once per session for each `noun`."""

    noun: ClassVar[str]


class Proposal(PeerMessage):
    """The initiator's proposal of a joint task, which must end within `seconds` of its arrival."""

    session: SessionId
    study: Name
    initiator: Name
    participants: Annotated[list[Name], Field(min_length=2, max_length=64)]
    task: TaskMessage
    seconds: Annotated[float, Field(gt=0, le=LONGEST_SECONDS, allow_inf_nan=False)]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if len(set(self.participants)) < len(self.participants):
            raise ValueError("the participants must be different owners")
        if self.initiator not in self.participants:
            raise ValueError("the initiator must be one of the participants")
        return self

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON, which identifies the proposal that owners agree on."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()

    def others(self, owner: str) -> list[str]:
        """Return all participants except one."""
        return [name for name in self.participants if name != owner]

    def entitled(self, holdings: Holdings, sender: str, receiver: str) -> tuple[str, ...]:
        """Return the sender's variables that the receiver may have, in the sender's order."""
        needed = self.task.needs(holdings[receiver]) if sender != receiver else ()
        return tuple(name for name in holdings[sender] if name in needed)


class OfferedVariable(Message):
    """A variable of the session that the offering owner has."""

    variable: VariableMessage
    sensitive: bool


class Offer(Statement):
    """An owner's variables in the session, and SHA-256 of its pseudonyms in ascending order."""

    noun = "offer"

    proposal: Sha256
    variables: Annotated[list[OfferedVariable], Field(min_length=1, max_length=MAX_VARIABLES)]
    records: Annotated[int, Field(ge=1, le=MAX_RECORDS)]
    keys_digest: Sha256


class Package(Message):
    """The drawn columns for one peer, described before their first byte is sent."""

    records: Annotated[int, Field(ge=1, le=MAX_RECORDS)]
    parts: Annotated[list[PartManifest], Field(min_length=1, max_length=MAX_PARTS)]
    digest: Sha256


class Announcement(Statement):
    """The blocks that an owner draws for any of its peers (`drawn`), and a digest of all offers."""

    noun = "announcement"

    proposal: Sha256
    offers: Sha256
    drawn: PlanMessage | None
    packages: dict[Name, Package]


_Row = Annotated[
    list[Annotated[float, Field(allow_inf_nan=False)] | None], Field(max_length=1 << 24)
]


class FamilyMessage(Message):
    """The parameters of a node (see LearnedFamily). Lists are in C order of (parents..., node)."""

    node: Label
    parents: Annotated[list[Label], Field(max_length=64)]
    estimate: _Row
    probability: _Row
    se: _Row
    se_records: _Row
    low: _Row
    high: _Row


class StatedLink(Message):
    """A learned link and the evidence for it (see LearnedLink). An infinite inflation is null."""

    parent: Label
    child: Label
    gain: Annotated[float, Field(allow_inf_nan=False)]
    inflation: Annotated[float, Field(allow_inf_nan=False)] | None
    confidence: Annotated[float, Field(allow_inf_nan=False)] | None


class NetworkPart(Statement):
    """The families of one owner's variables: its part of the network."""

    noun = "part"

    proposal: Sha256
    families: Annotated[list[FamilyMessage], Field(max_length=MAX_VARIABLES)]
    links: Annotated[list[StatedLink], Field(max_length=MAX_VARIABLES * 16)]
    records: Annotated[int, Field(ge=1, le=MAX_RECORDS)]


class Signed(PeerMessage):
    """A statement with its owner's signature, so owners that forward it cannot change it."""

    owner: Name
    content: Annotated[str, StringConstraints(max_length=1 << 28)]
    signature: Signature


class Statements(PeerMessage):
    """The statements of all participants, as the initiator collected them."""

    all: Annotated[list[Signed], Field(min_length=1, max_length=64)]


class ResultAgreement(Statement):
    """The digest of a prepared result. By signing it, an owner consents to write the result."""

    noun = "agreement"

    digest: Sha256


Phase = Literal[
    "offered",
    "announced",
    "agreed",
    "learning",
    "learned",
    "ready",
    "written",
    "ended",
]


class Status(PeerMessage):
    """An owner's progress: its findings, its agreement, or the reason why the session ended."""

    phase: Phase
    done: int = 0
    total: int = 0
    part: Signed | None = None
    digest: Sha256 | None = None
    agreed: Statements | None = None
    problem: ProblemDetail | None = None


class Ending(PeerMessage):
    """The reason why a session ends without a result, and the owner where the reason arose."""

    owner: Name
    problem: ProblemDetail


Read = TypeVar("Read", bound=PeerMessage)
Stated = TypeVar("Stated", bound=Statement)


def read(kind: type[Read], content: str | bytes, who: str) -> Read:
    """Parse a message from another owner. Raises PeerDeviated, which does not quote the message."""
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        places = sorted({".".join(map(str, e["loc"][:2])) for e in error.errors()})
        raise PeerDeviated(
            f"{who} sent a malformed {kind.__name__}, at {first_few(places)}.",
            where=who,
            remedy="Check that both owners run the same version of the agent.",
        ) from None


def digest_of(statements: list[Signed]) -> str:
    """Return a digest of all statements in a round that does not depend on their order."""
    lines = sorted(
        f"{s.owner}:{hashlib.sha256(s.content.encode()).hexdigest()}" for s in statements
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
