"""Exact tables: what must hold before they are disclosed, and the memory of them.

What an owner shares of a family are estimates from one table: the node's true values by its parents
as this owner has them (own true columns, and what it received of its peers'). Whoever sent a
randomized parent knows its own reports and can undo the inversion: it has the table's exact counts.
So every cell of that table keeps to a floor. And two tables whose records, values or groups differ
in one record reveal that record's value by subtraction. So an owner shares one table in a study,
and parts of it, as often as it likes. Another table is shared only if the custodian allows it
(`groupings`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError

from owner_agent.peer.exchange.catalogue import learners, task_of
from owner_agent.peer.exchange.incoming import ReceivedColumns, counted_names
from owner_agent.peer.exchange.local_records import LocalRecords
from owner_agent.peer.protocol.messages import Proposal
from owner_agent.peer.session_results import all_kept
from owner_agent.state.ledger_file import state_directory
from owner_agent.state.private_files import write_replacing
from pramana_core.errors import OtherGroupings, SmallCounts, StoreCorrupt
from pramana_core.learn.networks.bayes_net import LearnedFamily
from pramana_core.marginals.counts import Codes, ReportedCounts
from pramana_core.plan import Plan
from pramana_core.wire.base import Message, Sha256
from pramana_core.wire.parts import Pseudonyms


@dataclass(frozen=True, eq=False)
class CountedColumns:
    """Own true columns and the peers' as received, in the order of the pseudonyms `keys`."""

    plan: Plan
    keys: Pseudonyms
    columns: Mapping[str, Codes]

    def names(self, node: str, parents: Sequence[str]) -> tuple[str, ...]:
        """Return the columns whose table gives a family's parameters."""
        return counted_names(self.plan, (*parents, node))

    def smallest_cell(self, names: Iterable[str]) -> int:
        """Return the fewest records that some combination of codes has, of those that occur."""
        return smallest_cell([self.columns[name] for name in names])

    @property
    def reports(self) -> ReportedCounts:
        """The exact counts over any of the columns."""
        return ReportedCounts(self.columns, self.plan.reported_sizes)

    @cached_property
    def partitions(self) -> dict[str, str]:
        """The digest of the records and of how each column parts them."""
        return {name: partition_digest(self.keys, codes) for name, codes in self.columns.items()}


def counted_from(holding: LocalRecords, received: Sequence[ReceivedColumns]) -> CountedColumns:
    """Return the columns that this owner counts families from: its own, and those received."""
    plan = Plan.combine([Plan.unrandomized(holding.domain), *(one.plan for one in received)])
    columns = {name: holding.columns[name] for name in holding.names}
    for one in received:
        columns |= one.columns
    return CountedColumns(plan, holding.keys, columns)


def smallest_cell(columns: Sequence[Codes]) -> int:
    """Return the fewest records that some combination of codes has, of those that occur."""
    cells: npt.NDArray[np.int64] = np.zeros(len(columns[0]), dtype=np.int64)
    for codes in columns:
        # Numbered anew each time, so that no number of variables makes the numbers too large.
        combined = cells * (int(codes.max()) + 1) + codes
        cells = np.unique(combined, return_inverse=True)[1]
    return int(np.bincount(cells).min())


def partition_digest(keys: Pseudonyms, codes: Codes) -> str:
    """Return the digest of records and of how a column parts them, whatever its categories are."""
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    numbers = np.argsort(np.argsort(first)).astype("<u4")[inverse]
    running = hashlib.sha256(b"pramana/partition/1\x00")
    running.update(np.ascontiguousarray(keys).tobytes())
    running.update(numbers.tobytes())
    return running.hexdigest()


_FILE = "disclosures.json"


class Disclosure(Message):
    """One table that was disclosed in a study, by digests, without a value or a record.

    `own` are the digests of this owner's `columns` (and the records), `groups` those of the peers'
    columns `against` which they were shared, as the session called them.
    """

    study: str
    own: list[Sha256]
    groups: list[Sha256]
    columns: list[str]
    against: list[str]
    session: str
    told: datetime

    def holds(self, other: Disclosure) -> bool:
        """Whether another table is part of this one."""
        same = (self.study, self.own) == (other.study, other.own)
        return same and set(self.groups) >= set(other.groups)


class _Memory(Message):
    told: tuple[Disclosure, ...] = ()


def disclosures(state: Path) -> list[Disclosure]:
    """Return all that was disclosed, oldest first. Raises StoreCorrupt."""
    path = state / _FILE
    if not path.exists():
        sharing = [one for one in all_kept(state) if one.families]
        if sharing:
            raise StoreCorrupt(
                f"There is no {path}, but {len(sharing)} sessions shared parameters: nobody knows"
                " by which groups of records.",
                where=str(path),
                remedy="Restore it from your backup: without it nobody knows what was disclosed.",
            )
        return []
    try:
        return list(_Memory.model_validate_json(path.read_bytes()).told)
    except ValidationError:
        raise StoreCorrupt(
            f"{path} is not what was kept of the tables that were disclosed.",
            where=str(path),
            remedy="Restore it from your backup: without it nobody knows what was disclosed.",
        ) from None


