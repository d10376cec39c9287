"""Releases to a peer: only the columns that the peer may receive, recorded before they are sent.

Whole blocks are randomized, with the same keyed draws as in any release; only then are the columns
dropped that were not requested. Therefore nobody receives two randomizations of one value.
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
    """The blocks for a peer: after randomization (`drawn`), and as the peer sees them (`sent`)."""

    drawn: tuple[Block, ...]
    sent: tuple[Block, ...]

    @property
    def plan(self) -> Plan:
        """The plan with the blocks in the form in which they are sent."""
        return Plan(self.sent)

    def of(self, made: SortedReports) -> Randomized:
        """Return the columns that are sent, from randomized reports."""
        plan = self.plan
        columns = {name: made.columns[name][:] for name in plan.reported_sizes}
        return Randomized(plan, made.keys[:], columns)


@dataclass(frozen=True, eq=False)
class OutgoingPackage:
    """A package for a peer, ready to be sent, with the ledger's entry for it."""

    package: Package
    entry: Entry
    bodies: StoredRelease


def share_of(plan: Plan, names: Sequence[str]) -> Share | None:
    """Return the share of a peer that may receive some variables, or None if it is empty.

    If a block's channel permits, the share is the margin of the block's joint draw; otherwise it is
    the whole block.
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
    """Return the ledger's draw of each column for a share to be sent."""
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
    """Randomize and prepare a peer's share. Raises PlanConflict, UnprotectedVariable."""
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
    # The announcement contains digests of the reports, against which a guess could be checked.
    settled.remember(past, reports.digest)
    ledger.begin()
    package, bodies = pack(holding, reports)
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
    """Remove a package from the outbox unless it may have been sent."""
    left = {entry.name for entry in Ledger(holding.site.state).entries()}
    if made.entry.name not in left:
        discard(made.bodies.folder.parent, made.entry.name)


def pack(holding: LocalRecords, made: Randomized) -> tuple[Package, StoredRelease]:
    """Return reports with pseudonyms as a package to announce, and as bytes in the outbox."""
    prepared = prepare(holding.site.state / OUTBOX, Outgoing.of(made), PART_RECORDS)
    parts = prepared.manifest.parts
    package = Package(
        records=len(made.keys),
        parts=parts,
        digest=release_digest(made.plan.digest, parts),
    )
    return package, prepared
