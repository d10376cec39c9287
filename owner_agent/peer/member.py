"""One owner: whom it knows, which session it is in, and how that ends here, well or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from owner_agent.peer.agreement import agree_on_result
from owner_agent.peer.exchange.network import digest_of_files
from owner_agent.peer.exchange.outgoing import forget
from owner_agent.peer.ledger_lines import close_lines, mark_session, write_agreed
from owner_agent.peer.protocol.identity import PeerIdentity, PublicIdentity
from owner_agent.peer.protocol.messages import NetworkPart, ResultAgreement, Signed
from owner_agent.peer.protocol.steps import STATUS, Peer
from owner_agent.peer.session import Session
from owner_agent.peer.session_results import no_session, stage
from owner_agent.site.site import Site
from owner_agent.state.environment import Environment
from pramana_core.errors import (
    Forbidden,
    KeyFileError,
    LimitExceeded,
    OtherGroupings,
    PlanConflict,
    PramanaError,
    RecordsCorrected,
    SessionEnded,
    StateError,
    StoreCorrupt,
    VariablesMissing,
)
from pramana_core.wire.services import problem_of

Partners = Callable[[str], Peer]
"""Returns another owner by its name."""

Notify = Callable[[str], None]
"""Called with what a person at this owner may want to know."""

_TOLD_AS: Mapping[type[PramanaError], type[PramanaError]] = {
    RecordsCorrected: PlanConflict,
    OtherGroupings: SessionEnded,
}
"""As what the others hear an error of this owner's own: that its values changed is not theirs."""


def ignore(line: str) -> None:
    """Notify nobody."""


