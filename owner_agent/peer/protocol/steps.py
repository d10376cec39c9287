"""The steps of a session. One table defines the calls to other owners, routes and answers."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Generic, Literal, Never, Protocol, TypeVar

from owner_agent.peer.protocol.messages import (
    Ending,
    PeerMessage,
    Phase,
    Proposal,
    Signed,
    Statements,
    Status,
)

MESSAGE_BYTES = 1 << 28
"""Largest message of another owner that is read, in bytes."""

Request = TypeVar("Request", bound=PeerMessage)
Answer = TypeVar("Answer", bound=PeerMessage)

_SESSIONS = "/v1/sessions"
_SESSION = _SESSIONS + "/{session}"

PACKAGE_PART = _SESSION + "/parts/{number}"
"""The path of a part of an owner's package for the caller: bytes, not a message."""


@dataclass(frozen=True)
class Step(Generic[Request, Answer]):
    """A request to an owner. The participant's method with the same name carries it out.

    A step with a `phase` is only for the initiator, and an error in it ends the session. Sending a
    request again is safe if the step is `repeatable`.
    """

    name: str
    method: Literal["GET", "POST", "PUT"]
    path: str
    answer: type[Answer]
    request: type[Request] | None = None
    phase: Phase | None = None
    repeatable: bool = False
    status: HTTPStatus = HTTPStatus.OK


PROPOSE = Step("propose", "POST", _SESSIONS, Signed, Proposal, status=HTTPStatus.CREATED)
"""Take part in a session; the answer is the owner's offer."""

OFFERS = Step("offers", "PUT", _SESSION + "/offers", Signed, Statements, "offered")
"""Receive all offers; the answer is the owner's announcement."""

ANNOUNCEMENTS = Step(
    "announcements", "PUT", _SESSION + "/announcements", Status, Statements, "announced"
)
"""Check all announcements."""

BEGIN: Step[Never, Status] = Step(
    "begin", "POST", _SESSION + "/begin", Status, phase="agreed", status=HTTPStatus.ACCEPTED
)
"""Start to fetch and learn, after all owners have checked all announcements."""

STATUS: Step[Never, Status] = Step("status", "GET", _SESSION, Status, repeatable=True)
"""Report the owner's progress."""

PARTS = Step("parts", "PUT", _SESSION + "/network", Signed, Statements, "learned")
"""Merge all parts; the answer is the owner's agreement to write the result."""

COMMIT = Step("commit", "PUT", _SESSION + "/result", Status, Statements, repeatable=True)
"""Write the result that all have agreed to."""

END = Step("end", "PUT", _SESSION + "/end", Status, Ending, repeatable=True)
"""End the session without a result."""

STEPS: tuple[Step[Any, Any], ...] = (
    PROPOSE,
    OFFERS,
    ANNOUNCEMENTS,
    BEGIN,
    STATUS,
    PARTS,
    COMMIT,
    END,
)


class Partner(Protocol):
    """An owner that carries out the steps of a session. All methods raise PramanaError."""

    @property
    def name(self) -> str:
        """The owner's name."""

    def within(self, ends: float) -> Partner:
        """Return the same owner, with calls that end at the time `ends` on this owner's clock."""

    def ask(
        self, step: Step[Request, Answer], session: str, message: Request | None = None
    ) -> Answer:
        """Request a step from the owner and return the answer."""
