"""A session from the initiator's side. All owners complete a step before any starts the next step.

Until all owners have agreed on a result, any failure ends the session everywhere, with one message.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from owner_agent.peer.agreement import agree_on_result
from owner_agent.peer.exchange.session_loss import session_loss
from owner_agent.peer.participant import Participant
from owner_agent.peer.protocol.messages import Ending, Proposal, Signed, Statements
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
    """The result of a session, its `loss`, and the owners that did not confirm writing it."""

    session: str
    folder: Path
    digest: str
    unconfirmed: tuple[str, ...]
    loss: StudyDisclosure


def run_session(
    participant: Participant, proposal: Proposal, watch: StagedProgress
) -> JointOutcome:
    """Run a session from the proposal to the result. Raises PramanaError."""
    name, session = participant.name, proposal.session
    ends = participant.clock() + proposal.seconds
    others = [participant.partners(other).within(ends) for other in proposal.others(name)]
    led = _Coordinator(participant, others, proposal, watch, ends)
    with participant.leading(proposal):
        try:
            agreed = led.reach_agreement()
            with uninterrupted():
                # This owner writes first: until others may have written, a failure ends it for all.
                written = participant.ask(COMMIT, session, agreed)
                unconfirmed = led.commit(agreed)
        except PramanaError as error:
            led.end(error)
            raise
        except BaseException as error:
            # End the session now, as the others would otherwise wait for their deadlines.
            unforeseen = isinstance(error, Exception)
            what = "had an unforeseen error" if unforeseen else "interrupted the session"
            led.end(SessionEnded(f"{name} {what}.", where=name))
            raise
    folder = participant.site.folder / participant.site.peer.results / session
    disclosure = session_loss(participant.mine(session, name).drawn)
    return JointOutcome(session, folder, written.digest or "", unconfirmed, disclosure)


@dataclass(frozen=True)
class _Coordinator:
    """The initiator in a session: its own `participant`, and the `others`."""

    participant: Participant
    others: Sequence[Partner]
    proposal: Proposal
    watch: StagedProgress
    ends: float

    @property
    def partners(self) -> list[Partner]:
        """All owners of the session, this owner first."""
        return [self.participant, *self.others]

    @property
    def patience(self) -> WaitingTimes:
        """The waiting times in this owner's environment."""
        return self.participant.environment.patience

    def reach_agreement(self) -> Statements:
        """Lead all owners to agree on one result. Return their signed statements."""
        offers = self.each("offers", PROPOSE, self.proposal)
        announcements = self.each("announcements", OFFERS, Statements(all=offers))
        self.each("checks", ANNOUNCEMENTS, Statements(all=announcements))
        self.each("start", BEGIN)
        parts = Statements(all=self.learned())
        agreed = Statements(all=self.each("networks", PARTS, parts))
        mine = self.participant.mine(self.proposal.session, self.participant.name)
        agree_on_result(mine, self.participant.everybody(), agreed)
        # An owner lost meanwhile must still end the session everywhere.
        for partner in self.others:
            status = partner.ask(STATUS, self.proposal.session)
            if status.problem is not None:
                raise error_of(status.problem)
            if status.phase != "ready":
                raise PeerDeviated(f"{partner.name} is {status.phase}, not ready to write.")
        if self.participant.clock() > self.ends:
            raise self._late("did not answer", self.partners)
        return agreed

    def each(
        self, title: str, step: Step[Request, Answer], message: Request | None = None
    ) -> list[Answer]:
        """Send a step to all owners at once; return all answers. Raises the first owner's error."""
        session = self.proposal.session
        answers = [started(partial(p.ask, step, session, message)) for p in self.partners]
        left = max(0.0, self.ends - self.participant.clock()) + self.patience.last
        limit, pending = time.monotonic() + left, set(answers)
        while pending:
            self.watch(title, len(answers) - len(pending), len(answers))
            left = limit - time.monotonic()
            seconds = max(0.0, min(left, self.patience.poll))
            _, pending = wait(pending, seconds, return_when=FIRST_COMPLETED)
            if pending and left <= 0:
                late = zip(self.partners, answers, strict=True)
                raise self._late("did not answer", (p for p, answer in late if answer in pending))
        self.watch(title, len(answers), len(answers))
        return [answer.result() for answer in answers]

    def _late(self, what: str, slow: Iterable[Partner]) -> SessionEnded:
        names = ", ".join(partner.name for partner in slow)
        return SessionEnded(
            f"{names} {what} within {self.proposal.seconds:.0f} seconds.",
            where=names,
            remedy="Increase seconds in the session file, or contact the owner's custodian.",
        )

    def learned(self) -> list[Signed]:
        """Wait until every owner has learned its part; return the parts. Raises PramanaError."""
        while True:
            statuses = [partner.ask(STATUS, self.proposal.session) for partner in self.partners]
            for status in statuses:
                if status.problem is not None:
                    raise error_of(status.problem)
            done = sum(s.total if s.phase == "learned" else s.done for s in statuses)
            self.watch("learning", done, max(1, sum(s.total for s in statuses)))
            both = list(zip(self.partners, statuses, strict=True))
            slow = [partner for partner, status in both if status.phase != "learned"]
            if not slow:
                break
            if self.participant.clock() > self.ends:
                raise self._late("had not learned", slow)
            self.participant.environment.sleep(self.patience.poll)
        parts = []
        for partner, status in both:
            if status.part is None:
                name = partner.name
                raise PeerDeviated(f"{name} has learned its part but did not send it.", where=name)
            parts.append(status.part)
        return parts

    def commit(self, agreed: Statements) -> tuple[str, ...]:
        """Ask other owners to write the result; return the names of those that did not confirm."""
        session, ends = self.proposal.session, self.participant.clock() + self.patience.last
        others = [partner.within(ends) for partner in self.others]
        answers = [started(partial(p.ask, COMMIT, session, agreed)) for p in others]
        wait(answers, self.patience.last)
        unconfirmed = tuple(
            partner.name
            for partner, answer in zip(others, answers, strict=True)
            if not answer.done() or answer.exception() is not None
        )
        self.watch("writing", len(self.partners) - len(unconfirmed), len(self.partners))
        return unconfirmed

    def end(self, error: PramanaError) -> None:
        """Inform all reachable owners that the session ended with an error."""
        ending = Ending(owner=self.participant.name, problem=problem_of(error))
        ends = self.participant.clock() + self.patience.last

        def inform(partner: Partner) -> None:
            # The owner may never have begun, or be unreachable: its own deadline ends the session.
            with suppress(PramanaError):
                partner.within(ends).ask(END, self.proposal.session, ending)

        wait([started(partial(inform, partner)) for partner in self.partners], self.patience.last)