@dataclass(eq=False)
class Member:
    """This owner, apart from what others ask of it.

    `site` is the site file at `path` as it was at the start. `own_error` is the full error here, of
    which the others heard less. `miner_not_asked` says why it is not known whether the
    site's miner has releases that the ledger does not.
    """

    site: Site
    path: Path
    identity: PeerIdentity
    known: Mapping[str, PublicIdentity]
    environment: Environment
    partners: Partners
    notify: Notify = ignore
    session: Session | None = None
    own_error: PramanaError | None = None
    miner_not_asked: str | None = None

    @property
    def name(self) -> str:
        """This owner's name."""
        return self.site.owner

    def sweep(self) -> None:
        """End a session whose time is over, whether anybody calls or not."""
        mine = self.session
        if mine is not None and not mine.over and self.clock() > mine.ends:
            if mine.phase == "ready" and (mine.agreed is not None or self._written_elsewhere(mine)):
                with suppress(StateError):
                    self.write(mine)
                return
            why = f"no result within {mine.proposal.seconds:.0f} seconds"
            remedy = "Give the session more seconds, or see which owner is slow."
            self.give_up(mine, self._over(why, remedy))

    @contextmanager
    def own_affairs(self) -> Iterator[None]:
        """Say in full only here what is wrong with this owner's own files.

        Such an error may name paths, rows, or what left before; `own_error` keeps it.
        """
        try:
            yield
        except (VariablesMissing, LimitExceeded):
            raise
        except PramanaError as error:
            self.own_error = error
            self.notify(str(error))
            kind = _TOLD_AS.get(type(error), type(error))
            raise kind(
                f"{self.name} cannot take part ({kind.code}).",
                where=self.name,
                remedy=f"The custodian of {self.name} can read there what is wrong.",
            ) from error

    @contextmanager
    def own_store(self, *also: type[PramanaError]) -> Iterator[None]:
        """Say in full only here that this owner's memory of what left cannot be relied on.

        So with errors of the kinds `also`.
        """
        kinds: tuple[type[PramanaError], ...] = (StoreCorrupt, KeyFileError, *also)
        try:
            yield
        except kinds:
            with self.own_affairs():
                raise

    def everybody(self) -> dict[str, PublicIdentity]:
        """Return the public identities of all owners it may meet, its own among them."""
        return {**self.known, self.name: self.identity.public}

    def clock(self) -> float:
        """Return the time, in seconds."""
        return self.environment.now().timestamp()

    def unforeseen(self, error: Exception) -> SessionEnded:
        """Return what the others may know of an unforeseen error: its kind alone."""
        return SessionEnded(
            f"{self.name} met an unforeseen error ({type(error).__name__}).", where=self.name
        )

    def mine(self, session: str, caller: str, *, initiator: bool = False) -> Session:
        """Return the session that a caller asks about. Raises NotFound, Forbidden."""
        mine = self.session
        if (
            mine is None
            or mine.proposal.session != session
            or caller not in mine.proposal.participants
        ):
            raise no_session(session)
        if initiator and caller != mine.proposal.initiator:
            raise Forbidden(
                f"Only {mine.proposal.initiator}, who began the session, may ask that.",
                where=caller,
            )
        return mine

    @contextmanager
    def ending(self, mine: Session) -> Iterator[None]:
        """End the session at any error; of one that nobody foresaw the others hear its kind."""
        try:
            yield
        except PramanaError as error:
            self.give_up(mine, error)
            raise
        except Exception as error:
            # What an unforeseen error says may quote a record.
            ended = self.unforeseen(error)
            self.give_up(mine, ended)
            raise ended from error

    def give_up(self, mine: Session, error: PramanaError) -> None:
        """End a session without a result, and say here why."""
        with mine.lock:
            if mine.over:
                return
            mine.phase, mine.problem = "ended", problem_of(error)
            if mine.staged is not None:
                mine.staged.discard()
            for made in mine.outgoing.values():
                forget(mine.holding, made)
            if NetworkPart.noun not in mine.own:
                mark_session(mine, "discarded", self.environment.now())
        self.notify(f"Session {mine.proposal.session[:12]} ended without a result: {error}")

    def make_ready(self, mine: Session, files: Mapping[str, bytes]) -> Signed:
        """Write a result out of sight and sign its digest. Raises StateError."""
        results = self.site.folder / self.site.peer.results
        with self._writing(results):
            mine.staged = stage(results, mine.proposal.session, files)
        mine.digest = digest_of_files(files)
        mine.phase = "ready"
        return mine.sign_once(self.identity, ResultAgreement(digest=mine.digest))

    def write(self, mine: Session) -> None:
        """Give a result that all agreed to its name. Raises StateError; harmless if repeated."""
        with mine.lock:
            if mine.over or mine.staged is None:
                return
            results = mine.staged.final.parent
            with self._writing(results):
                folder = write_agreed(mine, mine.staged)
            self.notify(f"Session {mine.proposal.session[:12]}: the result is in {folder}.")
            mine.phase = "written"
            close_lines(mine, self.environment.now())

    @contextmanager
    def _writing(self, results: Path) -> Iterator[None]:
        """Say in full only here that the folder of results cannot be written."""
        try:
            yield
        except OSError as error:
            self.notify(f"The folder {results} cannot be written: {error.strerror}.")
            raise StateError(
                f"{self.name} cannot write its result ({error.strerror}).",
                where=self.name,
                remedy=f"See whether the folder of results at {self.name} can be written.",
            ) from error

    def _over(self, why: str, remedy: str) -> SessionEnded:
        line = f"{self.name} ended the session: {why}."
        return SessionEnded(line, where=self.name, remedy=remedy)

    def _written_elsewhere(self, mine: Session) -> bool:
        """Whether another owner wrote the result, and proves that all had agreed to it."""
        ends = self.clock() + self.environment.patience.asking
        for name in mine.proposal.others(self.name):
            with suppress(PramanaError):
                peer = self.partners(name).within(ends)
                status = peer.ask(STATUS, mine.proposal.session)
                if status.phase == "written" and status.agreed is not None:
                    agree_on_result(mine, self.everybody(), status.agreed)
                    mine.agreed = status.agreed
                    return True
        return False
