"""The exact tables that shared parameters reveal, and the conditions for sharing.

The sender of a randomized parent knows its own reports, so it can compute exact counts from the
shared estimate. Therefore the count in every cell must reach a minimum. Two tables that differ in
one record reveal this record's value by subtraction. Therefore an owner shares one table per study,
unless the custodian allows more (`groupings`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import numpy as np
import numpy.typing as npt

from owner_agent.peer.exchange.incoming import ReceivedColumns, counted_names
from owner_agent.peer.exchange.local_records import LocalRecords
from owner_agent.peer.exchange.session_record import ExactTable, session_records
from owner_agent.peer.protocol.messages import Proposal
from owner_agent.release.ledger import Entry, Ledger
from pramana_core.errors import OtherGroupings, SmallCounts, StoreCorrupt
from pramana_core.learn.networks.bayes_net import LearnedFamily
from pramana_core.marginals.counts import Codes, ReportedCounts
from pramana_core.plan import Plan
from pramana_core.wire.parts import Pseudonyms


@dataclass(frozen=True, eq=False)
class CountedColumns:
    """This owner's true columns and those received from peers, with rows in the order of `keys`."""

    plan: Plan
    keys: Pseudonyms
    columns: Mapping[str, Codes]

    def names(self, node: str, parents: Sequence[str]) -> tuple[str, ...]:
        """Return the columns whose joint table determines the parameters of a family."""
        return counted_names(self.plan, (*parents, node))

    def smallest_cell(self, names: Iterable[str]) -> int:
        """Return the smallest nonzero count of records in a cell of the columns' joint table."""
        return smallest_cell([self.columns[name] for name in names])

    @property
    def reports(self) -> ReportedCounts:
        """The columns in the form of reports, although their counts are exact."""
        return ReportedCounts(self.columns, self.plan.reported_sizes)

    @cached_property
    def partitions(self) -> dict[str, str]:
        """For each column, a digest of the division of the records by its values."""
        return {name: partition_digest(self.keys, codes) for name, codes in self.columns.items()}


def counted_from(holding: LocalRecords, received: Sequence[ReceivedColumns]) -> CountedColumns:
    """Return this owner's columns and the received columns, for counting families."""
    plan = Plan.combine([Plan.unrandomized(holding.domain), *(one.plan for one in received)])
    columns = {name: holding.columns[name] for name in holding.names}
    for one in received:
        columns |= one.columns
    return CountedColumns(plan, holding.keys, columns)


def smallest_cell(columns: Sequence[Codes]) -> int:
    """Return the smallest nonzero count of records in a cell of the columns' joint table."""
    cells: npt.NDArray[np.int64] = np.zeros(len(columns[0]), dtype=np.int64)
    for codes in columns:
        # Renumbered after each variable, so that the cell numbers cannot overflow.
        combined = cells * (int(codes.max()) + 1) + codes
        cells = np.unique(combined, return_inverse=True)[1]
    return int(np.bincount(cells).min())


def partition_digest(keys: Pseudonyms, codes: Codes) -> str:
    """Return a digest of how a column's values divide the records, whatever the categories are."""
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    numbers = np.argsort(np.argsort(first)).astype("<u4")[inverse]
    running = hashlib.sha256(b"pramana/partition/1\x00")
    running.update(np.ascontiguousarray(keys).tobytes())
    running.update(numbers.tobytes())
    return running.hexdigest()


_EARLIER = "disclosures.json"
"""The file in which an earlier version of the agent recorded tables."""


def distinct(tables: Iterable[ExactTable]) -> list[ExactTable]:
    """Return the tables, oldest first, without those that are part of another table."""
    found: list[ExactTable] = []
    for one in tables:
        if not any(other.covers(one) for other in found):
            found = [other for other in found if not one.covers(other)] + [one]
    return found


def shared_tables(entries: Iterable[Entry]) -> list[ExactTable]:
    """Return all tables disclosed exactly, oldest first. Raises StoreCorrupt."""
    return distinct(one for record in session_records(entries) for one in record.tables)


def require_allowed(holding: LocalRecords, tables: Sequence[ExactTable]) -> None:
    """Check that disclosing these tables is allowed now. Raises OtherGroupings, StoreCorrupt."""
    known = _known(holding)
    new = [one for one in tables if not any(other.covers(one) for other in known)]
    if new and len(distinct([*known, *new])) > holding.site.peer.groupings:
        raise _refusal(holding)


