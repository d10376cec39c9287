"""What leaves this owner for one peer: only what the peer may have, and written down first.

Columns are randomized whole, by the same keyed draws as any release; those not asked for are
dropped. So nobody sees two randomizations of one value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from owner_agent.peer.exchange.local_records import LocalRecords
from owner_agent.peer.exchange.session_record import session_entry
from owner_agent.peer.protocol.messages import Package, Proposal
from owner_agent.randomize.reports import Randomized, SortedReports, randomize
from owner_agent.release.composition import joined, planned_draws, refuse_conflicts
from owner_agent.release.corrections import ReleaseHistory, overlay_reported
from owner_agent.release.history import known_entries
from owner_agent.release.ledger import Draw, Entry, Ledger
from owner_agent.release.options import PART_RECORDS, PublishOptions
from owner_agent.release.outbox import OUTBOX, Outgoing, StoredRelease, discard, prepare
from owner_agent.release.populations import population_of, sketch_of
from owner_agent.site.protection import require_protected
from pramana_core.plan import Block, Plan
from pramana_core.wire.releases import release_digest


@dataclass(frozen=True)
class Share:
    """The blocks that a peer gets: as drawn, and as declared of the part that is sent."""

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
class OutgoingPackage:
    """One peer's package, ready to leave, with what the ledger will say of it."""

    package: Package
    entry: Entry
    bodies: StoredRelease


def share_of(plan: Plan, names: Sequence[str]) -> Share | None:
    """Return what a peer entitled to some variables gets to see; None if that is nothing.

    It is the margin of a block's joint draw, or the whole block where its channel has no margin.
    """
    drawn, sent = [], []
    for block in plan.blocks:
        inside = [variable for variable in block.variables if variable.name in names]
        if not inside:
            continue
        channel = block.restrict([variable.name for variable in inside])
        drawn.append(block)
        sent.append(block if channel is None else Block(tuple(inside), channel))
    return Share(tuple(drawn), tuple(sent)) if drawn else None


def draws_of(
    holding: LocalRecords, share: Share, identities: Mapping[str, str], entries: Sequence[Entry]
) -> tuple[Draw, ...]:
    """Return what sending a share costs each column, as the ledger writes it."""
    draws = planned_draws(
        share.drawn,
        {name: holding.plan.columns[name] for block in share.sent for name in block.names},
        identities,
        lambda identity: population_of(holding.keys, identity, entries),
    )
    return joined(draws, holding.one_secret)


def outgoing(
    holding: LocalRecords,
    proposal: Proposal,
    peer: str,
    share: Share,
    now: datetime,
    consent: PublishOptions,
) -> OutgoingPackage:
    """Randomize what a peer gets and prepare it. Raises PlanConflict, UnprotectedVariable."""
    for block in share.sent:
        require_protected(block, holding.plan.sensitive)
    state = holding.site.state
    ledger, entries = Ledger(state), known_entries(state)
    past = ReleaseHistory.of(state, entries, proposal.study)
    plan = Plan(share.drawn)
    made = randomize(
        plan, holding.secrets, proposal.study, holding.keys, holding.columns, past.beginning
    )
    settled = overlay_reported(made, past.identities(plan, holding.secrets), past)
    settled.require_chosen(consent.corrections or holding.site.file.corrections)
    draws = draws_of(holding, share, settled.identities, entries)
    if not consent.accept_added_loss:
        refuse_conflicts(draws, entries)
        if settled.exchange is not None:
            settled.exchange.require_small("--accept-added-loss")
    reports = share.of(settled.randomized)
    # The announcement holds digests of the reports: who guesses them could check the guess.
    settled.remember(past, reports.digest)
    ledger.begin()
    package, bodies = packed(holding, reports)
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
        beginning=past.beginning,
    )
    return OutgoingPackage(package, entry, bodies)


def forget(holding: LocalRecords, made: OutgoingPackage) -> None:
    """Remove a package from the outbox if neither this nor another release of it ever left."""
    left = {entry.name for entry in Ledger(holding.site.state).entries()}
    if made.entry.name not in left:
        discard(made.bodies.folder.parent, made.entry.name)


def packed(holding: LocalRecords, made: Randomized) -> tuple[Package, StoredRelease]:
    """Return reports with pseudonyms: the announcement, and the bytes in the outbox."""
    prepared = prepare(holding.site.state / OUTBOX, Outgoing.of(made), PART_RECORDS)
    parts = prepared.manifest.parts
    package = Package(
        records=len(made.keys),
        parts=parts,
        digest=release_digest(made.plan.digest, parts),
    )
    return package, prepared
