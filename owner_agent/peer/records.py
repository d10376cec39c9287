"""The ledger's lines about sessions: written before anything of a session leaves this owner."""

from __future__ import annotations

from datetime import datetime

from owner_agent.ledger import Entry, EntryState, Ledger
from owner_agent.peer.holding import Holding
from owner_agent.peer.messages import Proposal
from owner_agent.peer.outgoing import PEER, enter
from owner_agent.peer.session import Session
from shared.errors import Conflict


def session_name(session: str) -> str:
    """Return the name under which the ledger has a session."""
    return f"session-{session[:12]}"


def enter_session(holding: Holding, proposal: Proposal, now: datetime) -> None:
    """Write down that this owner takes part: its offer, and later its parameters, go to all.

    Raises:
        Conflict: a session of this number was there before.
    """
    ledger = Ledger(holding.site.state)
    if any(entry.release_id == proposal.session for entry in ledger.entries()):
        raise Conflict("There was a session of this number before.", where=proposal.session)
    others = [name for name in proposal.participants if name != holding.site.owner]
    ledger.add(
        Entry(
            miner=PEER + ",".join(others),
            study=proposal.study,
            name=session_name(proposal.session),
            content=proposal.digest,
            digest=proposal.digest,
            plan_digest=proposal.digest,
            records=len(holding.keys),
            parts=0,
            state="prepared",
            prepared=now,
            changed=now,
            release_id=proposal.session,
            draws=(),
        )
    )


def mark_session(session: Session, state: EntryState, now: datetime) -> None:
    """Change the state of the session's line."""
    ledger = Ledger(session.holding.site.state)
    for entry in _lines(session, ledger):
        if entry.name == session_name(session.proposal.session):
            ledger.mark(entry, state, now)


def enter_package(session: Session, peer: str, now: datetime) -> None:
    """Write down that a peer gets its columns, unless this session did so already."""
    entry = session.outgoing[peer].entry
    ledger = Ledger(session.holding.site.state)
    if not any((e.miner, e.name) == (entry.miner, entry.name) for e in _lines(session, ledger)):
        enter(ledger, entry, now)


def close_lines(session: Session, now: datetime) -> None:
    """Say of all lines of a session that ended well that what they list has arrived."""
    ledger = Ledger(session.holding.site.state)
    for entry in _lines(session, ledger):
        ledger.mark(entry, "sealed", now)


def _lines(session: Session, ledger: Ledger) -> list[Entry]:
    return [e for e in ledger.entries() if e.release_id == session.proposal.session]
