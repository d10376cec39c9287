"""The ledger's entries for sessions, written before anything is sent in a session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from owner_agent.peer.exact import require_allowed
from owner_agent.peer.exchange.local_records import LocalRecords
from owner_agent.peer.exchange.session_record import (
    ExactTable,
    SessionRecord,
    SharedFamily,
    session_entry,
    session_name,
    session_records,
)
from owner_agent.peer.protocol.messages import FamilyMessage, Proposal
from owner_agent.peer.session import Session
from owner_agent.release.composition import refuse_conflicts
from owner_agent.release.history import known_entries
from owner_agent.release.ledger import Draw, Entry, Ledger
from owner_agent.release.options import PublishOptions
from owner_agent.release.populations import population_of
from owner_agent.state.environment import Environment
from owner_agent.state.lock import publishing_alone
from pramana_core.errors import Conflict

_PAUSE = 0.25


def enter_session(holding: LocalRecords, proposal: Proposal, now: datetime) -> None:
    """Record this owner's participation before its offer is sent. Raises Conflict."""
    ledger, entries = Ledger(holding.site.state), known_entries(holding.site.state)
    if any(entry.release_id == proposal.session for entry in entries):
        raise Conflict("A session with this identifier already exists.", where=proposal.session)
    ledger.put(session_entry(holding, proposal, proposal.others(holding.site.owner), now))


def discard_session(session: Session, now: datetime) -> None:
    """Mark the session's entry as discarded."""
    ledger, name = Ledger(session.holding.site.state), session_name(session.proposal.session)
    for entry in _lines(session, ledger):
        if entry.name == name:
            ledger.mark(entry, "discarded", now)


def enter_package(
    session: Session, peer: str, environment: Environment, consent: PublishOptions
) -> None:
    """Record a package for a peer while holding the lock. Raises PlanConflict, Conflict."""
    made = session.outgoing[peer]
    entry = made.entry
    ledger = Ledger(session.holding.site.state)
    if any((e.miner, e.name) == (entry.miner, entry.name) for e in _lines(session, ledger)):
        return
    with _publishing(session.holding.site.state, environment):
        entries = ledger.entries()
        draws = tuple(_drawn_now(draw, session.holding, entries) for draw in entry.draws)
        if not consent.accept_added_loss:
            # Packages for other peers of this session were checked when they were announced.
            earlier = [e for e in entries if e.release_id != session.proposal.session]
            refuse_conflicts(draws, earlier)
        _enter(ledger, replace(entry, draws=draws), environment.now())
        made.bodies.mark_leaving()


def enter_shared(
    session: Session,
    families: Sequence[FamilyMessage],
    tables: Sequence[ExactTable],
    environment: Environment,
) -> None:
    """Record shared families and their tables while holding the lock. Raises OtherGroupings."""
    with _publishing(session.holding.site.state, environment):
        require_allowed(session.holding, tables)
        shared = tuple(SharedFamily(node=one.node, parents=one.parents) for one in families)
        _record(session, environment.now(), families=shared, tables=tuple(tables))


def enter_agreed(session: Session, now: datetime) -> None:
    """Record the proof of agreement before the result gets its final name."""
    _record(session, now, digest=session.digest, agreed=session.agreed)


def _record(session: Session, now: datetime, **more: Any) -> None:
    ledger = Ledger(session.holding.site.state)
    name = session_name(session.proposal.session)
    line = next(entry for entry in _lines(session, ledger) if entry.name == name)
    known = session_records([line]) or [SessionRecord(proposal=session.proposal)]
    record = known[0].model_copy(update=more)
    ledger.mark(line, "sending", now, session=record.model_dump_json())


def _enter(ledger: Ledger, entry: Entry, now: datetime) -> None:
    """Record a release before its first byte is sent. Releases of the same bytes share an entry."""
    found = ledger.find(entry.miner, entry.study, entry.name)
    if found is None:
        ledger.put(replace(entry, prepared=now, changed=now))
        return
    if not found.left:
        found = replace(found, draws=entry.draws, beginning=entry.beginning)
    release_id = entry.release_id or found.release_id
    ledger.put(replace(found, state="sending", changed=now, release_id=release_id))


def _drawn_now(draw: Draw, holding: LocalRecords, entries: tuple[Entry, ...]) -> Draw:
    if not draw.randomized:
        return draw
    return replace(draw, population=population_of(holding.keys, draw.draw_id, entries))


@contextmanager
def _publishing(state: Path, environment: Environment) -> Iterator[None]:
    """Hold the lock of the state directory, after a short wait if another process has the lock."""
    with ExitStack() as stack:
        for left in reversed(range(max(1, environment.lock_attempts))):
            try:
                stack.enter_context(publishing_alone(state))
                break
            except Conflict:
                if not left:
                    raise
                environment.sleep(_PAUSE)
        yield


def close_lines(session: Session, now: datetime) -> None:
    """Mark the entries of a successful session as received."""
    ledger = Ledger(session.holding.site.state)
    for entry in _lines(session, ledger):
        ledger.mark(entry, "sealed", now)


def _lines(session: Session, ledger: Ledger) -> list[Entry]:
    return [e for e in ledger.entries() if e.release_id == session.proposal.session]
