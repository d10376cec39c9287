"""A session from its initiator's side: every owner does each step before any does the next.

Whatever fails, at whichever owner, ends the session at all of them with the same message, until
all have agreed to one result. From then on it is written, and no owner ends the session any more.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from owner_agent.peer.exchange.entitlement import learners
from owner_agent.peer.participant import Participant
from owner_agent.peer.protocol.messages import Ending, Proposal, Signed, Statements, Status
from owner_agent.peer.protocol.steps import (
    ANNOUNCEMENTS,
    BEGIN,
    COMMIT,
    END,
    OFFERS,
    PARTS,
    PROPOSE,
    STATUS,
    Answer,
    Partner,
    Request,
    Step,
)
from owner_agent.peer.protocol.threads import started, uninterrupted
from owner_agent.peer.session import error_of
from owner_agent.state.environment import WaitingTimes
from pramana_core.errors import PeerDeviated, PramanaError, SessionEnded
from pramana_core.privacy import StudyDisclosure
from pramana_core.progress import StagedProgress
from pramana_core.wire.services import problem_of


@dataclass(frozen=True)
class JointOutcome:
    """A session's result: where it is, its digest, and owners that did not confirm theirs.

    `loss` is that of the columns sent in it.
    """

    session: str
    folder: Path
    digest: str
    unconfirmed: tuple[str, ...]
    loss: StudyDisclosure


def run_session(
    participant: Participant, proposal: Proposal, watch: StagedProgress
) -> JointOutcome:
    """Run a session to its end. Raises PramanaError."""
    name, session = participant.name, proposal.session
    ends = participant.clock() + proposal.seconds
    others = [participant.partners(other).within(ends) for other in proposal.others(name)]
    led = _Coordinator(participant, others, proposal, watch, ends)
    with participant.leading(proposal):
        try:
            agreed = led.made_ready()
            led.require_ready()
            with uninterrupted():
                # This owner first: before others may have written, a failure still ends it for all.
                written = participant.ask(COMMIT, session, agreed)
                unconfirmed = led.commit(agreed)
        except PramanaError as error:
            led.end(error)
            raise
        except BaseException as error:
            # The others must not wait for their deadlines.
            unforeseen = isinstance(error, Exception)
            what = "met an unforeseen error" if unforeseen else "interrupted the session"
            led.end(SessionEnded(f"{name} {what}.", where=name))
            raise
    folder = participant.site.folder / participant.site.peer.results / session
    disclosure = participant.loss(participant.mine(session, name))
    return JointOutcome(session, folder, written.digest or "", unconfirmed, disclosure)


@dataclass(frozen=True)
class _Coordinator:
    """A session as its initiator leads it: `participant` itself, and the `others`."""

    participant: Participant
    others: Sequence[Partner]
    proposal: Proposal
    watch: StagedProgress
    ends: float

    @property
    def partners(self) -> list[Partner]:
        """All owners of the session, this one first."""
        return [self.participant, *self.others]

    @property
    def patience(self) -> WaitingTimes:
        """For how long this owner waits."""
        return self.participant.environment.patience

    def made_ready(self) -> Statements:
        """Bring all owners to agree to one result; return what they signed."""
        offers = self.each("offers", PROPOSE, self.proposal)
        announcements = self.each("announcements", OFFERS, Statements(all=offers))
        self.each("checks", ANNOUNCEMENTS, Statements(all=announcements))
        self.each("start", BEGIN)
        parts = self.learned()
        if not self.proposal.task.shared:
            return Statements(all=[self.participant.make_own_ready(self.proposal.session)])
        agreed = Statements(all=self.each("networks", PARTS, Statements(all=parts)))
        self.participant.check_agreed(self.proposal.session, agreed)
        return agreed

    def each(
        self, title: str, step: Step[Request, Answer], message: Request | None = None
    ) -> list[Answer]:
        """Ask all owners at once and wait for all; raise the first error in their order.

        Raises PramanaError, SessionEnded.
        """
        session = self.proposal.session
        pending_answers = [started(partial(p.ask, step, session, message)) for p in self.partners]
        left = max(0.0, self.ends - self.participant.clock()) + self.patience.last
        limit = time.monotonic() + left
        pending = set(pending_answers)
        while pending:
            self.watch(title, len(pending_answers) - len(pending), len(pending_answers))
            left = limit - time.monotonic()
            _, pending = wait(
                pending, max(0.0, min(left, self.patience.poll)), return_when=FIRST_COMPLETED
            )
            if pending and left <= 0:
                answers = zip(self.partners, pending_answers, strict=True)
                raise self._late(partner for partner, answer in answers if answer in pending)
        self.watch(title, len(pending_answers), len(pending_answers))
        return [answer.result() for answer in pending_answers]

    def _late(self, slow: Iterator[Partner]) -> SessionEnded:
        names = ", ".join(partner.name for partner in slow)
        return SessionEnded(
            f"{names} did not answer within {self.proposal.seconds:.0f} seconds.",
            where=names,
            remedy="Give the session more seconds, or ask the owner's custodian.",
        )

    def learned(self) -> list[Signed]:
        """Wait until every owner has learned its part; return the parts. Raises PramanaError."""
        expected = learners(self.proposal) if self.proposal.task.shared else ()
        while True:
            statuses = [partner.ask(STATUS, self.proposal.session) for partner in self.partners]
            for status in statuses:
                if status.problem is not None:
                    raise error_of(status.problem)
            self.watch("learning", *_progress(statuses))
            by_partner = dict(zip((p.name for p in self.partners), statuses, strict=True))
            if all(status.phase == "learned" for status in statuses):
                return list(_parts(by_partner, expected))
            slow = [n for n, s in by_partner.items() if s.phase != "learned"]
            if self.participant.clock() > self.ends:
                raise SessionEnded(
                    f"{', '.join(slow)} had not learned within"
                    f" {self.proposal.seconds:.0f} seconds.",
                    where=", ".join(slow),
                    remedy="Give the session more seconds, or learn over fewer variables.",
                )
            self.participant.environment.sleep(self.patience.poll)

    def require_ready(self) -> None:
        """Check that all are there to write; an owner that has gone still ends it everywhere.

        Raises PramanaError.
        """
        if self.proposal.task.shared:
            for partner in self.others:
                _require_ready(partner.ask(STATUS, self.proposal.session))
        if self.participant.clock() > self.ends:
            raise self._late(iter(self.partners))

    def commit(self, agreed: Statements) -> tuple[str, ...]:
        """Let the others write; return who did not confirm.

        The session cannot be undone any more: an owner that did not hear of it asks the others
        when its time is over.
        """
        session, ends = self.proposal.session, self.participant.clock() + self.patience.last
        others = [partner.within(ends) for partner in self.others]
        pending_answers = [started(partial(p.ask, COMMIT, session, agreed)) for p in others]
        wait(pending_answers, self.patience.last)
        unconfirmed = tuple(
            partner.name
            for partner, answer in zip(others, pending_answers, strict=True)
            if not answer.done() or answer.exception() is not None
        )
        self.watch("writing", len(self.partners) - len(unconfirmed), len(self.partners))
        return unconfirmed

    def end(self, error: PramanaError) -> None:
        """Notify all owners that the session is over, as far as they can be told."""
        ending = Ending(owner=self.participant.name, problem=problem_of(error))
        ends = self.participant.clock() + self.patience.last

        def inform(partner: Partner) -> None:
            # It may never have begun, or be the one that is gone: its own deadline ends it.
            with suppress(PramanaError):
                partner.within(ends).ask(END, self.proposal.session, ending)

        wait([started(partial(inform, partner)) for partner in self.partners], self.patience.last)


def _progress(statuses: Sequence[Status]) -> tuple[int, int]:
    done = sum(s.total if s.phase == "learned" else s.done for s in statuses)
    return done, max(1, sum(s.total for s in statuses))


def _parts(statuses: dict[str, Status], expected: Sequence[str]) -> Iterator[Signed]:
    for owner in expected:
        part = statuses[owner].part
        if part is None:
            raise PeerDeviated(f"{owner} has learned its part and does not send it.", where=owner)
        yield part


def _require_ready(status: Status) -> None:
    if status.problem is not None:
        raise error_of(status.problem)
    if status.phase != "ready":
        raise PeerDeviated(f"An owner is {status.phase}, not ready to write the network.")