def _known(holding: LocalRecords) -> list[ExactTable]:
    state, study = holding.site.state, holding.site.peer.study
    if (earlier := state / _EARLIER).exists():
        raise StoreCorrupt(
            f"{earlier} lists tables shared by an earlier version of the agent.",
            where=str(earlier),
            remedy="Share parameters with that version, because this version would not count the "
            "earlier tables.",
        )
    return [one for one in shared_tables(Ledger(state).entries()) if one.study == study]


def _refusal(holding: LocalRecords) -> OtherGroupings:
    owner, groupings = holding.site.owner, holding.site.peer.groupings
    most = "one table" if groupings == 1 else f"{groupings} tables"
    return OtherGroupings(
        f"{owner} does not share these parameters, because they would disclose more than the "
        f"{most} that {owner} allows per study. Tables with other columns, groups, records or "
        "values than before count as new. Two tables that differ in a few records reveal these "
        "records.",
        where=owner,
        remedy="Learn from the same columns and records as before, all in one session. Or ask"
        f" {owner} to raise groupings in its [peer] section, if the custodian accepts the risk.",
    )


def tables_of(
    holding: LocalRecords,
    proposal: Proposal,
    counted: CountedColumns,
    families: Iterable[Sequence[str]],
    now: datetime,
    *,
    floor: int,
) -> list[ExactTable]:
    """Return the tables that families reveal. Each family is given by the columns counted for it.

    If every cell of the joint table of all columns reaches the `floor` (0 for no minimum), only
    this table is returned, so there are no two tables to subtract. Otherwise there is a table for
    each set of peers' columns.
    """
    met = [(name, frozenset(f) - {*holding.names}) for f in families for name in f]
    sets = {theirs for name, theirs in met if name in holding.names}
    every = frozenset().union(*sets)
    parted = {name for name, theirs in met if theirs and name in holding.names}
    if all(counted.smallest_cell([name, *every]) >= floor for name in parted if floor):
        sets = {every}
    return [
        ExactTable(
            study=proposal.study,
            own=_digests(counted, holding.names),
            groups=_digests(counted, theirs),
            columns=[holding.plan.columns[name] for name in holding.names],
            against=sorted(theirs),
            session=proposal.session,
            shared=now,
        )
        for theirs in sorted(sets, key=sorted)
        if not any(theirs < other for other in sets)
    ]


def _digests(counted: CountedColumns, names: Iterable[str]) -> list[str]:
    return sorted({counted.partitions[name] for name in names})


def exact_tables(
    holding: LocalRecords,
    proposal: Proposal,
    counted: CountedColumns,
    families: Sequence[LearnedFamily],
    now: datetime,
) -> list[ExactTable]:
    """Return the tables that sharing some families would reveal, if sharing is allowed.

    Whether the tables are new is checked first without counts, so a refusal for this reason depends
    on no value. Raises OtherGroupings, SmallCounts, StoreCorrupt.
    """
    names = [counted.names(family.node, family.parents) for family in families]
    require_allowed(holding, tables_of(holding, proposal, counted, names, now, floor=0))
    for family in families:
        _require_enough(holding, family.node, family.parents, counted)
    floor = holding.site.peer.smallest_count
    tables = tables_of(holding, proposal, counted, names, now, floor=floor)
    require_allowed(holding, tables)
    return tables


def require_own_shareable(holding: LocalRecords, proposal: Proposal) -> None:
    """Check, before anything is announced, the families with only this owner's variables.

    Raises SmallCounts, OtherGroupings, StoreCorrupt.
    """
    counted, known = counted_from(holding, []), _known(holding)
    own = _digests(counted, holding.names)
    if len(known) >= holding.site.peer.groupings and all(one.own != own for one in known):
        raise _refusal(holding)
    for node in holding.names:
        agreed = proposal.task.agreed_parents(node)
        own = [name for name in agreed if name in holding.names]
        _require_enough(holding, node, own, counted)


def _require_enough(
    holding: LocalRecords, node: str, parents: Sequence[str], counted: CountedColumns
) -> None:
    floor, owner = holding.site.peer.smallest_count, holding.site.owner
    if counted.smallest_cell(counted.names(node, parents)) >= floor:
        return
    given = f" given {list(parents)}" if parents else ""
    raise SmallCounts(
        f"{owner} does not share the parameters of {node!r}{given}: some combination of values "
        f"in the columns of {owner} occurs in fewer than {floor} records.",
        where=node,
        remedy="Merge rare categories, or request fewer parents (for a structure, a lower "
        f"max_parents). Otherwise ask {owner} to lower smallest_count in its [peer] section.",
    )
