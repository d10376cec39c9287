"""The steps of a session: calls to other owners, routes and answers all follow this table."""

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
"""No message of another owner is read further than this."""

Request = TypeVar("Request", bound=PeerMessage)
Answer = TypeVar("Answer", bound=PeerMessage)

_SESSIONS = "/v1/sessions"
_SESSION = _SESSIONS + "/{session}"

PACKAGE_PART = _SESSION + "/parts/{number}"
"""The path of one part of what an owner has for the caller: bytes, and no message."""


@dataclass(frozen=True)
class Step(Generic[Request, Answer]):
    """One request to an owner, done by the participant's method of its name.

    Only the initiator asks for a step of a `phase`, and an error ends the session. A `repeatable`
    one takes no work.
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
"""Learn what all have; the answer is the owner's announcement."""

ANNOUNCEMENTS = Step(
    "announcements", "PUT", _SESSION + "/announcements", Status, Statements, "announced"
)
"""Check what all would send."""

BEGIN: Step[Never, Status] = Step(
    "begin", "POST", _SESSION + "/begin", Status, phase="agreed", status=HTTPStatus.ACCEPTED
)
"""Start to fetch and to learn, now that all have checked everything."""

STATUS: Step[Never, Status] = Step("status", "GET", _SESSION, Status, repeatable=True)
"""Say how far the owner is."""

PARTS = Step("parts", "PUT", _SESSION + "/network", Signed, Statements, "learned")
"""Join what all have learned; the answer is the owner's agreement to write the result."""

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
    """An owner that does the steps of a session. All methods raise PramanaError."""

    @property
    def name(self) -> str:
        """The owner's name."""

    def within(self, ends: float) -> Partner:
        """Return the same owner, to be waited for until a moment (of this owner's clock) only."""

    def ask(
        self, step: Step[Request, Answer], session: str, message: Request | None = None
    ) -> Answer:
        """Let the owner do a step; return what it answers."""
