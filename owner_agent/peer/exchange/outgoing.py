"""What leaves this owner for one peer: only what the peer is entitled to, and written down first.

Columns are randomized whole, by the same keyed draws as any release of the study, and the columns
not asked for are dropped afterwards. So no two peers, and no miner, ever see two randomizations of
one value.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from owner_agent.corrections.permanent import Past, Records, Settled, settle
from owner_agent.departures.composition import refuse_conflicts
from owner_agent.departures.fingerprints import fingerprint_of
from owner_agent.departures.ledger import Draw, Entry, Ledger
from owner_agent.departures.outbox import OUTBOX, Prepared, discard, prepare
from owner_agent.departures.populations import population_of, sketch_of
from owner_agent.departures.recognition import recognized
from owner_agent.peer.protocol.messages import CountTable, CountTables, Form, Package, Proposal
from owner_agent.peer.tasks.catalogue import task_of
from owner_agent.peer.tasks.holding import Holding
from owner_agent.randomize.reports import Randomized
from owner_agent.release.publish import PART_RECORDS
from owner_agent.site.corrections import Choice
from owner_agent.site.protection import require_protected
from shared.errors import LimitExceeded
from shared.marginals.counts import CUBE_CELLS, Codes, tabulate
from shared.plan import Block, Plan
from shared.privacy import epsilon
from shared.wire.base import KEY_BYTES
from shared.wire.parts import Keys
from shared.wire.plans import PlanMessage
from shared.wire.releases import PartManifest, release_digest

MOST_CELLS = 1 << 22
"""An owner sends no more cells of counts than this, all tables together."""

PEER = "peer:"
"""Stands before a peer's name where the ledger otherwise has a miner's address."""


@dataclass(frozen=True)
class Share:
    """The blocks a peer gets: as they are drawn, and as what is sent of each is declared."""

    drawn: tuple[Block, ...]
    sent: tuple[Block, ...]

    @property
    def plan(self) -> Plan:
        """The plan of what is sent."""
        return Plan(self.sent)


@dataclass(frozen=True, eq=False)
class Outgoing:
    """One peer's package, ready to leave, with what the ledger will say of it."""

    package: Package
    entry: Entry
    bodies: Prepared | tuple[bytes, ...]
    settled: Settled

    def part(self, number: int) -> bytes:
        """Return one part's bytes. Raises StoreCorrupt."""
        if isinstance(self.bodies, Prepared):
            return self.bodies.part(number)
        return self.bodies[number]


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


def counted_names(plan: Plan, scope: Sequence[str]) -> tuple[str, ...]:
    """Return the reported columns whose joint table gives the true table over a scope."""
    names: list[str] = []
    for block in plan.blocks:
        inside = [name for name in block.names if name in scope]
        names += block.names if inside and block.restrict(inside) is None else inside
    return tuple(names)


@dataclass(frozen=True)
class Consent:
    """What the custodian accepts beforehand: a further loss, and how corrected records are met."""

    added_loss: bool = False
    corrections: Choice | None = None


def draws_of(
    holding: Holding, share: Share, identities: Mapping[str, str], entries: Sequence[Entry]
) -> tuple[Draw, ...]:
    """Return what sending a share costs each column, as the ledger writes it.

    A margin of a joint draw counts with the epsilon of the whole draw: the draw is the same one.
    """
    draws = []
    for block, sent in zip(share.drawn, share.sent, strict=True):
        identity = identities[block.name]
        exact = block.channel.is_identity
        population = "" if exact else population_of(holding.keys, identity, entries)
        draws += [
            Draw(
                column=holding.plan.columns[name],
                variable=name,
                draw_id=identity,
                epsilon=epsilon(block.channel),
                randomized=not exact,
                population=population,
            )
            for name in sent.names
        ]
    return recognized(draws, holding.values, entries)


def outgoing(
    holding: Holding, proposal: Proposal, peer: str, share: Share, now: datetime, consent: Consent
) -> Outgoing:
    """Randomize what a peer gets, remember it, and prepare it; the ledger is not written yet.

    Args:
        holding: this owner's records.
        proposal: the session.
        peer: who gets it.
        share: what it gets.
        now: the time.
        consent: what the custodian accepts.

    Raises:
        PlanConflict: a column left before under other draws, and that is not accepted;
            RecordsCorrected if records would be reported differently and nothing is chosen.
        StoreCorrupt: what left before is not remembered.
        UnprotectedVariable: a sensitive variable would leave as it is.
        LimitExceeded: tables of counts would be too large.
    """
    for block in share.sent:
        require_protected(block, holding.plan.sensitive)
    ledger = Ledger(holding.site.state)
    entries = ledger.entries()

    def sent(made: Randomized) -> Randomized:
        columns = {name: made.columns[name] for name in share.plan.reported_sizes}
        return Randomized(share.plan, made.keys, columns)

    records = Records(holding.secrets, proposal.study, holding.keys, holding.columns)
    past = Past.of(holding.site.state, entries, holding.secrets, proposal.study)
    settled = settle(
        Plan(share.drawn),
        records,
        past,
        consent.corrections or holding.site.file.corrections,
        lambda made: sent(made).digest,
    )
    draws = draws_of(holding, share, settled.identities, entries)
    if not consent.added_loss:
        refuse_conflicts(draws, entries, settled.renewed)
    reports = sent(settled.randomized)
    # The announcement holds digests of the reports: who guesses them could check the guess.
    settled.remember(past, reports.digest)
    ledger.begin()
    package, bodies = _packed(holding, proposal, reports)
    entry = Entry(
        miner=f"{PEER}{peer}",
        study=proposal.study,
        name=f"r-{package.digest[:12]}",
        content=reports.digest,
        digest=package.digest,
        plan_digest=share.plan.digest,
        records=package.records,
        parts=len(package.parts),
        state="sending",
        prepared=now,
        changed=now,
        release_id=proposal.session,
        draws=draws,
        sketch=sketch_of(holding.keys),
        fingerprint=fingerprint_of(holding.values, [draw.column for draw in draws]),
    )
    return Outgoing(package, entry, bodies, settled)


