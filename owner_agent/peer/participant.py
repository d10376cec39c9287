"""An owner in joint sessions, one at a time: its consent, its columns, its learning, its results.

The owner ends a session as soon as another owner deviates from the agreement.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from owner_agent.http import report_failure
from owner_agent.peer.agreement import (
    agree_on_announcements,
    agree_on_offers,
    agree_on_result,
    consent,
    read_statements,
    require_unchanged,
)
from owner_agent.peer.exact import counted_from, exact_tables, require_own_shareable
from owner_agent.peer.exchange.incoming import ReceivedColumns, receive
from owner_agent.peer.exchange.local_records import offer, read_local_records
from owner_agent.peer.exchange.network import digest_of_files, files_of, merge, part_of
from owner_agent.peer.exchange.outgoing import OutgoingPackage, forget, outgoing, share_of
from owner_agent.peer.exchange.session_loss import session_lines, session_loss
from owner_agent.peer.exchange.session_record import ExactTable
from owner_agent.peer.ledger_lines import (
    close_lines,
    discard_session,
    enter_agreed,
    enter_package,
    enter_session,
    enter_shared,
)
from owner_agent.peer.protocol.identity import PeerIdentity, PublicIdentity, load_identity, pinned
from owner_agent.peer.protocol.messages import (
    Announcement,
    Ending,
    NetworkPart,
    Offer,
    Proposal,
    ResultAgreement,
    Signed,
    Statements,
    Status,
    digest_of,
)
from owner_agent.peer.protocol.session_file import SessionFile
from owner_agent.peer.protocol.steps import STATUS, Answer, Request, Step
from owner_agent.peer.protocol.tasks import Findings
from owner_agent.peer.remote import RemotePartner
from owner_agent.peer.session import Session, error_of
from owner_agent.peer.session_results import earlier_status, finish_written, no_session, stage
from owner_agent.release.history import known_entries, not_known_by_miner
from owner_agent.release.options import PublishOptions
from owner_agent.site.planning import planned
from owner_agent.site.site import Site, load_site
from owner_agent.state.environment import Environment
from owner_agent.state.lock import publishing_alone
from pramana_core.errors import (
    ConfigError,
    Conflict,
    Forbidden,
    KeyFileError,
    LimitExceeded,
    NotFound,
    OtherGroupings,
    PlanConflict,
    PramanaError,
    RecordsCorrected,
    SessionEnded,
    StateError,
    StoreCorrupt,
    VariablesMissing,
)
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.plan import Plan
from pramana_core.progress import Progress, unwatched
from pramana_core.wire.channels import PlanMessage
from pramana_core.wire.services import problem_of

Notify = Callable[[str], None]
"""Called with information for the custodian."""

_OUTSIDE: Mapping[type[PramanaError], type[PramanaError]] = {
    RecordsCorrected: PlanConflict,
    OtherGroupings: SessionEnded,
}
"""Errors sent to other owners instead of errors that reveal changes of this owner's values."""

_STORE = (StoreCorrupt, KeyFileError)


