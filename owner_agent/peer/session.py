"""One joint session as one owner sees it: what it knows, and how far it is.

Also here:

* What an owner keeps of each session beside the ledger: families it shared, and all agreements.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from owner_agent.peer.earlier import StagedFiles, staged_in
from owner_agent.peer.exchange.outgoing import Outgoing
from owner_agent.peer.identity.identity import PeerIdentity, state
from owner_agent.peer.protocol.messages import (
    Announcement,
    FamilyMessage,
    NetworkPart,
    Offer,
    Phase,
    Proposal,
    Signed,
    Statement,
    Statements,
    Status,
)
from owner_agent.peer.protocol.steps import Holdings
from owner_agent.peer.tasks.catalogue import variables_of
from owner_agent.peer.tasks.holding import LocalRecords
from owner_agent.site.site import Site
from owner_agent.state.history import state_directory
from owner_agent.state.private_files import private_directory, write_replacing
from pramana_core.domain import Domain
from pramana_core.errors import (
    NotFound,
    PeerDeviated,
    PramanaError,
    SessionEnded,
    StateError,
    StoreCorrupt,
    error_classes,
)
from pramana_core.wire.base import Label, Message, Sha256
from pramana_core.wire.problems import ProblemDetail

OVER: frozenset[Phase] = frozenset({"written", "finished", "ended"})
"""Phases in which a session asks nothing more of anybody."""


@dataclass(eq=False)
class Session:
    """A session's state; whoever changes it holds `lock`.

    `ends` is the moment (of the owner's own clock, in seconds) after which it is given up; `heard`
    is when its initiator last called. `agreed` is there once all are known to have agreed to
    `digest`: from then on the session can only end well here.
    """

    proposal: Proposal
    holding: LocalRecords
    ends: float
    heard: float
    phase: Phase = "offered"
    offers: dict[str, Offer] = field(default_factory=dict)
    offers_digest: str = ""
    announcements: dict[str, Announcement] = field(default_factory=dict)
    outgoing: dict[str, Outgoing] = field(default_factory=dict)
    own: dict[str, Signed] = field(default_factory=dict)
    progress: tuple[int, int] = (0, 0)
    own_files: dict[str, bytes] | None = None
    staged: StagedFiles | None = None
    digest: str | None = None
    agreed: Statements | None = None
    problem: ProblemDetail | None = None
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def over(self) -> bool:
        """Whether the session has ended, with a result or without."""
        return self.phase in OVER

    @property
    def holdings(self) -> Holdings:
        """The variables of each owner, in the order of the participants."""
        return {
            owner: tuple(o.variable.name for o in self.offers[owner].variables)
            for owner in self.proposal.participants
        }

    @property
    def domain(self) -> Domain:
        """All variables of the session, in the task's order."""
        told = {
            offered.variable.name: offered.variable.to_variable()
            for offer in self.offers.values()
            for offered in offer.variables
        }
        return Domain(tuple(told[name] for name in variables_of(self.proposal)))

    def status(self) -> Status:
        """Return how far the session is."""
        with self.lock:
            return Status(
                phase=self.phase,
                done=self.progress[0],
                total=self.progress[1],
                part=self.own.get(NetworkPart.noun) if self.phase == "learned" else None,
                digest=self.digest,
                agreed=self.agreed if self.phase == "written" else None,
                problem=self.problem,
            )

    def sign_once(self, identity: PeerIdentity, made: Statement) -> Signed:
        """Sign a statement of this owner, keep it, and return it.

        Raises:
            StateError: it stated one of this kind before; nobody may get two to choose from.
        """
        if made.noun in self.own:
            raise StateError(
                f"This owner has already stated its {made.noun}.", where=self.proposal.session
            )
        self.own[made.noun] = state(identity, self.proposal.session, made)
        return self.own[made.noun]

    def require_phase(self, *wanted: Phase) -> None:
        """Check that the session is where a request expects it.

        Raises:
            PramanaError: the session has ended; the error that ended it.
            StateError: it is elsewhere.
        """
        if self.problem is not None:
            raise error_of(self.problem)
        if self.phase not in wanted:
            raise StateError(
                f"The session is {self.phase}; it must be {' or '.join(wanted)} for this request.",
                where=self.proposal.session,
            )

    def require_own(self, kind: type[Statement], told: Signed) -> None:
        """Check that others received what this owner stated, unaltered.

        Raises:
            PeerDeviated: it was altered.
        """
        if self.own.get(kind.noun) != told:
            raise PeerDeviated(
                f"The {kind.noun} that {told.owner} made came back to it altered, from"
                f" {self.proposal.initiator}.",
                where=self.proposal.initiator,
            )


def no_session(session: str) -> NotFound:
    """Return the error for a session that this owner does not have, or does not show."""
    return NotFound("There is no such session here.", where=session)


def error_of(problem: ProblemDetail) -> PramanaError:
    """Return the error of the same class that another owner met, so that exit codes agree."""
    kinds = {kind.code: kind for kind in error_classes() if kind.__init__ is PramanaError.__init__}
    kind = kinds.get(problem.code, SessionEnded)
    return kind(problem.detail, where=problem.where, remedy=problem.remedy)


# What an owner keeps of each session beside the ledger: families it shared, and all agreements.
#
# The agreements prove that every owner was ready to write one result. With them an owner may write,
# and tell an owner that missed the last word, also after it was started anew.

_FOLDER = "sessions"


class SharedFamily(Message):
    """A family whose parameters all participants got; epsilon says nothing of it."""

    node: Label
    parents: list[Label]

    def __str__(self) -> str:
        """Return it as people read it."""
        return f"{self.node} given {', '.join(self.parents)}" if self.parents else self.node


class SessionResult(Message):
    """One session: what was shared, and, once the result may be written, why."""

    proposal: Proposal
    families: tuple[SharedFamily, ...] = ()
    digest: Sha256 | None = None
    agreed: Statements | None = None


def families_of(told: list[FamilyMessage]) -> tuple[SharedFamily, ...]:
    """Return what is kept of learned families: their names, and no parameter."""
    return tuple(SharedFamily(node=family.node, parents=family.parents) for family in told)


def keep(state: Path, kept: SessionResult) -> None:
    """Write down a session, durably, in place of what was known of it."""
    folder = private_directory(state_directory(state) / _FOLDER)
    path = folder / f"{kept.proposal.session}.json"
    write_replacing(path, kept.model_dump_json().encode())


def kept_of(state: Path, session: str) -> SessionResult | None:
    """Return what was kept of a session, or None. Raises StoreCorrupt."""
    # What a peer names may be no number of a session but a path.
    path = state / _FOLDER / f"{session}.json"
    if not re.fullmatch(r"[0-9a-f]{32}", session) or not path.exists():
        return None
    try:
        return SessionResult.model_validate_json(path.read_bytes())
    except ValidationError:
        raise StoreCorrupt(
            f"{path} is not what was kept of a session.",
            where=str(path),
            remedy="Restore it from your backup, or remove it if you know what it listed.",
        ) from None


def all_kept(state: Path) -> list[SessionResult]:
    """Return what was kept of every session. Raises StoreCorrupt."""
    found = (kept_of(state, path.stem) for path in sorted((state / _FOLDER).glob("*.json")))
    return [kept for kept in found if kept is not None]


def earlier_status(site: Site, caller: str, session: str) -> Status:
    """Return the status of an earlier session whose result was written here.

    Raises:
        NotFound: there was none, or none of the caller's.
    """
    kept = kept_of(site.state, session)
    if kept is None or kept.agreed is None or caller not in kept.proposal.participants:
        raise no_session(session)
    if not staged_in(site.folder / site.peer.results, session).final.is_dir():
        raise no_session(session)
    return Status(phase="written", digest=kept.digest, agreed=kept.agreed)
