"""The state of a joint session at one owner."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from owner_agent.peer.exchange.local_records import LocalRecords
from owner_agent.peer.exchange.outgoing import OutgoingPackage, share_of
from owner_agent.peer.protocol.identity import PeerIdentity, state
from owner_agent.peer.protocol.messages import (
    Announcement,
    Holdings,
    NetworkPart,
    Offer,
    Phase,
    Proposal,
    Signed,
    Statement,
    Statements,
    Status,
)
from owner_agent.peer.session_results import StagedFiles
from pramana_core.domain import Domain
from pramana_core.errors import PeerDeviated, PramanaError, SessionEnded, StateError, error_classes
from pramana_core.plan import Plan
from pramana_core.wire.services import ProblemDetail

OVER: frozenset[Phase] = frozenset({"written", "ended"})
"""Phases of a session that has ended."""


@dataclass(eq=False)
class Session:
    """The state of a session. Hold `lock` while changing it.

    The session ends without a result at `ends` (seconds on the owner's clock), unless all owners
    have `agreed` on the result with the `digest`.
    """

    proposal: Proposal
    holding: LocalRecords
    ends: float
    phase: Phase = "offered"
    offers: dict[str, Offer] = field(default_factory=dict)
    offers_digest: str = ""
    announcements: dict[str, Announcement] = field(default_factory=dict)
    outgoing: dict[str, OutgoingPackage] = field(default_factory=dict)
    drawn: dict[str, Plan] = field(default_factory=dict)
    own: dict[str, Signed] = field(default_factory=dict)
    progress: tuple[int, int] = (0, 0)
    staged: StagedFiles | None = None
    digest: str | None = None
    agreed: Statements | None = None
    problem: ProblemDetail | None = None
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def over(self) -> bool:
        """Whether the session has ended, with or without a result."""
        return self.phase in OVER

    @property
    def holdings(self) -> Holdings:
        """The variables of each owner, with the owners in the order of the participants."""
        return {
            owner: tuple(o.variable.name for o in self.offers[owner].variables)
            for owner in self.proposal.participants
        }

    def plan_for(self, sender: str, receiver: str) -> Plan | None:
        """Return the plan of the blocks from a sender to a receiver, or None without any block."""
        names = self.proposal.entitled(self.holdings, sender, receiver)
        drawn = self.drawn.get(sender)
        share = None if drawn is None else share_of(drawn, names)
        return None if share is None else share.plan

    @property
    def domain(self) -> Domain:
        """All variables of the session, in the order of the task."""
        categories = {
            offered.variable.name: offered.variable.to_variable()
            for offer in self.offers.values()
            for offered in offer.variables
        }
        return Domain(tuple(categories[name] for name in self.proposal.task.names))

    def status(self) -> Status:
        """Return the session's progress."""
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
        """Sign a statement of this owner, store it, and return it. Raises StateError."""
        if made.noun in self.own:
            raise StateError(
                f"This owner has already signed its {made.noun}.", where=self.proposal.session
            )
        self.own[made.noun] = state(identity, self.proposal.session, made)
        return self.own[made.noun]

    def require_phase(self, *wanted: Phase) -> None:
        """Check that a request is allowed in the current phase. Raises PramanaError, StateError."""
        if self.problem is not None:
            raise error_of(self.problem)
        if self.phase not in wanted:
            raise StateError(
                f"The session is {self.phase}, but this request is allowed only if it is "
                f"{' or '.join(wanted)}.",
                where=self.proposal.session,
            )

    def require_own(self, kind: type[Statement], signed: Signed) -> None:
        """Check that this owner's statement came back unaltered. Raises PeerDeviated."""
        if self.own.get(kind.noun) != signed:
            raise PeerDeviated(
                f"{self.proposal.initiator} returned an altered {kind.noun} of {signed.owner}.",
                where=self.proposal.initiator,
            )


def error_of(problem: ProblemDetail) -> PramanaError:
    """Return another owner's error as the same class here, so that the exit codes are equal."""
    # If classes share a code, use their base class.
    every = reversed(list(error_classes()))
    kinds = {kind.code: kind for kind in every if kind.__init__ is PramanaError.__init__}
    kind = kinds.get(problem.code, SessionEnded)
    return kind(problem.detail, where=problem.where, remedy=problem.remedy)
