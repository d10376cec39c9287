"""An owner in joint sessions: what it agrees to, gives, learns and writes, one session at a time.

The owner decides at every step. It knows who calls, works out from the agreed task what
the caller is entitled to, and ends the session at the first thing that is not as agreed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Self

from owner_agent.peer.agreement import (
    agree_on_announcements,
    agree_on_offers,
    agree_on_result,
    consent,
    require_unchanged,
    stated,
)
from owner_agent.peer.exact import require_tellable_before
from owner_agent.peer.exchange.catalogue import entitled, learners, task_of, variables_of
from owner_agent.peer.exchange.local_records import hold, offer
from owner_agent.peer.exchange.network import files_of, merge, part_of
from owner_agent.peer.exchange.outgoing import Consent, OutgoingPackage, outgoing, share_of
from owner_agent.peer.exchange.session_loss import costs_of, session_lines, session_loss
from owner_agent.peer.learning import learn
from owner_agent.peer.ledger_lines import (
    close_lines,
    enter_package,
    enter_session,
    enter_told,
    mark_session,
)
from owner_agent.peer.member import Member
from owner_agent.peer.protocol.messages import (
    Announcement,
    Ending,
    NetworkPart,
    Offer,
    Proposal,
    Signed,
    Statements,
    Status,
    digest_of,
)
from owner_agent.peer.protocol.session_file import SessionFile
from owner_agent.peer.protocol.steps import Answer, Request, Step
from owner_agent.peer.session import Session, error_of
from owner_agent.peer.session_results import SessionResult, earlier_status, families_of, keep
from owner_agent.release.history import known_entries, not_known_by_miner
from owner_agent.state.lock import publishing_alone
from pramana_core.errors import Conflict, Forbidden, NotFound, OtherGroupings, PramanaError
from pramana_core.privacy import StudyDisclosure
from pramana_core.progress import unwatched


@dataclass(eq=False)
class Participant(Member):
    """This owner, as the others meet it; every request names its caller, who was authenticated.

    It takes part in sessions like `only`, if that is given, and in no other than `leads` while it
    leads that one. `accepts` is what the custodian agreed to beforehand.
    """

    accepts: Consent = field(default_factory=Consent)
    only: SessionFile | None = None
    leads: Proposal | None = None
    _taken: threading.Lock = field(default_factory=threading.Lock)
    _taking_up: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def leading(self, proposal: Proposal) -> Iterator[None]:
        """Take part in one session only, which this owner begins, for as long as that takes."""
        before, self.leads = self.leads, proposal
        try:
            yield
        finally:
            self.leads = before

    def within(self, ends: float) -> Self:  # noqa: ARG002
        """Return itself; no owner waits for itself longer than for its work."""
        return self

    def ask(
        self, step: Step[Request, Answer], session: str, message: Request | None = None
    ) -> Answer:
        """Do a step of a session that this owner began."""
        return self.answer(step, self.name, session, message)

    def answer(
        self,
        step: Step[Request, Answer],
        caller: str,
        session: str,
        message: Request | None = None,
    ) -> Answer:
        """Do a step that an owner asks for, by the method of the step's name.

        Raises NotFound, Forbidden, StateError, PramanaError.
        """
        method: Callable[..., Answer] = getattr(self, step.name)
        messages = () if message is None else (message,)
        if step.phase is None:
            return method(caller, session, *messages)
        with self._step(caller, session) as mine:
            mine.require_phase(step.phase)
            return method(mine, *messages)

    def propose(self, caller: str, _session: str, proposal: Proposal) -> Signed:
        """Take part in a session, or say why not.

        Raises Forbidden, Conflict, ConfigError, InputError, KeyFileError, VariablesMissing.
        """
        with self.own_affairs():
            require_unchanged(self.path, self.site, self.known)
        consent(self.site, self.known, caller, proposal, self.only)
        if self.leads is not None and self.leads != proposal:
            raise self._busy()
        if not self._taken.acquire(blocking=False):
            raise self._busy()
        try:
            self.sweep()
            if self.session is not None and not self.session.over:
                raise self._busy()
            with self._taking_up:
                session, made = self._taken_up(caller, proposal)
            return session.sign_once(self.identity, made)
        finally:
            self._taken.release()

    def offers(self, mine: Session, offers: Statements) -> Signed:
        """Learn what all have, and say what this owner would send to whom."""
        participants = mine.proposal.participants
        mine.offers = stated(mine, self.everybody(), Offer, offers, participants)
        mine.offers_digest = digest_of(offers.all)
        agree_on_offers(mine)
        # Before anybody's columns are known, other groupings are this owner's own changes.
        with self.own_store(OtherGroupings):
            require_tellable_before(mine.holding, mine.proposal)
        with self.own_affairs(), publishing_alone(self.site.state):
            mine.outgoing = dict(self._outgoing(mine))
        made = Announcement(
            proposal=mine.proposal.digest,
            offers=mine.offers_digest,
            packages={peer: made.package for peer, made in mine.outgoing.items()},
            costs=costs_of(mine.outgoing.values()),
        )
        mine.phase = "announced"
        return mine.sign_once(self.identity, made)

    def announcements(self, mine: Session, announcements: Statements) -> Status:
        """Check what all would send."""
        participants = mine.proposal.participants
        signed = stated(mine, self.everybody(), Announcement, announcements, participants)
        mine.announcements = signed
        agree_on_announcements(mine, self.name)
        for line in session_lines(self.loss(mine)):
            self.notify(line)
        mine.phase = "agreed"
        return mine.status()

    def loss(self, mine: Session) -> StudyDisclosure:
        """Return the loss of a record by the columns that all announced."""
        return session_loss(mine.announcements)

    def begin(self, mine: Session) -> Status:
        """Start to fetch and to learn, in a thread of its own."""
        if self.name in learners(mine.proposal):
            mine.phase = "learning"
            threading.Thread(target=self._learn, args=(mine,), daemon=True).start()
        else:
            mine.phase = "learned"
        return mine.status()

    def package_part(self, caller: str, session: str, number: int) -> bytes:
        """Give the caller one part of what it is entitled to, written down first.

        Raises Forbidden, NotFound.
        """
        self.sweep()
        mine = self.mine(session, caller)
        with mine.lock:
            if mine.problem is not None:
                raise error_of(mine.problem)
            made = mine.outgoing.get(caller)
            if made is None or mine.phase not in {"agreed", "learning", "learned"}:
                raise Forbidden(
                    f"{self.name} has no columns for {caller} in this session, or not now.",
                    where=caller,
                )
            if not 0 <= number < len(made.package.parts):
                raise NotFound("There is no such part.", where=str(number))
            with self.ending(mine), self.own_affairs():
                enter_package(mine, caller, self.environment, self.accepts)
            return made.part(number)

    def status(self, caller: str, session: str) -> Status:
        """Return how far this owner is, or that it wrote the result of an earlier session.

        Only participants see what it learned.
        """
        if self.session is None or self.session.proposal.session != session:
            return earlier_status(self.site, caller, session)
        return self.mine(session, caller).status()

    def parts(self, mine: Session, parts: Statements) -> Signed:
        """Join all parts to one network, make its files ready, and sign their digest."""
        signed = stated(mine, self.everybody(), NetworkPart, parts, learners(mine.proposal))
        merged = merge(mine.proposal, signed, mine.holdings, mine.domain)
        records = {owner: offer.records for owner, offer in mine.offers.items()}
        return self.make_ready(mine, files_of(mine.proposal, merged, mine.holdings, records))

    def check_agreed(self, session: str, agreed: Statements) -> None:
        """Check, where this owner began the session, that all agree to what it made ready.

        Raises PeerDeviated.
        """
        mine = self.mine(session, self.name, initiator=True)
        agree_on_result(mine, self.everybody(), agreed)

    def commit(self, caller: str, session: str, agreed: Statements) -> Status:
        """Write the result that all have made ready and signed. Harmless if repeated.

        Raises PeerDeviated, StateError.
        """
        if self.session is None or self.session.proposal.session != session:
            return earlier_status(self.site, caller, session)
        mine = self.mine(session, caller, initiator=True)
        self.sweep()
        with mine.lock:
            if mine.phase in {"written", "finished"}:
                return mine.status()
        with self._step(caller, session) as mine:
            if not task_of(mine.proposal).shared and self.name not in learners(mine.proposal):
                mine.require_phase("learned")
                mine.phase = "finished"
                close_lines(mine, self.environment.now())
                self.notify(f"Session {session[:12]} is finished; {caller} has its result.")
                return mine.status()
            mine.require_phase("ready")
            agree_on_result(mine, self.everybody(), agreed)
            mine.agreed = agreed
        self.write(mine)
        return mine.status()

    def end(self, caller: str, session: str, ending: Ending) -> Status:
        """End a session without a result; what all agreed to and was to be written stays."""
        # Whoever begins a session may end it while this owner still reads its table for it.
        with self._taking_up:
            mine = self.mine(session, caller, initiator=True)
        if mine.agreed is None or caller == self.name:
            self.give_up(mine, error_of(ending.problem))
        return mine.status()

    def make_own_ready(self, session: str) -> Signed:
        """Make a result ready that is the initiator's alone."""
        with self._step(self.name, session) as mine:
            mine.require_phase("learned")
            return self.make_ready(mine, mine.own_files or {})

    def _taken_up(self, caller: str, proposal: Proposal) -> tuple[Session, Offer]:
        self.notify(f"{caller} proposes session {proposal.session[:12]}: {proposal.task.kind}.")
        now = self.clock()
        with self.own_affairs():
            self._ask_miner()
            holding = hold(self.site, proposal, variables_of(proposal), unwatched)
            made = offer(holding, proposal)
            enter_session(holding, proposal, self.environment.now())
        ends = now + proposal.seconds + self.environment.patience.grace
        self.session = Session(proposal, holding, ends)
        return self.session, made

    def _ask_miner(self) -> None:
        """Check that the ledger knows what the site's miner has; note if it does not answer."""
        entries = known_entries(self.site.state)
        why = not_known_by_miner(self.site, entries, self.environment)
        self.miner_not_asked = None if why is None else f"The miner was not asked: {why}"
        if self.miner_not_asked is not None:
            self.notify(self.miner_not_asked)

    def _outgoing(self, mine: Session) -> Iterator[tuple[str, OutgoingPackage]]:
        # No two peers see two randomizations of one value.
        for peer in mine.proposal.participants:
            names = entitled(mine.proposal, mine.holdings, self.name, peer)
            share = share_of(mine.holding.plan.plan, names)
            if share is not None:
                now = self.environment.now()
                of = (mine.holding, mine.proposal, peer, share, now, self.accepts)
                yield peer, outgoing(*of)

    def _learn(self, mine: Session) -> None:
        def watch(done: int, total: int) -> None:
            self.sweep()
            with mine.lock:
                mine.require_phase("learning")
                mine.progress = (done, total)

        try:
            with self.own_store():
                findings, tables = learn(mine, self.partners, watch, self.environment.now())
            records = len(mine.holding.keys)
            with mine.lock:
                mine.require_phase("learning")
                if task_of(mine.proposal).shared:
                    part = part_of(mine.proposal, findings, records)
                    with self.own_store():
                        enter_told(mine, tables, self.environment)
                    mark_session(mine, "sending", self.environment.now())
                    families = families_of(part.families)
                    keep(self.site.state, SessionResult(proposal=mine.proposal, families=families))
                    mine.sign_once(self.identity, part)
                mine.own_files = dict(findings.files or {})
                mine.phase = "learned"
        except PramanaError as error:
            self.give_up(mine, error)
        except Exception as error:
            # What an unforeseen error says may quote a record.
            self.give_up(mine, self.unforeseen(error))
            raise

    @contextmanager
    def _step(self, caller: str, session: str) -> Iterator[Session]:
        """Do one step that the initiator asks for; the session ends here if it cannot be done."""
        self.sweep()
        mine = self.mine(session, caller, initiator=True)
        with mine.lock, self.ending(mine):
            yield mine

    def _busy(self) -> Conflict:
        return Conflict(
            f"{self.name} is in another session.",
            where=self.name,
            remedy="Try again when that has ended.",
        )
