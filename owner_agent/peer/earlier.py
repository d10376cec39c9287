"""What peers remember of each other's sessions: so an older state folder, restored whole, is found.

Of each peer the newest session is kept in which it announced columns or was to share parameters.
The peer wrote that session into its ledger before it said anything in it: a ledger without it is
an older one. The newest is enough, for an older copy lacks that first.

Also here:

* Results on disk: made ready out of sight, and there under their name whole or not at all.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import AwareDatetime, ValidationError

from owner_agent.peer.exchange.incoming import session_name
from owner_agent.peer.protocol.messages import (
    Announcement,
    EarlierSession,
    Offer,
    Proposal,
    SessionId,
)
from owner_agent.peer.tasks.catalogue import learners, task_of
from owner_agent.release.ledger import Ledger
from owner_agent.state.history import WAYS_OUT, state_directory
from owner_agent.state.private_files import (
    DIRECTORY_MODE,
    private_directory,
    sync_directory,
    write_durably,
    write_replacing,
)
from pramana_core.errors import HistoryLost, StoreCorrupt
from pramana_core.full_disks import storing
from pramana_core.wire.base import Message, Name

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

    Raises:
        StoreCorrupt: what was remembered cannot be read.
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

    Raises:
        HistoryLost: it does not know one.
    """
    sessions = {
        entry.release_id
        for entry in Ledger(state).entries()
        if entry.release_id is not None and entry.name == session_name(entry.release_id)
    }
    begun = offers[own].beginning or _NEVER
    for peer, offer in offers.items():
        told = offer.earlier.get(own)
        then = begun if told is None else told.beginning or _NEVER
        if told is None or then < begun:
            continue
        known = {_digest(session, peer, own) for session in sessions}
        if then > begun or told.digest not in known:
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
