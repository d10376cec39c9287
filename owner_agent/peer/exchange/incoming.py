"""What arrives from a peer: checked against its announcement, then counted and never kept.

A package holds reports beside pseudonyms, reports without them, or counts of reports.

Also here:

* How the ledger's lines about sessions look.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt

from owner_agent.peer.exchange.catalogue import LocalRecords, task_of
from owner_agent.peer.protocol.messages import (
    CountTable,
    CountTables,
    Form,
    Offer,
    Package,
    Proposal,
    read,
)
from owner_agent.randomize.reports import Randomized, apart_from_coin
from owner_agent.release.ledger import PEER, Entry
from owner_agent.release.options import PART_RECORDS
from owner_agent.release.outbox import OUTBOX, Outgoing, PreparedRelease, prepare
from pramana_core.domain import Domain
from pramana_core.errors import LimitExceeded, PartInvalid, PeerDeviated, PramanaError
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.marginals.counts import (
    CUBE_CELLS,
    Codes,
    Marginals,
    ReportedCounts,
    ReportTables,
    tabulate,
)
from pramana_core.marginals.passes import TabulatedCounts
from pramana_core.plan import Plan
from pramana_core.wire.base import KEY_BYTES
from pramana_core.wire.channels import PlanMessage
from pramana_core.wire.parts import Pseudonyms, RecordSchema, decode_part, joined_parts
from pramana_core.wire.releases import PartManifest, release_digest

MOST_CELLS = 1 << 22
"""An owner sends no more cells of counts than this, all tables together."""

Bodies = PreparedRelease | tuple[bytes, ...]
"""The bytes of a package's parts, in the outbox or here."""


def packed(holding: LocalRecords, proposal: Proposal, made: Randomized) -> tuple[Package, Bodies]:
    """Return reports in the form that the session asks for: what is announced, and the bytes.

    Raises:
        LimitExceeded: tables of counts would be too large.
    """
    form: Form = "aligned" if proposal.partition == "vertical" else holding.site.peer.send
    bodies: Bodies
    if form == "counts":
        tables = count_tables(made, task_of(proposal).scopes())
        body = tables.model_dump_json().encode()
        sha = hashlib.sha256(body).hexdigest()
        parts = [PartManifest(number=0, records=len(made.keys), bytes=len(body), sha256=sha)]
        bodies = (body,)
    else:
        content = sorted_by_report(made) if form == "records" else made
        bodies = prepare(holding.site.state / OUTBOX, Outgoing.of(content), PART_RECORDS)
        parts = bodies.manifest.parts
    package = Package(
        form=form,
        plan=PlanMessage.from_plan(made.plan),
        records=len(made.keys),
        parts=parts,
        digest=release_digest(made.plan.digest, parts),
    )
    return package, bodies


def sorted_by_report(made: Randomized) -> Randomized:
    """Return records sorted by what they report, numbered instead of named.

    Nothing is left of who they are of: neither pseudonyms nor the order that these have.
    """
    names = list(made.plan.reported_sizes)
    order = np.lexsort([made.columns[name] for name in reversed(names)])
    columns: dict[str, Codes] = {name: made.columns[name][order] for name in names}
    return Randomized(made.plan, row_numbers(len(order)), columns)


def row_numbers(records: int) -> Pseudonyms:
    """Return the numbers 0 to N - 1 in the place of pseudonyms."""
    numbers = np.zeros((records, 2), dtype=">u8")
    numbers[:, 1] = np.arange(records)
    return numbers.view(f"V{KEY_BYTES}").ravel()


def counted_names(plan: Plan, scope: Sequence[str]) -> tuple[str, ...]:
    """Return the reported columns whose joint table gives the true table over a scope."""
    names: list[str] = []
    for block in plan.blocks:
        inside = [name for name in block.names if name in scope]
        names += block.names if inside and block.restrict(inside) is None else inside
    return tuple(names)


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


Fetch = Callable[[int], bytes]
"""Returns one part of a package."""


@dataclass(frozen=True, eq=False)
class ReceivedColumns:
    """A peer's randomized columns, or its counts of them."""

    plan: Plan
    records: int
    columns: dict[str, Codes]
    reports: ReportTables


def announced_plan(sender: str, package: Package) -> Plan:
    """Return the plan of an announced package. Raises PeerDeviated."""
    try:
        return package.plan.to_plan()
    except PramanaError as error:
        raise PeerDeviated(
            f"The plan of {sender} is not valid: {error.message}", where=sender
        ) from None


def check_package(sender: str, package: Package, offer: Offer, names: Sequence[str]) -> Plan:
    """Check an announced package against what its sender offered; return its plan.

    Raises:
        PeerDeviated: it is about other variables or records, a sensitive variable is not
            randomized in it, or its digest is not that of its parts.
    """
    plan = announced_plan(sender, package)
    offered = {o.variable.name: o for o in offer.variables}
    for variable in plan.domain:
        column = offered.get(variable.name)
        if column is not None and column.variable.to_variable() != variable:
            raise PeerDeviated(
                f"{sender} announces {variable.name!r} with other categories than it offered.",
                where=sender,
            )
    bare = [
        name
        for block in plan.blocks
        if block.channel.is_identity
        for name in block.names
        if name in offered and offered[name].sensitive
    ]
    counts = sum(part.records for part in package.parts)
    whole = release_digest(plan.digest, package.parts)
    wrong = (
        not set(names) <= set(plan.domain.names)
        or package.records != offer.records
        or counts != package.records
        or package.digest != whole
        or bool(bare)
    )
    if wrong:
        raise PeerDeviated(
            f"{sender} announces columns that are not those it offered and this owner needs"
            f" ({list(names)} of {offer.records} records).",
            where=sender,
        )
    return plan


