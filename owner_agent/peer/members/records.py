"""The ledger's lines about sessions: written before anything of a session leaves this owner."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from owner_agent.departures.history import known_entries
from owner_agent.departures.ledger import Draw, Entry, EntryState, Ledger
from owner_agent.departures.populations import population_of
from owner_agent.departures.recognition import recognized
from owner_agent.departures.refusals import refuse_conflicts
from owner_agent.peer.exchange.consent import Consent
from owner_agent.peer.exchange.ledger_lines import session_entry, session_name
from owner_agent.peer.protocol.messages import Proposal
from owner_agent.peer.session.journal import Kept, keep, kept_of
from owner_agent.peer.session.session import Session
from owner_agent.peer.session.staging import Staged
from owner_agent.peer.tasks.findings import ToldRecord
from owner_agent.peer.tasks.holding import Holding
from owner_agent.state.lock import publishing_alone
from owner_agent.state.surroundings import Surroundings
from pramana_core.errors import Conflict

_PAUSE = 0.25


def enter_session(holding: Holding, proposal: Proposal, now: datetime) -> None:
    """Write down that this owner takes part: its offer, and later its parameters, go to all.

    Raises:
        Conflict: a session of this number was there before.
    """
    ledger, entries = Ledger(holding.site.state), known_entries(holding.site.state)
    if any(entry.release_id == proposal.session for entry in entries):
        raise Conflict("There was a session with this number before.", where=proposal.session)
    ledger.add(session_entry(holding, proposal, proposal.others(holding.site.owner), now))


def mark_session(session: Session, state: EntryState, now: datetime) -> None:
    """Change the state of the session's line."""
    ledger = Ledger(session.holding.site.state)
    for entry in _lines(session, ledger):
        if entry.name == session_name(session.proposal.session):
            ledger.mark(entry, state, now)


def enter_package(
    session: Session, peer: str, surroundings: Surroundings, consent: Consent
) -> None:
    """Write down that a peer gets its columns, unless this session did so already.

    Something else may have left since they were announced, so the ledger is looked at again, with
    nobody else publishing meanwhile.

    Args:
        session: the session.
        peer: who gets them.
        surroundings: the time, and how to wait for another publication.
        consent: what the custodian accepts.

    Raises:
        PlanConflict: a column left meanwhile under other draws, and that is not accepted.
        Conflict: another publication did not end, or reported records differently meanwhile.
    """
    made = session.outgoing[peer]
    entry = made.entry
    ledger = Ledger(session.holding.site.state)
    if any((e.miner, e.name) == (entry.miner, entry.name) for e in _lines(session, ledger)):
        return
    with _publishing(session.holding.site.state, surroundings):
        entries = ledger.entries()
        populated = [_drawn_now(draw, session.holding, entries) for draw in entry.draws]
        draws = recognized(populated, session.holding.values, entries)
        if not consent.added_loss:
            # What other peers got in this session was looked at when all of it was announced.
            earlier = [e for e in entries if e.release_id != session.proposal.session]
            refuse_conflicts(draws, earlier, made.settled.renewed)
        _enter(ledger, replace(entry, draws=draws), surroundings.now())


def enter_told(session: Session, told: ToldRecord, surroundings: Surroundings) -> None:
    """Write down what this owner's families tell, with nobody else publishing meanwhile.

    Raises:
        PramanaError: it may not be told; what `ToldRecord.enter` raises.
        Conflict: another publication did not end.
    """
    with _publishing(session.holding.site.state, surroundings):
        told.enter(session.holding, session.proposal, surroundings.now())


def _enter(ledger: Ledger, entry: Entry, now: datetime) -> None:
    """Write down what leaves before a byte does: a new entry, or the one of the same bytes."""
    found = ledger.find(entry.miner, entry.study, entry.name)
    if found is None:
        ledger.add(replace(entry, prepared=now, changed=now))
        return
    if not found.left:
        found = ledger.renew(found, entry.draws, now, entry.beginning)
    ledger.mark(found, "sending", now, entry.release_id)


def _drawn_now(draw: Draw, holding: Holding, entries: tuple[Entry, ...]) -> Draw:
    if not draw.randomized:
        return draw
    return replace(draw, population=population_of(holding.keys, draw.draw_id, entries))


@contextmanager
def _publishing(state: Path, surroundings: Surroundings) -> Iterator[None]:
    """Hold the state directory's lock, after a short wait if somebody else does."""
    with ExitStack() as stack:
        for left in reversed(range(max(1, surroundings.lock_attempts))):
            try:
                stack.enter_context(publishing_alone(state))
                break
            except Conflict:
                if not left:
                    raise
                surroundings.sleep(_PAUSE)
        yield


def close_lines(session: Session, now: datetime) -> None:
    """Say of all lines of a session that ended well that what they list has arrived."""
    ledger = Ledger(session.holding.site.state)
    for entry in _lines(session, ledger):
        ledger.mark(entry, "sealed", now)


def _lines(session: Session, ledger: Ledger) -> list[Entry]:
    return [e for e in ledger.entries() if e.release_id == session.proposal.session]


def write_agreed(session: Session, staged: Staged) -> Path:
    """Write a result that all agreed to, and first, durably, the proof of that; return its folder.

    Raises:
        OSError: it cannot be written now. The proof stays, so that it is written later.
    """
    state, proposal = session.holding.site.state, session.proposal
    kept = kept_of(state, proposal.session) or Kept(proposal=proposal)
    done = {"digest": session.digest, "agreed": session.agreed}
    keep(state, kept.model_copy(update=done))
    return staged.publish()
