"""One joint session as one owner sees it: what it knows, and how far it is.

Also here:

* What an owner keeps of each session beside the ledger: families it shared, and all agreements.
* What peers remember of each other's sessions: so an older state folder, restored whole, is found.
  Of each peer the newest session is kept in which it announced columns or was to share parameters.
  The peer wrote that session into its ledger before it said anything in it: a ledger without it is
  an older one. The newest is enough, for an older copy lacks that first.
* Results on disk: made ready out of sight, and there under their name whole or not at all.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from pydantic import AwareDatetime, ValidationError

from owner_agent.peer.exchange.catalogue import LocalRecords, learners, task_of, variables_of
from owner_agent.peer.exchange.incoming import session_name
from owner_agent.peer.exchange.outgoing import Outgoing
from owner_agent.peer.protocol.identity import PeerIdentity, state
from owner_agent.peer.protocol.messages import (
    Announcement,
    EarlierSession,
    FamilyMessage,
    NetworkPart,
    Offer,
    Phase,
    Proposal,
    SessionId,
    Signed,
    Statement,
    Statements,
    Status,
)
from owner_agent.peer.protocol.steps import Holdings
from owner_agent.release.ledger import Ledger
from owner_agent.site.site import Site
from owner_agent.state.ledger_file import WAYS_OUT, state_directory
from owner_agent.state.private_files import (
    DIRECTORY_MODE,
    private_directory,
    sync_directory,
    write_durably,
    write_replacing,
)
from pramana_core.domain import Domain
from pramana_core.errors import (
    HistoryLost,
    NotFound,
    PeerDeviated,
    PramanaError,
    SessionEnded,
    StateError,
    StoreCorrupt,
    error_classes,
)
from pramana_core.full_disks import storing
from pramana_core.wire.base import Label, Message, Name, Sha256
from pramana_core.wire.services import ProblemDetail

_FILE = "peers-met.json"
_NEVER = datetime.min.replace(tzinfo=UTC)


class LatestDisclosure(Message):
    """The newest session of a study in which a peer gave something away.

    `beginning` is when that peer last began anew after a loss, as it said in that session.
    """

    study: Name
    peer: Name
    session: SessionId
    beginning: AwareDatetime | None = None


class _Memory(Message):
    met: tuple[LatestDisclosure, ...] = ()


def remember_peers(
    state: Path,
    own: str,
    proposal: Proposal,
    offers: Mapping[str, Offer],
    announcements: Mapping[str, Announcement],
) -> None:
    """Write down, durably and before anything is fetched, which peers give something away."""
    sharing = learners(proposal) if task_of(proposal).shared else ()
    now = [
        LatestDisclosure(
            study=proposal.study,
            peer=peer,
            session=proposal.session,
            beginning=offers[peer].beginning,
        )
        for peer in proposal.others(own)
        if announcements[peer].packages or peer in sharing
    ]
    if not now:
        return
    newer = {(one.study, one.peer) for one in now}
    kept = [one for one in _met(state) if (one.study, one.peer) not in newer]
    whole = _Memory(met=(*kept, *now))
    write_replacing(state_directory(state) / _FILE, whole.model_dump_json(indent=1).encode())


def earlier_sessions(state: Path, own: str, proposal: Proposal) -> dict[str, EarlierSession]:
    """Return what an owner says, to each of the others that it remembers, of its newest session.

    Raises StoreCorrupt.
    """
    return {
        one.peer: EarlierSession(
            digest=_digest(one.session, own, one.peer), beginning=one.beginning
        )
        for one in _met(state)
        if one.study == proposal.study and one.peer in proposal.others(own)
    }


def require_remembered(state: Path, own: str, offers: Mapping[str, Offer]) -> None:
    """Check that the ledger knows the sessions which the peers remember of this owner.

    What lies before this owner's newest beginning is past: nothing is drawn again as it was then.
    Raises HistoryLost.
    """
    sessions = {
        entry.release_id
        for entry in Ledger(state).entries()
        if entry.release_id is not None and entry.name == session_name(entry.release_id)
    }
    begun = offers[own].beginning or _NEVER
    for peer, offer in offers.items():
        remembered = offer.earlier.get(own)
        then = begun if remembered is None else remembered.beginning or _NEVER
        if remembered is None or then < begun:
            continue
        known = {_digest(session, peer, own) for session in sessions}
        if then > begun or remembered.digest not in known:
            raise HistoryLost(
                f"{peer} remembers a session in which it saw what this owner announced, and of"
                " which the ledger knows nothing: the ledger is an older one. Nothing was sent.",
                where=peer,
                remedy=f"{WAYS_OUT} What peers got in the meantime is then not in the sums, nor"
                f" counted in `groupings`. Ask the custodian of {peer} first when that was.",
            )


def _met(state: Path) -> tuple[LatestDisclosure, ...]:
    path = state / _FILE
    if not path.exists():
        return ()
    try:
        return _Memory.model_validate_json(path.read_bytes()).met
    except ValidationError:
        raise StoreCorrupt(
            f"{path} is not what was kept of the peers' sessions.",
            where=str(path),
            remedy="Restore it from your backup, or remove it: this owner can then not warn peers"
            " that lost their memory.",
        ) from None


def _digest(session: str, teller: str, owner: str) -> str:
    """Return what stands for a session: only who took part in it knows which one it is."""
    named = f"pramana/earlier-session/1\0{session}\0{teller}\0{owner}"
    return hashlib.sha256(named.encode()).hexdigest()


# Results on disk: made ready out of sight, and there under their name whole or not at all.

_UNFINISHED = ".unfinished-"


@dataclass(frozen=True)
class StagedFiles:
    """Files that are written durably but do not have their name yet."""

    hidden: Path
    final: Path

    def publish(self) -> Path:
        """Give the files their name in one step; return the folder. Harmless if done before."""
        if self.hidden.exists():
            self.hidden.rename(self.final)
            sync_directory(self.final.parent)
        return self.final

    def discard(self) -> None:
        """Remove the files, unless they have their name already."""
        shutil.rmtree(self.hidden, ignore_errors=True)


def staged_in(results: Path, session: str) -> StagedFiles:
    """Return where a session's files are before and after they have their name."""
    return StagedFiles(results / f"{_UNFINISHED}{session}", results / session)