@dataclass(eq=False)
class Participant:
    """This owner, as called by other owners. Every request comes with its authenticated caller.

    `only` limits the sessions to those that match a file, `partners` returns another owner by name,
    and `accepts` is the custodian's prior consent. Other owners receive a shortened form of
    `own_error`. `miner_unreachable` is the reason why the miner's releases are unknown.
    """

    site: Site
    path: Path
    identity: PeerIdentity
    known: Mapping[str, PublicIdentity]
    environment: Environment
    partners: Callable[[str], RemotePartner]
    notify: Notify
    accepts: PublishOptions = field(default_factory=PublishOptions)
    only: SessionFile | None = None
    leads: Proposal | None = None
    session: Session | None = None
    own_error: PramanaError | None = None
    miner_unreachable: str | None = None
    _taken: threading.Lock = field(default_factory=threading.Lock)
    _taking_up: threading.Lock = field(default_factory=threading.Lock)

    @property
    def name(self) -> str:
        """This owner's name."""
        return self.site.owner

    @contextmanager
    def leading(self, proposal: Proposal) -> Iterator[None]:
        """Open a context in which this owner takes part only in a session that it starts."""
        before, self.leads = self.leads, proposal
        try:
            yield
        finally:
            self.leads = before

    def within(self, ends: float) -> Self:  # noqa: ARG002
        """Return this participant itself: calls to one's own participant need no time limit."""
        return self

    def ask(
        self, step: Step[Request, Answer], session: str, message: Request | None = None
    ) -> Answer:
        """Carry out a step of a session that this owner leads, and return the answer."""
        return self.answer(step, self.name, session, message)

    def answer(
        self,
        step: Step[Request, Answer],
        caller: str,
        session: str,
        message: Request | None = None,
    ) -> Answer:
        """Carry out a step for a caller. Raises NotFound, Forbidden, StateError, PramanaError."""
        method: Callable[..., Answer] = getattr(self, step.name)
        messages = () if message is None else (message,)
        if step.phase is None:
            return method(caller, session, *messages)
        with self._step(caller, session) as mine:
            mine.require_phase(step.phase)
            return method(mine, *messages)

    # The steps of a session, in order.

    def propose(self, caller: str, _session: str, proposal: Proposal) -> Signed:
        """Take part in a proposed session.

        Raises Forbidden, Conflict, or the error that prevents taking part.
        """
        with self._own_affairs():
            require_unchanged(self.path, self.site, self.known)
        consent(self.site, self.known, caller, proposal, self.only)
        free = self.leads in (None, proposal) and self._taken.acquire(blocking=False)
        if not free:
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
        """Receive all offers, and announce the columns that this owner would send to each peer."""
        mine.offers = read_statements(mine, self.everybody(), Offer, offers)
        mine.offers_digest = digest_of(offers.all)
        agree_on_offers(mine)
        # Until peers' columns are known, new groupings come from this owner's own changes.
        with self._own_affairs(*_STORE, OtherGroupings):
            require_own_shareable(mine.holding, mine.proposal)
        with self._own_affairs(), publishing_alone(self.site.state):
            mine.outgoing = dict(self._outgoing(mine))
        # Variables of a joint block that nobody receives are not announced.
        sent = {draw.variable for made in mine.outgoing.values() for draw in made.entry.draws}
        share = share_of(mine.holding.plan.plan, sorted(sent))
        made = Announcement(
            proposal=mine.proposal.digest,
            offers=mine.offers_digest,
            drawn=None if share is None else PlanMessage.from_plan(share.plan),
            packages={peer: made.package for peer, made in mine.outgoing.items()},
        )
        mine.phase = "announced"
        return mine.sign_once(self.identity, made)

    def announcements(self, mine: Session, announcements: Statements) -> Status:
        """Check the announcements of all owners."""
        mine.announcements = read_statements(mine, self.everybody(), Announcement, announcements)
        agree_on_announcements(mine, self.name)
        for line in session_lines(session_loss(mine.drawn)):
            self.notify(line)
        mine.phase = "agreed"
        return mine.status()

    def begin(self, mine: Session) -> Status:
        """Start fetching and learning in a separate thread."""
        mine.phase = "learning"
        threading.Thread(target=self._learn, args=(mine,), daemon=True).start()
        return mine.status()

    def package_part(self, caller: str, session: str, number: int) -> bytes:
        """Return a part of the package, recording the release first. Raises Forbidden, NotFound."""
        self.sweep()
        mine = self.mine(session, caller)
        with mine.lock:
            if mine.problem is not None:
                raise error_of(mine.problem)
            made = mine.outgoing.get(caller)
            if made is None or mine.phase not in {"agreed", "learning", "learned"}:
                raise Forbidden(
                    f"{self.name} has no columns for {caller} at this stage of the session.",
                    where=caller,
                )
            if not 0 <= number < len(made.package.parts):
                raise NotFound("The part does not exist.", where=str(number))
            with self._ending(mine), self._own_affairs():
                enter_package(mine, caller, self.environment, self.accepts)
            return made.bodies.part(number)

    def status(self, caller: str, session: str) -> Status:
        """Return this owner's progress; only participants see its findings."""
        if self.session is None or self.session.proposal.session != session:
            return earlier_status(self.site, caller, session)
        return self.mine(session, caller).status()

    def parts(self, mine: Session, parts: Statements) -> Signed:
        """Merge all parts into one network, prepare its files, and sign their digest."""
        signed = read_statements(mine, self.everybody(), NetworkPart, parts)
        merged = merge(mine.proposal, signed, mine.holdings, mine.domain)
        records = {owner: offer.records for owner, offer in mine.offers.items()}
        return self._make_ready(mine, files_of(mine.proposal, merged, mine.holdings, records))

    def commit(self, caller: str, session: str, agreed: Statements) -> Status:
        """Write the result that all owners signed. The call is safe to repeat.

        Raises PeerDeviated, StateError.
        """
        if self.session is None or self.session.proposal.session != session:
            return earlier_status(self.site, caller, session)
        mine = self.mine(session, caller, initiator=True)
        self.sweep()
        with mine.lock:
            if mine.phase == "written":
                return mine.status()
        with self._step(caller, session) as mine:
            mine.require_phase("ready")
            agree_on_result(mine, self.everybody(), agreed)
            mine.agreed = agreed
        self._write(mine)
        return mine.status()

    def end(self, caller: str, session: str, ending: Ending) -> Status:
        """End a session without a result, unless all owners have agreed on one."""
        # The initiator may end the session while this owner still reads its table.
        with self._taking_up:
            mine = self.mine(session, caller, initiator=True)
        if mine.agreed is None or caller == self.name:
            self.give_up(mine, error_of(ending.problem))
        return mine.status()

    # Parts of the steps.

    def sweep(self) -> None:
        """End a session whose time limit has passed, even if no owner calls."""
        mine = self.session
        if mine is None or mine.over or self.clock() <= mine.ends:
            return
        if mine.phase == "ready" and (mine.agreed is not None or self._written_elsewhere(mine)):
            with suppress(StateError):
                self._write(mine)
            return
        seconds = f"{mine.proposal.seconds:.0f} seconds"
        ended = SessionEnded(
            f"{self.name} ended the session: no result within {seconds}.",
            where=self.name,
            remedy="Increase seconds in the session file, or find out which owner is slow.",
        )
        self.give_up(mine, ended)

    def everybody(self) -> dict[str, PublicIdentity]:
        """Return the public identities of this owner and all known owners."""
        return {**self.known, self.name: self.identity.public}

    def clock(self) -> float:
        """Return the current time in seconds."""
        return self.environment.now().timestamp()

    def mine(self, session: str, caller: str, *, initiator: bool = False) -> Session:
        """Return the session that a caller's request concerns. Raises NotFound, Forbidden."""
        mine = self.session
        if (
            mine is None
            or mine.proposal.session != session
            or caller not in mine.proposal.participants
        ):
            raise no_session(session)
        if initiator and caller != mine.proposal.initiator:
            raise Forbidden(
                f"Only {mine.proposal.initiator}, the initiator of the session, may request this.",
                where=caller,
            )
        return mine

    def give_up(self, mine: Session, error: PramanaError) -> None:
        """End a session without a result, and inform the custodian of the reason."""
        with mine.lock:
            if mine.over:
                return
            mine.phase, mine.problem = "ended", problem_of(error)
            if mine.staged is not None:
                mine.staged.discard()
            for made in mine.outgoing.values():
                forget(mine.holding, made)
            if NetworkPart.noun not in mine.own:
                discard_session(mine, self.environment.now())
        self.notify(f"Session {mine.proposal.session[:12]} ended without a result: {error}")

    @contextmanager
    def _own_affairs(self, *only: type[PramanaError]) -> Iterator[None]:
        """Show errors in this owner's files in full to its custodian, shortened to other owners."""
        kinds = only or (PramanaError,)
        try:
            yield
        except (VariablesMissing, LimitExceeded):
            raise
        except kinds as error:
            self.own_error = error
            self.notify(str(error))
            kind = _OUTSIDE.get(type(error), type(error))
            raise kind(
                f"{self.name} cannot take part ({kind.code}).",
                where=self.name,
                remedy=f"The custodian of {self.name} sees the full message.",
            ) from error

    @contextmanager
    def _ending(self, mine: Session) -> Iterator[None]:
        """End the session at any error. Of an unforeseen error, other owners see only its class."""
        try:
            yield
        except PramanaError as error:
            self.give_up(mine, error)
            raise
        except Exception as error:
            # The message of an unforeseen error may quote a record.
            report_failure(f"Session {mine.proposal.session[:12]}", error)
            ended = SessionEnded(
                f"{self.name} had an unforeseen error ({type(error).__name__}).", where=self.name
            )
            self.give_up(mine, ended)
            raise ended from error

    @contextmanager
    def _step(self, caller: str, session: str) -> Iterator[Session]:
        self.sweep()
        mine = self.mine(session, caller, initiator=True)
        with mine.lock, self._ending(mine):
            yield mine

    def _taken_up(self, caller: str, proposal: Proposal) -> tuple[Session, Offer]:
        self.notify(f"{caller} proposes session {proposal.session[:12]}: {proposal.task.kind}.")
        now = self.clock()
        with self._own_affairs():
            self._ask_miner()
            holding = read_local_records(self.site, proposal, proposal.task.names, unwatched)
            made = offer(holding, proposal)
            enter_session(holding, proposal, self.environment.now())
        ends = now + proposal.seconds + self.environment.patience.grace
        self.session = Session(proposal, holding, ends)
        return self.session, made

    def _ask_miner(self) -> None:
        """Check that the ledger has the miner's releases. Store why if the miner is unreachable."""
        entries = known_entries(self.site.state)
        why = not_known_by_miner(self.site, entries, self.environment)
        self.miner_unreachable = None if why is None else f"The miner was not queried: {why}"
        if self.miner_unreachable is not None:
            self.notify(self.miner_unreachable)

    def _outgoing(self, mine: Session) -> Iterator[tuple[str, OutgoingPackage]]:
        # No two peers receive different randomizations of one value.
        for peer in mine.proposal.participants:
            names = mine.proposal.entitled(mine.holdings, self.name, peer)
            share = share_of(mine.holding.plan.plan, names)
            if share is not None:
                now = self.environment.now()
                of = (mine.holding, mine.proposal, peer, share, now, self.accepts)
                yield peer, outgoing(*of)

    def _learn(self, mine: Session) -> None:
        """Learn this owner's part. An error is not raised, but ends the session."""

        def watch(done: int, total: int) -> None:
            self.sweep()
            with mine.lock:
                mine.require_phase("learning")
                mine.progress = (done, total)

        with suppress(PramanaError), self._ending(mine), self._own_affairs(*_STORE):
            findings, tables = self._learned(mine, watch)
            with mine.lock:
                mine.require_phase("learning")
                part = part_of(mine.proposal, findings, len(mine.holding.keys))
                enter_shared(mine, part.families, tables, self.environment)
                mine.sign_once(self.identity, part)
                mine.phase = "learned"

    def _learned(self, mine: Session, watch: Progress) -> tuple[Findings, list[ExactTable]]:
        proposal, holding = mine.proposal, mine.holding
        watch(0, 0)
        received: list[ReceivedColumns] = []
        for sender in proposal.participants:
            plan = mine.plan_for(sender, self.name)
            if plan is not None:
                received.append(self._fetched(mine, sender, plan))
                watch(0, 0)
        counted = counted_from(holding, received)
        marginals = EstimatedMarginals(counted.reports, counted.plan)
        findings = proposal.task.learn(marginals, holding.names, watch)
        now = self.environment.now()
        return findings, exact_tables(holding, proposal, counted, findings.families, now)

    def _fetched(self, mine: Session, sender: str, plan: Plan) -> ReceivedColumns:
        peer, session = self.partners(sender).within(mine.ends), mine.proposal.session
        package = mine.announcements[sender].packages[self.name]

        def fetch(number: int) -> bytes:
            return peer.package_part(session, number, package.parts[number].bytes)

        return receive(sender, plan, package, fetch, mine.holding)

    def _make_ready(self, mine: Session, files: Mapping[str, bytes]) -> Signed:
        """Write a result's files under a temporary name; sign their digest. Raises StateError."""
        results = self.site.folder / self.site.peer.results
        with self._writing(results):
            mine.staged = stage(results, mine.proposal.session, files)
        mine.digest = digest_of_files(files)
        mine.phase = "ready"
        return mine.sign_once(self.identity, ResultAgreement(digest=mine.digest))

    def _write(self, mine: Session) -> None:
        with mine.lock:
            if mine.over or mine.staged is None:
                return
            with self._writing(mine.staged.final.parent):
                enter_agreed(mine, self.environment.now())
                folder = mine.staged.publish()
            self.notify(f"Session {mine.proposal.session[:12]}: the result is in {folder}.")
            mine.phase = "written"
            close_lines(mine, self.environment.now())

    @contextmanager
    def _writing(self, results: Path) -> Iterator[None]:
        """Show the path of an unwritable results folder only to this owner's custodian."""
        try:
            yield
        except OSError as error:
            self.notify(f"The folder {results} cannot be written: {error.strerror}.")
            raise StateError(
                f"{self.name} cannot write its result ({error.strerror}).",
                where=self.name,
                remedy=f"Ask {self.name} to check the permissions and the free space of its "
                "results folder.",
            ) from error

    def _written_elsewhere(self, mine: Session) -> bool:
        """Whether another owner wrote the result and can prove that all owners had agreed on it."""
        ends = self.clock() + self.environment.patience.asking
        for name in mine.proposal.others(self.name):
            with suppress(PramanaError):
                status = self.partners(name).within(ends).ask(STATUS, mine.proposal.session)
                if status.phase == "written" and status.agreed is not None:
                    agree_on_result(mine, self.everybody(), status.agreed)
                    mine.agreed = status.agreed
                    return True
        return False

    def _busy(self) -> Conflict:
        return Conflict(
            f"{self.name} is in another session.",
            where=self.name,
            remedy="Try again when that session has ended.",
        )


@contextmanager
def opened(
    path: Path,
    environment: Environment,
    notify: Notify,
    accepts: PublishOptions = PublishOptions(),  # noqa: B008 - frozen
) -> Iterator[Participant]:
    """Open the owner of a site file for sessions. Raises ConfigError, KeyFileError."""
    site = load_site(path)
    if site.file.study_plan is not None:
        raise ConfigError(
            "Sessions of peers cannot follow a study plan, because a session's privacy loss is "
            "computed without the plan's coin.",
            where="study_plan",
            remedy="Learn with the study's miner, or use a site file without [study_plan].",
        )
    planned(site)
    finish_written(site)
    identity, known = load_identity(site), pinned(site)
    with ExitStack() as stack:
        partners = {
            peer.name: stack.enter_context(
                RemotePartner(peer, known[peer.name], identity, environment)
            )
            for peer in site.peer.known
        }
        yield Participant(
            site, path, identity, known, environment, partners.__getitem__, notify, accepts
        )
