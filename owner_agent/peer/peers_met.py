"""What peers remember of each other's sessions, so that an older state folder is found out.

Of each peer the newest session is kept in which it announced columns or shared parameters. The peer
wrote that session into its ledger first, so a ledger without it is an older one. The newest is
enough: an older copy lacks that first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from pydantic import AwareDatetime, ValidationError

from owner_agent.peer.exchange.catalogue import learners, task_of
from owner_agent.peer.exchange.session_entry import session_name
from owner_agent.peer.protocol.messages import (
    Announcement,
    EarlierSession,
    Offer,
    Proposal,
    SessionId,
)
from owner_agent.release.ledger import Ledger
from owner_agent.state.ledger_file import WAYS_OUT, state_directory
from owner_agent.state.private_files import write_replacing
from pramana_core.errors import HistoryLost, StoreCorrupt
from pramana_core.wire.base import Message, Name

_FILE = "peers-met.json"


_NEVER = datetime.min.replace(tzinfo=UTC)


class LatestDisclosure(Message):
    """The newest session of a study in which a peer gave something away.

    `beginning` is when that peer last began anew after a loss, by its statement then.
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