def stage(results: Path, session: str, files: Mapping[str, bytes]) -> StagedFiles:
    """Write the result of a session where nobody looks for it yet."""
    with storing("a folder", results):
        results.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
    for stale in results.glob(f"{_UNFINISHED}*"):
        shutil.rmtree(stale)
    made = staged_in(results, session)
    private_directory(made.hidden)
    for name, content in files.items():
        write_durably(made.hidden / name, content)
    sync_directory(made.hidden)
    return made


OVER: frozenset[Phase] = frozenset({"written", "finished", "ended"})
"""Phases in which a session asks nothing more of anybody."""


@dataclass(eq=False)
class Session:
    """A session's state; whoever changes it holds `lock`.

    `ends` is the moment (of the owner's own clock, in seconds) after which it is given up. `agreed`
    is there once all are known to have agreed to `digest`: from then on the session can only end
    well here.
    """

    proposal: Proposal
    holding: LocalRecords
    ends: float
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
        categories = {
            offered.variable.name: offered.variable.to_variable()
            for offer in self.offers.values()
            for offered in offer.variables
        }
        return Domain(tuple(categories[name] for name in variables_of(self.proposal)))

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
        """Sign a statement of this owner, keep it, and return it. Raises StateError."""
        if made.noun in self.own:
            raise StateError(
                f"This owner has already stated its {made.noun}.", where=self.proposal.session
            )
        self.own[made.noun] = state(identity, self.proposal.session, made)
        return self.own[made.noun]

    def require_phase(self, *wanted: Phase) -> None:
        """Check that the session is where a request expects it. Raises PramanaError, StateError."""
        if self.problem is not None:
            raise error_of(self.problem)
        if self.phase not in wanted:
            raise StateError(
                f"The session is {self.phase}; it must be {' or '.join(wanted)} for this request.",
                where=self.proposal.session,
            )

    def require_own(self, kind: type[Statement], signed: Signed) -> None:
        """Check that others received what this owner stated, unaltered. Raises PeerDeviated."""
        if self.own.get(kind.noun) != signed:
            raise PeerDeviated(
                f"The {kind.noun} that {signed.owner} made came back to it altered, from"
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


def families_of(messages: list[FamilyMessage]) -> tuple[SharedFamily, ...]:
    """Return what is kept of learned families: their names, and no parameter."""
    return tuple(SharedFamily(node=family.node, parents=family.parents) for family in messages)


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
    """Return the status of an earlier session whose result was written here. Raises NotFound."""
    kept = kept_of(site.state, session)
    if kept is None or kept.agreed is None or caller not in kept.proposal.participants:
        raise no_session(session)
    if not staged_in(site.folder / site.peer.results, session).final.is_dir():
        raise no_session(session)
    return Status(phase="written", digest=kept.digest, agreed=kept.agreed)
