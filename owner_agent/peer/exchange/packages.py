"""What a package holds: reports beside pseudonyms, reports without them, or counts of reports."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

import numpy as np

from owner_agent.peer.protocol.messages import CountTable, CountTables, Form, Package, Proposal
from owner_agent.peer.tasks.catalogue import task_of
from owner_agent.peer.tasks.holding import LocalRecords
from owner_agent.randomize.reports import Randomized
from owner_agent.release.options import PART_RECORDS
from owner_agent.release.outbox import OUTBOX, Outgoing, PreparedRelease, prepare
from pramana_core.errors import LimitExceeded
from pramana_core.marginals.counts import CUBE_CELLS, Codes, tabulate
from pramana_core.plan import Plan
from pramana_core.wire.base import KEY_BYTES
from pramana_core.wire.channels import PlanMessage
from pramana_core.wire.parts import Pseudonyms
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
