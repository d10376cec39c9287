"""What leaves this owner for one peer: only what the peer is entitled to, and written down first.

Columns are randomized whole, by the same keyed draws as any release of the study, and the columns
not asked for are dropped afterwards. So no two peers, and no miner, ever see two randomizations of
one value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from owner_agent.peer.exchange.consent import Consent
from owner_agent.peer.exchange.incoming import session_entry
from owner_agent.peer.exchange.packages import Bodies, packed
from owner_agent.peer.protocol.messages import Package, Proposal
from owner_agent.peer.tasks.holding import LocalRecords
from owner_agent.randomize.reports import Randomized, SortedReports
from owner_agent.release.composition import planned_draws
from owner_agent.release.corrections import CorrectedRelease, OwnRecords, ReleaseHistory, settle
from owner_agent.release.fingerprints import fingerprint_of, recognized
from owner_agent.release.ledger import Draw, Entry, Ledger
from owner_agent.release.outbox import PreparedRelease, discard
from owner_agent.release.refusals import (
    known_entries,
    population_of,
    refuse_conflicts,
    sketch_of,
)
from owner_agent.site.protection import require_protected
from pramana_core.channels import Coordinated
from pramana_core.plan import Block, Plan


@dataclass(frozen=True)
class Share:
    """The blocks a peer gets: as they are drawn, and as what is sent of each is declared."""

    drawn: tuple[Block, ...]
    sent: tuple[Block, ...]

    @property
    def plan(self) -> Plan:
        """The plan of what is sent."""
        return Plan(self.sent)

    def of(self, made: SortedReports) -> Randomized:
        """Return what is sent of the reports that were drawn."""
        plan = self.plan
        columns = {name: made.columns[name][:] for name in plan.reported_sizes}
        return Randomized(plan, made.keys[:], columns)


@dataclass(frozen=True, eq=False)
class Outgoing:
    """One peer's package, ready to leave, with what the ledger will say of it."""

    package: Package
    entry: Entry
    bodies: Bodies
    settled: CorrectedRelease

    def part(self, number: int) -> bytes:
        """Return one part's bytes. Raises StoreCorrupt."""
        if isinstance(self.bodies, PreparedRelease):
            return self.bodies.part(number)
        return self.bodies[number]


def share_of(plan: Plan, names: Sequence[str]) -> Share | None:
    """Return what a peer entitled to some variables gets to see; None if that is nothing.

    Where the channel of a joint block can be restricted to the variables asked, the margin of the
    block's joint draw is sent; otherwise the whole block, for nobody could invert less of it. So
    with a part of a study plan.
    """
    drawn, sent = [], []
    for block in plan.blocks:
        inside = [variable for variable in block.variables if variable.name in names]
        if not inside:
            continue
        # Parts of a study plan are joined by their coin, which the margin of one does not have.
        whole = isinstance(block.channel, Coordinated)
        channel = None if whole else block.restrict([variable.name for variable in inside])
        drawn.append(block)
        sent.append(block if channel is None else Block(tuple(inside), channel))
    return Share(tuple(drawn), tuple(sent)) if drawn else None


def draws_of(
    holding: LocalRecords, share: Share, settled: CorrectedRelease, entries: Sequence[Entry]
) -> tuple[Draw, ...]:
    """Return what sending a share costs each column, as the ledger writes it."""
    draws = planned_draws(
        share.drawn,
        {name: holding.plan.columns[name] for block in share.sent for name in block.names},
        settled.identities,
        lambda identity: population_of(holding.keys, identity, entries),
        settled.epochs,
    )
    return recognized(draws, holding.values, entries)


def outgoing(
    holding: LocalRecords,
    proposal: Proposal,
    peer: str,
    share: Share,
    now: datetime,
    consent: Consent,
    epoch: int,
) -> Outgoing:
    """Randomize what a peer gets, remember it, and prepare it; the ledger is not written yet.

    Args:
        holding: this owner's records.
        proposal: the session.
        peer: who gets it.
        share: what it gets.
        now: the time.
        consent: what the custodian accepts.
        epoch: a random one, the same for all peers of a session, for what is drawn anew in it.

    Raises:
        PlanConflict: a column left before under other draws, and that is not accepted;
            RecordsCorrected if records would be reported differently and nothing is chosen.
        StoreCorrupt: what left before is not remembered.
        UnprotectedVariable: a sensitive variable would leave as it is.
        LimitExceeded: tables of counts would be too large.
    """
    for block in share.sent:
        require_protected(block, holding.plan.sensitive)
    state = holding.site.state
    ledger, entries = Ledger(state), known_entries(state)
    past = ReleaseHistory.of(state, entries, holding.secrets, proposal.study)
    settled = settle(
        Plan(share.drawn),
        OwnRecords(holding.secrets, proposal.study, holding.keys, holding.columns),
        past,
        consent.corrections or holding.site.file.corrections,
        epoch,
        lambda made: share.of(made).digest,
    )
    draws = draws_of(holding, share, settled, entries)
    if not consent.added_loss:
        refuse_conflicts(draws, entries, settled.renewed)
    reports = share.of(settled.randomized)
    # The announcement holds digests of the reports: who guesses them could check the guess.
    settled.remember(past, reports.digest)
    ledger.begin()
    package, bodies = packed(holding, proposal, reports)
    entry = replace(
        session_entry(holding, proposal, [peer], now),
        name=f"r-{package.digest[:12]}",
        content=reports.digest,
        digest=package.digest,
        plan_digest=reports.plan.digest,
        parts=len(package.parts),
        state="sending",
        draws=draws,
        sketch=sketch_of(holding.keys),
        fingerprint=fingerprint_of(holding.values, [draw.column for draw in draws]),
        beginning=past.beginning,
    )
    return Outgoing(package, entry, bodies, settled)


def forget(holding: LocalRecords, made: Outgoing) -> None:
    """Remove a package from the outbox if neither this nor another release of it ever left."""
    left = {entry.name for entry in Ledger(holding.site.state).entries()}
    if isinstance(made.bodies, PreparedRelease) and made.entry.name not in left:
        discard(made.bodies.folder.parent, made.entry.name)