def remember(holding: LocalRecords, tables: Sequence[Disclosure]) -> None:
    """Write down, durably, what is about to be disclosed. Raises OtherGroupings, StoreCorrupt."""
    whole = _Memory(told=tuple(_with(holding, tables)))
    path = state_directory(holding.site.state) / _FILE
    write_replacing(path, whole.model_dump_json(indent=1).encode())


def _with(holding: LocalRecords, tables: Sequence[Disclosure]) -> list[Disclosure]:
    """Return what will have been disclosed with these tables, if that is allowed."""
    known = disclosures(holding.site.state)
    more = [one for one in tables if not any(other.holds(one) for other in known)]
    whole = [one for one in known if not any(other.holds(one) for other in more)] + more
    study = [one for one in whole if one.study == holding.site.peer.study]
    if more and len(study) > holding.site.peer.groupings:
        raise _refusal(holding)
    return whole


def _refusal(holding: LocalRecords) -> OtherGroupings:
    owner, groupings = holding.site.owner, holding.site.peer.groupings
    most = "one table" if groupings == 1 else f"{groupings} tables"
    return OtherGroupings(
        f"{owner} does not share these parameters: they are of other columns, groups, records or"
        f" values than before, or of several; {owner} allows {most} in a study. Two tables that"
        " differ in few records reveal those records.",
        where=owner,
        remedy="Learn from the same columns and records as before, all in one session; or let"
        f" {owner} raise groupings in its [peer] section deliberately.",
    )


def tables_of(
    holding: LocalRecords,
    proposal: Proposal,
    counted: CountedColumns,
    families: Iterable[Sequence[str]],
    now: datetime,
    *,
    floor: int,
) -> list[Disclosure]:
    """Return the tables that families reveal, given the columns that each is counted from.

    It is one table, of this owner's columns by all the peers' columns in them, if that of each own
    column by all of these keeps to the `floor`; with 0 no count is looked at. Else there is one for
    each set of the peers' columns: two of them could be subtracted.
    """
    met = [(name, frozenset(f) - {*holding.names}) for f in families for name in f]
    sets = {theirs for name, theirs in met if name in holding.names}
    every = frozenset().union(*sets)
    parted = {name for name, theirs in met if theirs and name in holding.names}
    if all(counted.smallest_cell([name, *every]) >= floor for name in parted if floor):
        sets = {every}
    return [
        Disclosure(
            study=proposal.study,
            own=_digests(counted, holding.names),
            groups=_digests(counted, theirs),
            columns=[holding.plan.columns[name] for name in holding.names],
            against=sorted(theirs),
            session=proposal.session,
            told=now,
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
) -> list[Disclosure]:
    """Return the tables that sharing some families would reveal, if that is allowed.

    Whether the table is new is checked before anything is counted: once as many were shared as
    are allowed, no refusal depends on the values any more.
    Raises OtherGroupings, SmallCounts, StoreCorrupt.
    """
    names = [counted.names(family.node, family.parents) for family in families]
    _with(holding, tables_of(holding, proposal, counted, names, now, floor=0))
    for family in families:
        _require_enough(holding, proposal, family.node, family.parents, counted)
    floor = holding.site.peer.smallest_count
    tables = tables_of(holding, proposal, counted, names, now, floor=floor)
    _with(holding, tables)
    return tables


def require_tellable_before(holding: LocalRecords, proposal: Proposal) -> None:
    """Check what is this owner's alone, before anything is announced.

    What the peers' columns are is not known yet; that this owner's own records or values are others
    than before is. Nor is a cell of a whole table larger than the one of its own columns.
    Raises SmallCounts, OtherGroupings, StoreCorrupt.
    """
    site = holding.site
    if not task_of(proposal).shared or site.owner not in learners(proposal):
        return
    counted = counted_from(holding, [])
    known = [one for one in disclosures(site.state) if one.study == proposal.study]
    own = _digests(counted, holding.names)
    if len(known) >= site.peer.groupings and all(one.own != own for one in known):
        raise _refusal(holding)
    for node in holding.names:
        agreed = task_of(proposal).agreed_parents(node)
        own = [name for name in agreed if name in holding.names]
        _require_enough(holding, proposal, node, own, counted)


def _require_enough(
    holding: LocalRecords,
    proposal: Proposal,
    node: str,
    parents: Sequence[str],
    counted: CountedColumns,
) -> None:
    floor, owner = holding.site.peer.smallest_count, holding.site.owner
    if counted.smallest_cell(counted.names(node, parents)) >= floor:
        return
    given = f" given {list(parents)}" if parents else ""
    raise SmallCounts(
        f"{owner} does not share the parameters of {node!r}{given}: some combination of their"
        f" values, as {owner} has them, occurs in fewer than {floor} records.",
        where=node,
        remedy=f"Merge rare categories, {task_of(proposal).fewer}, or let {owner} lower"
        " smallest_count in its [peer] section deliberately.",
    )
