"""A session from its initiator's side: every owner does each step before any does the next.

Whatever fails, at whichever owner, ends the session at all of them with the same message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from owner_agent.peer.messages import Agreed, Ending, Proposal, Signed, Statements, Status
from owner_agent.peer.participant import Participant
from owner_agent.peer.partner import Partner
from owner_agent.peer.session import error_of, problem_for
from owner_agent.peer.tasks import learners, task_of
from shared.errors import PeerDeviated, PramanaError, SessionEnded

Watch = Callable[[str, int, int], None]
"""Called with a step, how much of it is done, and of how much."""

POLL_SECONDS = 0.2

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class JointOutcome:
    """A session's result: where it is, its digest, and owners that did not confirm theirs."""

    session: str
    folder: Path
    digest: str
    unconfirmed: tuple[str, ...]


def run_session(
    partners: Sequence[Partner],
    participant: Participant,
    proposal: Proposal,
    watch: Watch,
) -> JointOutcome:
    """Run a session to its end.

    Args:
        partners: all participants, this owner among them.
        participant: this owner.
        proposal: what is proposed.
        watch: told of the progress.

    Raises:
        PramanaError: what ended the session, at whichever owner; no result is anywhere.
    """
    surroundings = participant.surroundings
    surroundings = participant.surroundings

    def clock() -> float:
        return surroundings.now().timestamp()

    ends = clock() + proposal.seconds
    steps = _Steps(partners, proposal, surroundings.sleep, watch, clock, ends)
    try:
        agreed = _made_ready(steps, participant)
        unconfirmed = steps.commit(agreed, participant.name)
    except PramanaError as error:
        steps.end(error, participant.name)
        raise
    except BaseException:
        # An interrupt, or what nobody foresaw: the others must not wait for their deadlines.
        reason = SessionEnded(
            f"{participant.name} interrupted the session.", where=participant.name
        )
        steps.end(reason, participant.name)
        raise
    results = participant.site.folder / participant.site.peer.results
    folder = results / proposal.session
    return JointOutcome(proposal.session, folder, agreed.digest, unconfirmed)


def _made_ready(steps: _Steps, participant: Participant) -> Agreed:
    session = steps.proposal.session
    offers = steps.each("offers", lambda p: p.propose(steps.proposal))
    told = Statements(all=offers)
    announcements = steps.each("announcements", lambda p: p.offers(session, told))
    announced = Statements(all=announcements)
    steps.each("checks", lambda p: p.announcements(session, announced))
    steps.each("start", lambda p: p.begin(session))
    parts = steps.learned()
    if not task_of(steps.proposal).shared:
        return participant.make_own_ready(session)
    learned = Statements(all=parts)
    digests = steps.each("networks", lambda p: p.parts(session, learned))
    if len({agreed.digest for agreed in digests}) > 1:
        raise PeerDeviated("The owners did not arrive at the same network.")
    return digests[0]


@dataclass(frozen=True)
class _Steps:
    partners: Sequence[Partner]
    proposal: Proposal
    sleep: Callable[[float], None]
    watch: Watch
    clock: Callable[[], float]
    ends: float

    def each(self, step: str, ask: Callable[[Partner], Answer]) -> list[Answer]:
        """Ask all owners at once and wait for all; raise the first error in their order."""
        answers: list[Answer] = []
        self.watch(step, 0, len(self.partners))
        pool = ThreadPoolExecutor(len(self.partners))
        try:
            asked = [pool.submit(ask, partner) for partner in self.partners]
            for done, answer in enumerate(asked, start=1):
                answers.append(answer.result())
                self.watch(step, done, len(self.partners))
        except PramanaError:
            # The others answer first: an owner still at this step could not be told of the end.
            pool.shutdown(wait=True)
            raise
        finally:
            # Who interrupts does not wait.
            pool.shutdown(wait=False, cancel_futures=True)
        return answers

    def learned(self) -> list[Signed]:
        """Wait until every owner has learned its part; return the parts.

        Raises:
            PramanaError: an owner's session has ended; what ended it.
        """
        expected = learners(self.proposal) if task_of(self.proposal).shared else ()
        while True:
            statuses = [partner.status(self.proposal.session) for partner in self.partners]
            for status in statuses:
                if status.problem is not None:
                    raise error_of(status.problem)
            self.watch("learning", *_progress(statuses))
            told = dict(zip((p.name for p in self.partners), statuses, strict=True))
            if all(status.phase == "learned" for status in statuses):
                return list(_parts(told, expected))
            slow = [n for n, s in told.items() if s.phase != "learned"]
            if self.clock() > self.ends:
                raise SessionEnded(
                    f"{', '.join(slow)} had not learned within"
                    f" {self.proposal.seconds:.0f} seconds.",
                    where=", ".join(slow),
                    remedy="Give the session more seconds, or learn over fewer variables.",
                )
            self.sleep(POLL_SECONDS)

    def commit(self, agreed: Agreed, own: str) -> tuple[str, ...]:
        """Let all write, this owner last; return who did not confirm.

        Once one owner may have written, the session cannot be undone: an owner that did not hear
        of it asks the others when its time is over.
        """
        session = self.proposal.session
        others = [partner for partner in self.partners if partner.name != own]
        if task_of(self.proposal).shared:
            # Nobody has written yet: an owner that has gone meanwhile still ends it everywhere.
            for partner in others:
                _require_ready(partner.status(session))
        unconfirmed = []
        for partner in others:
            try:
                partner.commit(session, agreed)
            except PramanaError:
                unconfirmed.append(partner.name)
        next(p for p in self.partners if p.name == own).commit(session, agreed)
        self.watch("writing", len(self.partners) - len(unconfirmed), len(self.partners))
        return tuple(unconfirmed)

    def end(self, error: PramanaError, own: str) -> None:
        """Tell all owners that the session is over, as far as they can be told."""
        ending = Ending(owner=own, problem=problem_for(error))

        def tell(partner: Partner) -> None:
            # It may never have begun, or be the one that is gone: its own deadline ends it.
            with suppress(PramanaError):
                partner.end(self.proposal.session, ending)

        with ThreadPoolExecutor(len(self.partners)) as pool:
            list(pool.map(tell, self.partners))


def _progress(statuses: Sequence[Status]) -> tuple[int, int]:
    done = sum(s.total if s.phase == "learned" else s.done for s in statuses)
    return done, max(1, sum(s.total for s in statuses))


def _parts(told: dict[str, Status], expected: Sequence[str]) -> Iterator[Signed]:
    for owner in expected:
        part = told[owner].part
        if part is None:
            raise PeerDeviated(f"{owner} has learned its part and does not tell it.", where=owner)
        yield part


def _require_ready(status: Status) -> None:
    if status.problem is not None:
        raise error_of(status.problem)
    if status.phase != "ready":
        raise PeerDeviated(f"An owner is {status.phase}, not ready to write the network.")
