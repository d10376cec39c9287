"""What an owner can be asked in a session, each step described once.

Calls to other owners, the routes that take them, and what an owner answers all follow this table. A
new step is one entry here, and the method of that name at the participant.

Also here:

* Work in threads that nobody has to wait for, and moments at which nobody may be interrupted.
* An owner in a session, whether it is this process or another machine.
* Who needs which columns of whom (Ma 5.2.1, definitions 1 and 2; 5.2.2): pure decisions.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from types import FrameType
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
from pramana_core.errors import StructureError, VariablesMissing
from pramana_core.learn.networks.structure import Structure

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
    """One thing that an owner can be asked.

    Attributes:
        name: that of the participant's method which does it.
        method: of the HTTP request.
        path: of the HTTP request, with `{session}` for the session's number.
        answer: what is answered.
        request: the message sent; None if there is none.
        phase: where the session must be; only its initiator may ask, and what fails ends it. If
            None, the participant's method decides who may ask, and when.
        repeatable: whether it takes no work, and asking twice is the same as asking once.
        status: of the HTTP answer.
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


# Work in threads that nobody has to wait for, and moments at which nobody may be interrupted.

Result = TypeVar("Result")


def started(work: Callable[[], Result]) -> Future[Result]:
    """Start work in a daemon thread: whoever gives up on it can leave, also the process."""
    future: Future[Result] = Future()

    def run() -> None:
        try:
            made = work()
        except BaseException as error:  # noqa: BLE001 - raised again by whoever asks for the result
            future.set_exception(error)
        else:
            future.set_result(made)

    threading.Thread(target=run, daemon=True).start()
    return future


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let neither Ctrl-C nor SIGTERM stop what cannot be undone; all in it must be short."""
    with _handled(signal.SIG_IGN, signal.SIGINT, signal.SIGTERM):
        yield


@contextmanager
def stopped_like_interrupted() -> Iterator[None]:
    """Let SIGTERM end a command as Ctrl-C does, so that the other owners hear of it."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    with _handled(interrupt, signal.SIGTERM):
        yield


@contextmanager
def _handled(handler: signal._HANDLER, *signals: signal.Signals) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in signals}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


# An owner in a session, whether it is this process or another machine.


class Partner(Protocol):
    """An owner that can be asked to do the steps of a session. Every method raises PramanaError."""

    @property
    def name(self) -> str:
        """The owner's name."""

    def within(self, ends: float) -> Partner:
        """Return the same owner, to be waited for until a moment (of this owner's clock) only."""

    def ask(
        self, step: Step[Request, Answer], session: str, message: Request | None = None
    ) -> Answer:
        """Let the owner do a step; return what it answers."""


class Peer(Partner, Protocol):
    """Another owner, whose columns can be fetched too."""

    def within(self, ends: float) -> Peer:
        """Return the same owner, to be waited for until a moment (of this owner's clock) only."""

    def package_part(self, session: str, number: int, limit: int) -> bytes:
        """Return part `number`, at most `limit` bytes, of what the owner has for the caller."""


# Who needs which columns of whom (Ma 5.2.1, definitions 1 and 2; 5.2.2): pure decisions.
#
# `holdings` says, for each owner, the variables it has; in vertical sessions no two have the same.

Holdings = Mapping[str, tuple[str, ...]]


def owner_of(holdings: Holdings) -> dict[str, str]:
    """Return the owner of each variable. Raises StructureError."""
    found: dict[str, str] = {}
    for owner, names in holdings.items():
        for name in names:
            if name in found:
                raise StructureError(
                    f"Both {found[name]} and {owner} have a variable {name!r}.",
                    where=name,
                    remedy="Rename one of them.",
                )
            found[name] = owner
    return found


def require_held(names: Sequence[str], holdings: Holdings) -> None:
    """Check that each variable has an owner. Raises VariablesMissing."""
    held = {name for mine in holdings.values() for name in mine}
    absent = [name for name in names if name not in held]
    if absent:
        raise VariablesMissing(
            f"No participant has the variables {absent}.",
            where=", ".join(absent),
            remedy="Correct their names in the session file, or invite their owner.",
        )


def cross_variables(structure: Structure, holdings: Holdings) -> tuple[str, ...]:
    """Return the variables some of whose parents are another owner's (definition 1)."""
    owner = owner_of(holdings)
    return tuple(
        node
        for node, parents in structure.families
        if any(owner[p] != owner[node] for p in parents)
    )


def cross_parents(
    structure: Structure, holdings: Holdings, sender: str, receiver: str
) -> tuple[str, ...]:
    """Return the sender's variables that are parents of cross variables of the receiver.

    Definition 2; nothing else of the sender's is the receiver's business. The order is that of
    the sender's own list.
    """
    owner = owner_of(holdings)
    needed = {
        parent
        for node in cross_variables(structure, holdings)
        if owner[node] == receiver
        for parent in structure.parents[node]
    }
    return tuple(name for name in holdings[sender] if name in needed and sender != receiver)


def preceding(
    order: Sequence[str], holdings: Holdings, sender: str, receiver: str
) -> tuple[str, ...]:
    """Return the sender's variables that come before any of the receiver's in the order.

    Only these can become parents of the receiver's variables (Ma 5.2.2).
    """
    own = [place for place, name in enumerate(order) if name in holdings[receiver]]
    last = max(own, default=0)
    earlier = set(order[:last])
    return tuple(name for name in holdings[sender] if name in earlier and sender != receiver)
