"""What leaves this owner for one peer: only what the peer is entitled to, and written down first.

Columns are randomized whole, by the same keyed draws as any release of the study, and the columns
not asked for are dropped afterwards. So no two peers, and no miner, ever see two randomizations of
one value. What a custodian accepts before a session begins is her consent.

Also here:

* What a session's randomized columns tell: of each column, by each owner, and of a record. Every
  owner states what its draws cost before a byte leaves, and each adds up what all stated. It
  bounds what all peers learn who put together whatever they got; parameters and results that are
  told exactly are in no epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from owner_agent.peer.exchange.catalogue import LocalRecords
from owner_agent.peer.exchange.incoming import packed, session_entry
from owner_agent.peer.protocol.messages import Announcement, BlockCost, Package, Proposal
from owner_agent.randomize.reports import Randomized, SortedReports, randomize
from owner_agent.release.composition import joined, planned_draws, refuse_conflicts
from owner_agent.release.corrections import (
    CorrectedRelease,
    ReleaseHistory,
    overlay_reported,
)
from owner_agent.release.history import known_entries
from owner_agent.release.ledger import Draw, Entry, Ledger
from owner_agent.release.outbox import StoredRelease, discard
from owner_agent.release.populations import population_of, sketch_of
from owner_agent.site.corrections import CorrectionChoice
from owner_agent.site.protection import require_protected
from pramana_core.errors import PeerDeviated
from pramana_core.plan import Block, Plan
from pramana_core.privacy import (
    PRIOR,
    Amplification,
    BlockDisclosure,
    Extremes,
    StudyDisclosure,
    told_by,
)
from pramana_core.report.numbers import belief, bound
from pramana_core.wire.privacy import AmplificationMessage, ExtremesMessage


@dataclass(frozen=True)
class Consent:
    """What the custodian accepts beforehand: a further loss, and how corrected records are met."""

    added_loss: bool = False
    corrections: CorrectionChoice | None = None


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
    bodies: StoredRelease
    settled: CorrectedRelease

    def part(self, number: int) -> bytes:
        """Return one part's bytes. Raises StoreCorrupt."""
        return self.bodies.part(number)


def share_of(plan: Plan, names: Sequence[str]) -> Share | None:
    """Return what a peer entitled to some variables gets to see; None if that is nothing.

    Where the channel of a joint block can be restricted to the variables asked, the margin of the
    block's joint draw is sent; otherwise the whole block, for nobody could invert less of it.
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
    holding: LocalRecords, share: Share, settled: CorrectedRelease, entries: Sequence[Entry]
) -> tuple[Draw, ...]:
    """Return what sending a share costs each column, as the ledger writes it."""
    draws = planned_draws(
        share.drawn,
        {name: holding.plan.columns[name] for block in share.sent for name in block.names},
        settled.identities,
        lambda identity: population_of(holding.keys, identity, entries),
    )
    return joined(draws, holding.one_secret)


def outgoing(
    holding: LocalRecords,
    proposal: Proposal,
    peer: str,
    share: Share,
    now: datetime,
    consent: Consent,
) -> Outgoing:
    """Randomize what a peer gets, remember it, and prepare it; the ledger is not written yet.

    Raises PlanConflict, StoreCorrupt, UnprotectedVariable.
    """
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
    draws = draws_of(holding, share, settled, entries)
    if not consent.added_loss:
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
    return Outgoing(package, entry, bodies, settled)


def forget(holding: LocalRecords, made: Outgoing) -> None:
    """Remove a package from the outbox if neither this nor another release of it ever left."""
    left = {entry.name for entry in Ledger(holding.site.state).entries()}
    if made.entry.name not in left:
        discard(made.bodies.folder.parent, made.entry.name)


_ROUNDING = 1e-9


def costs_of(outgoing: Iterable[Outgoing]) -> list[BlockCost]:
    """Return what an owner's packages cost: each draw once, whoever gets how much of it."""
    draws: dict[tuple[str, str], list[Draw]] = {}
    for made in outgoing:
        for draw in made.entry.draws:
            draws.setdefault(draw.identity, []).append(draw)
    return [
        BlockCost(
            variables=list(dict.fromkeys(draw.variable for draw in same)),
            epsilon=same[0].epsilon if math.isfinite(same[0].epsilon) else None,
            randomized=same[0].randomized,
        )
        for same in draws.values()
    ]


def require_stated(owner: str, announcement: Announcement, receiver: str) -> None:
    """Check that an owner stated the cost of what it announces to a receiver.

    Each block has a cost of its own: one that stood for two would be added up only once.
    Raises PeerDeviated.
    """
    package = announcement.packages.get(receiver)
    left = list(announcement.costs)
    for block in package.plan.to_plan().blocks if package is not None else ():
        cost = next((cost for cost in left if _covers(cost, block)), None)
        if cost is None:
            raise PeerDeviated(
                f"{owner} states no cost for {block.name!r}, or less than its true cost.",
                where=owner,
            )
        left.remove(cost)


def _covers(cost: BlockCost, block: Block) -> bool:
    least = Amplification.of(block.channel).epsilon * (1 - _ROUNDING)
    return (
        cost.randomized is not block.channel.is_identity
        and set(block.names) <= set(cost.variables)
        and _amplification(cost).epsilon >= least
    )


def session_told(announcements: Mapping[str, Announcement]) -> StudyDisclosure:
    """Add up what all owners state."""
    disclosures = (
        BlockDisclosure(
            owner,
            tuple(cost.variables),
            _amplification(cost),
            str(number),
            cost.randomized,
        )
        for owner, announcement in announcements.items()
        for number, cost in enumerate(announcement.costs)
    )
    return told_by(disclosures)


def session_lines(disclosure: StudyDisclosure) -> Iterator[str]:
    """Yield in words what is disclosed; nothing where no column is sent to anybody."""
    if not disclosure.columns:
        return
    yield "What the columns sent in this session tell of a record, to all peers together:"
    for owner, extremes in disclosure.owners.items():
        each = ", ".join(
            f"{column.variable} {_written(column.amplification)}"
            for column in disclosure.columns
            if column.owner == owner
        )
        yield f"  {owner}: {each}; all its columns {_written(extremes.determined)}."
    record = disclosure.record
    yield (
        f"  All owners: {_written(record.determined)} if each column determines the others, and"
        f" {_written(record.independent)} if columns tell nothing of each other."
    )


def session_json(disclosure: StudyDisclosure) -> dict[str, Any]:
    """Return for scripts what is disclosed; a column sent as it is has null, for infinite."""
    return {
        "prior": PRIOR,
        "columns": [
            {
                "owner": column.owner,
                "variable": column.variable,
                "amplification": None
                if column.amplification is None
                else AmplificationMessage.of(column.amplification).model_dump(),
            }
            for column in disclosure.columns
        ],
        "owners": {owner: _extremes(extremes) for owner, extremes in disclosure.owners.items()},
        "record": _extremes(disclosure.record),
    }


def _extremes(extremes: Extremes) -> dict[str, Any]:
    return ExtremesMessage.of(extremes).model_dump()


def _amplification(cost: BlockCost) -> Amplification:
    return Amplification(math.inf if cost.epsilon is None else cost.epsilon)


def _written(amplification: Amplification | None) -> str:
    if amplification is None:
        return "as it is"
    grows = f"{PRIOR:.0%} grows to {belief(amplification, PRIOR)}"
    return f"epsilon {bound(amplification.epsilon)} ({grows})"