def receive(
    sender: str, package: Package, fetch: Fetch, holding: LocalRecords, proposal: Proposal
) -> ReceivedColumns:
    """Fetch a package and check that it is what was announced.

    Raises:
        PeerDeviated: bytes, records, pseudonyms or codes differ from the announcement, or a record
            reports another set of variables than the coin of the study's plan says.
        PeerUnreachable: the peer did not send it.
    """
    plan = package.plan.to_plan()
    bodies = []
    for part in package.parts:
        body = fetch(part.number)
        if len(body) != part.bytes or hashlib.sha256(body).hexdigest() != part.sha256:
            raise _other_data(sender, "other bytes")
        bodies.append(body)
    if package.form == "counts":
        tables = _tables(sender, package, plan, bodies[0], proposal)
        return ReceivedColumns(plan, package.records, {}, TabulatedCounts(tables, package.records))
    keys, columns = _records(sender, plan, package, bodies)
    expected = holding.keys if package.form == "aligned" else row_numbers(package.records)
    if not np.array_equal(keys, expected):
        raise _other_data(sender, "other records")
    _require_coin(sender, plan, columns, holding, proposal)
    return ReceivedColumns(
        plan, package.records, columns, ReportedCounts(columns, plan.reported_sizes)
    )


def horizontal_marginals(
    own: ReportTables, domain: Domain, received: Sequence[ReceivedColumns]
) -> Marginals:
    """Return the marginals over all owners' records: own as counted, others under their plans."""
    mine = (own, Plan.unrandomized(domain))
    sources = [mine, *((r.reports, r.plan) for r in received)]
    # Of counts that were sent there may be no tables of single variables, which weights need.
    return EstimatedMarginals.of(sources, estimator="sum")


def _require_coin(
    sender: str, plan: Plan, columns: dict[str, Codes], holding: LocalRecords, proposal: Proposal
) -> None:
    """Check that the coin chose what each record reports: this owner can throw it, too."""
    for block in plan.blocks:
        wrong = apart_from_coin(block, holding.secrets, proposal.study, holding.keys, columns)
        if wrong:
            raise PeerDeviated(
                f"{sender} reports of {wrong:,} of {len(holding.keys):,} records other variables"
                " than the coin of the study's plan says.",
                where=sender,
                remedy="The loss that the plan states does not hold for these records. Nothing was"
                " learned from them; ask its custodian which linkage secret it uses.",
            )


def _records(
    sender: str, plan: Plan, package: Package, bodies: Sequence[bytes]
) -> tuple[Pseudonyms, dict[str, Codes]]:
    schema, decoded = RecordSchema.of(plan), []
    for body, part in zip(bodies, package.parts, strict=True):
        try:
            decoded.append(decode_part(schema, body))
        except PartInvalid as error:
            raise _other_data(sender, f"a part that cannot be read ({error.message})") from None
        if len(decoded[-1][0]) != part.records:
            raise _other_data(sender, "another number of records")
    return joined_parts(schema, decoded)


def _tables(
    sender: str, package: Package, plan: Plan, body: bytes, proposal: Proposal
) -> dict[tuple[str, ...], npt.NDArray[np.int64]]:
    sizes = plan.reported_sizes
    # Bounds them too: what follows is made only of tables that this owner itself would send.
    wanted = set(count_shapes(plan, task_of(proposal).scopes()))
    found = {}
    for table in read(CountTables, body, sender).tables:
        names = tuple(table.variables)
        shape = [sizes.get(name, 0) for name in names]
        total = int(np.prod([int(size) for size in shape], dtype=object))
        if (
            shape != table.shape
            or total != len(table.counts)
            or sum(table.counts) != package.records
        ):
            raise _other_data(sender, "counts that do not fit its plan")
        found[names] = np.array(table.counts, dtype=np.int64).reshape(shape)
    if set(found) != wanted:
        raise _other_data(sender, "counts over other variables")
    return found


def _other_data(sender: str, what: str) -> PeerDeviated:
    return PeerDeviated(
        f"{sender} sent {what} than it announced."
        if what.startswith(("other", "another"))
        else f"{sender} sent {what}; it announced something else.",
        where=sender,
        remedy="Nothing was learned from it. Ask its custodian what changed during the session.",
    )


# How the ledger's lines about sessions look.


def session_name(session: str) -> str:
    """Return the name under which the ledger has a session."""
    return f"session-{session}"


def session_entry(
    holding: LocalRecords, proposal: Proposal, peers: Sequence[str], now: datetime
) -> Entry:
    """Return the line which says that this owner takes part in a session with some peers.

    Lines about what is sent in the session have the same place and time, and other contents.
    """
    return Entry(
        miner=PEER + ",".join(peers),
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