def enter(ledger: Ledger, entry: Entry, now: datetime) -> None:
    """Write down what leaves before a byte does: a new entry, or the one of the same bytes."""
    found = ledger.find(entry.miner, entry.study, entry.name)
    if found is None:
        ledger.add(replace(entry, prepared=now, changed=now))
        return
    if not found.left:
        found = ledger.renew(found, entry.draws, now)
    ledger.mark(found, "sending", now, entry.release_id)


def forget(holding: Holding, made: Outgoing) -> None:
    """Remove a package from the outbox if neither this nor another release of it ever left."""
    left = {entry.name for entry in Ledger(holding.site.state).entries()}
    if isinstance(made.bodies, Prepared) and made.entry.name not in left:
        discard(made.bodies.folder.parent, made.entry.name)


def _packed(
    holding: Holding, proposal: Proposal, made: Randomized
) -> tuple[Package, Prepared | tuple[bytes, ...]]:
    form = _form(holding, proposal)
    if form == "counts":
        body = (
            count_tables(made, task_of(proposal).scopes(proposal.task)).model_dump_json().encode()
        )
        sha = hashlib.sha256(body).hexdigest()
        parts = [PartManifest(number=0, records=len(made.keys), bytes=len(body), sha256=sha)]
        package = Package(
            form=form,
            plan=PlanMessage.from_plan(made.plan),
            records=len(made.keys),
            parts=parts,
            digest=release_digest(made.plan.digest, parts),
        )
        return package, (body,)
    content = sorted_by_report(made) if form == "records" else made
    prepared = prepare(holding.site.state / OUTBOX, content, PART_RECORDS)
    manifest = prepared.manifest
    package = Package(
        form=form,
        plan=manifest.plan,
        records=manifest.records,
        parts=manifest.parts,
        digest=manifest.digest,
    )
    return package, prepared


def _form(holding: Holding, proposal: Proposal) -> Form:
    return "aligned" if proposal.partition == "vertical" else holding.site.peer.send


def sorted_by_report(made: Randomized) -> Randomized:
    """Return records sorted by what they report, numbered instead of named.

    Nothing is left of who they are of: neither pseudonyms nor the order that these have.
    """
    names = list(made.plan.reported_sizes)
    order = np.lexsort([made.columns[name] for name in reversed(names)])
    columns: dict[str, Codes] = {name: made.columns[name][order] for name in names}
    return Randomized(made.plan, row_numbers(len(order)), columns)


def row_numbers(records: int) -> Keys:
    """Return the numbers 0 to N - 1 in the place of pseudonyms."""
    numbers = np.zeros((records, 2), dtype=">u8")
    numbers[:, 1] = np.arange(records)
    return numbers.view(f"V{KEY_BYTES}").ravel()


def count_shapes(
    plan: Plan, scopes: Sequence[tuple[str, ...]]
) -> dict[tuple[str, ...], tuple[int, ...]]:
    """Return the reported columns of the table for each scope, and the shape of that table.

    Raises:
        LimitExceeded: a table has more than `CUBE_CELLS` cells, or all together more than
            `MOST_CELLS`.
    """
    sizes = plan.reported_sizes
    shapes, total = {}, 0
    for names in dict.fromkeys(counted_names(plan, scope) for scope in scopes):
        shape = tuple(int(sizes[name]) for name in names)
        cells = math.prod(shape)
        if cells > CUBE_CELLS:
            raise _too_many(f"A table of counts over {list(names)} has {cells}", CUBE_CELLS)
        total += cells
        if total > MOST_CELLS:
            raise _too_many(f"The {len(scopes)} tables of counts have more than {MOST_CELLS}")
        shapes[names] = shape
    return shapes


def _too_many(found: str, most: int | None = None) -> LimitExceeded:
    allowed = "" if most is None else f"; at most {most} are sent"
    return LimitExceeded(
        f"{found} cells{allowed}.",
        where="peer.send",
        remedy='Set send = "records" in the [peer] section, or learn over fewer variables.',
    )


def count_tables(made: Randomized, scopes: Sequence[tuple[str, ...]]) -> CountTables:
    """Return the reports counted over each scope. Raises LimitExceeded as `count_shapes` does."""
    tables = []
    for names, shape in count_shapes(made.plan, scopes).items():
        counts = tabulate([made.columns[name] for name in names], shape)
        tables.append(
            CountTable(variables=list(names), shape=list(shape), counts=counts.ravel().tolist())
        )
    return CountTables(tables=tables)
