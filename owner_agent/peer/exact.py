"""Exact tables: what must hold before they are disclosed, and the memory of them.

Also here:

* The columns that this owner's families are counted from, and how their table is recognized.
  Digests stand for what is compared: of the records, and of how a column parts them into groups.
  So neither another name of a variable nor other labels or another order of its categories make
  another column of it, and another set of records does.
* The fewest records that a cell of what an owner shares may rest on. What is shared of a family are
  estimates from one table: its parents as this owner has them (true codes of its own, what it
  received of its peers') by the node's true values. Whoever sent a randomized parent knows its own
  reports and can undo the inversion: it has the table's exact counts. So the floor holds for the
  table that was counted, whatever the parents' channels are.
* What a session would tell exactly of each own column: against which columns of the peers.
* What was ever disclosed exactly of each own column, kept for ever, and what may yet be. All that
  was told against some columns of the peers is part of one table, and so is what is told against
  fewer of them: it adds nothing. Against others it is another table, and two tables whose groups
  differ in one record tell that record's value by subtraction. So the tables that are not part of
  another are counted, for each column, and there are never more than the custodian allows. Nor are
  there more sets of the peers' columns, over all own columns: of two that go together, each told by
  groups of its own, the one could be subtracted from the other.
* By how many groupings each own column was disclosed exactly, as people read it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError

from owner_agent.peer.exchange.catalogue import LocalRecords, learners, task_of
from owner_agent.peer.exchange.incoming import ReceivedColumns, counted_names
from owner_agent.peer.protocol.messages import Proposal
from owner_agent.peer.session import all_kept
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
    _digests: dict[str, str] = field(default_factory=dict, init=False)

    def names(self, node: str, parents: Sequence[str]) -> tuple[str, ...]:
        """Return the columns whose table gives a family's parameters."""
        return counted_names(self.plan, (*parents, node))

    def smallest_cell(self, names: Sequence[str]) -> int:
        """Return the fewest records that some combination of codes has, of those that occur."""
        return smallest_cell([self.columns[name] for name in names])

    @property
    def reports(self) -> ReportedCounts:
        """The exact counts over any of the columns."""
        return ReportedCounts(self.columns, self.plan.reported_sizes)

    @property
    def records(self) -> str:
        """The digest of the records: that of a column in which they are all alike."""
        return partition_digest(self.keys, np.zeros(len(self.keys), dtype=np.uint8))

    def digest(self, name: str) -> str:
        """Return the digest of a column's records and groups."""
        if name not in self._digests:
            self._digests[name] = partition_digest(self.keys, self.columns[name])
        return self._digests[name]


def counted_from(holding: LocalRecords, received: Sequence[ReceivedColumns]) -> CountedColumns:
    """Return the columns that this owner counts families from.

    Args:
        holding: this owner's records.
        received: its peers' columns of the same records.
    """
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
    numbers = first_order(first).astype("<u4")[inverse]
    running = hashlib.sha256(b"pramana/partition/1\x00")
    running.update(np.ascontiguousarray(keys).tobytes())
    running.update(numbers.tobytes())
    return running.hexdigest()


def first_order(first: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the order in which codes first occur, from the places where each does."""
    order: npt.NDArray[np.int64] = np.argsort(np.argsort(first))
    return order


def require_enough_before(holding: LocalRecords, proposal: Proposal) -> None:
    """Check what of the families is this owner's alone, before anything is announced.

    A cell of the whole table is no larger than the one of these margins that it lies in.

    Raises:
        SmallCounts: a family would be refused, whatever the peers send.
    """
    if not task_of(proposal).shared or holding.site.owner not in learners(proposal):
        return
    counted = counted_from(holding, [])
    for node in holding.names:
        agreed = task_of(proposal).agreed_parents(node)
        own = [name for name in agreed if name in holding.names]
        _require_enough(holding, proposal, node, own, counted)


def require_enough(
    holding: LocalRecords,
    proposal: Proposal,
    families: Iterable[LearnedFamily],
    counted: CountedColumns,
) -> None:
    """Check every family that this owner is about to share, by the columns it was counted from.

    Raises:
        SmallCounts: some combination has records, but fewer than the site file demands.
    """
    for family in families:
        _require_enough(holding, proposal, family.node, family.parents, counted)


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


# What a session would tell exactly of each own column: against which columns of the peers.
#
# A family's parameters tell the table that they are made from. Of an own column in it, they tell
# how many of its values fall into each group that the peers' columns make of the records. Own
# columns go together, so that groups which tell one of them also tell of another: all are looked at
# as one.

Groups = frozenset[str]
"""Digests of the peers' columns beside which an own column is counted."""


@dataclass(frozen=True)
class ColumnDisclosure:
    """What a session would tell of one own column.

    Attributes:
        column: the column in the owner's table.
        variable: its name in the session.
        content: the digest of its records and values.
        records: the digest of its records alone.
        against: the sets of peers' columns, none within another. There is one, for all own columns,
            if the table of each of these over all of them keeps to the floor; else two of the
            tables told could be subtracted.
        names: the peers' columns, as the session calls them, for people.
    """

    column: str
    variable: str
    content: str
    records: str
    against: tuple[Groups, ...]
    names: tuple[str, ...]


def tellings(
    holding: LocalRecords, counted: CountedColumns, families: Iterable[Sequence[str]], floor: int
) -> tuple[ColumnDisclosure, ...]:
    """Return what families tell of each own column in them.

    Args:
        holding: this owner's records.
        counted: the columns that the families are made from.
        families: the columns that each family was counted from.
        floor: the fewest records in a cell of the table of each own column that is told against a
            peer's over all peers' columns, so that these count as one; with 0 they always do, and
            no count is looked at.
    """
    told = [frozenset(family) for family in families]
    own = [name for name in holding.names if any(name in family for family in told)]
    theirs = frozenset(name for family in told for name in family) - set(holding.names)
    met = {name: [family & theirs for family in told if name in family] for name in own}
    parted = [name for name in own if any(met[name])]
    if not floor or all(counted.smallest_cell([n, *sorted(theirs)]) >= floor for n in parted):
        met |= {name: [theirs] for name in parted}
    return tuple(
        ColumnDisclosure(
            column=holding.plan.columns[name],
            variable=name,
            content=counted.digest(name),
            records=counted.records,
            against=_maximal(frozenset(map(counted.digest, one)) for one in sets),
            names=tuple(sorted(frozenset().union(*sets))),
        )
        for name, sets in met.items()
    )


def _maximal(sets: Iterable[Groups]) -> tuple[Groups, ...]:
    distinct = dict.fromkeys(sets)
    return tuple(one for one in distinct if not any(one < other for other in distinct))


_FILE = "disclosures.json"


class Disclosure(Message):
    """One table that was disclosed of an own column, by digests, without a value or a record.

    `against` are the digests of the peers' columns, `names` what the session called them. `records`
    is the digest of the records.
    """

    study: str
    column: str
    variable: str
    content: Sha256
    against: list[Sha256]
    names: list[str]
    session: str
    told: datetime
    records: Sha256

    def holds(self, other: Disclosure) -> bool:
        """Whether another table is part of this one."""
        return self.content == other.content and set(self.against) >= set(other.against)

    def parts_as(self, other: Disclosure) -> bool:
        """Whether this one's groups of the records are those of another, or parts of them."""
        # A peer's column's digest has its records in it; without one, `records` must say them.
        same = bool(other.against) or self.records == other.records
        return same and set(self.against) >= set(other.against)


class _Memory(Message):
    told: tuple[Disclosure, ...] = ()


def disclosures(state: Path, sessions: Sequence[str] = ()) -> list[Disclosure]:
    """Return all that was disclosed, oldest first.

    Args:
        state: the state folder.
        sessions: sessions that are known to have told something.

    Raises:
        StoreCorrupt: the memory cannot be read, or is gone although something was disclosed.
    """
    path = state / _FILE
    if not path.exists():
        if sessions:
            raise StoreCorrupt(
                f"There is no {path}, but {len(sessions)} sessions shared parameters: nobody knows"
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


def remember(state: Path, known: Sequence[Disclosure], more: Iterable[Disclosure]) -> None:
    """Write down, durably, what is about to be disclosed."""
    whole = _Memory(told=(*known, *more))
    write_replacing(state_directory(state) / _FILE, whole.model_dump_json(indent=1).encode())


def added(
    known: Sequence[Disclosure],
    tellings: Iterable[ColumnDisclosure],
    *,
    study: str,
    session: str,
    now: datetime,
) -> list[Disclosure]:
    """Return the tables of a session that are not part of any told before."""
    made = [
        Disclosure(
            study=study,
            column=one.column,
            variable=one.variable,
            content=one.content,
            against=sorted(groups),
            names=list(one.names),
            session=session,
            told=now,
            records=one.records,
        )
        for one in tellings
        for groups in one.against
    ]
    return [new for new in made if not any(o.holds(new) for o in of_column(known, new))]


def require_few(
    owner: str, known: Sequence[Disclosure], more: Sequence[Disclosure], groupings: int
) -> None:
    """Check that nothing is disclosed by more groupings than the custodian allows.

    Neither is any column, nor are all together. What the others hear names the column, and nothing
    of what it was told against before.

    Raises:
        OtherGroupings: one would be.
    """
    for new in more:
        if len(distinct(of_column([*known, *more], new))) > groupings:
            raise refusal(owner, new.variable, groupings)
    for new in more:
        if len(all_groupings([*known, *more], new.study)) > groupings and not any(
            other.parts_as(new) for other in known if other.study == new.study
        ):
            raise refusal(owner, new.variable, groupings)


def refusal(owner: str, variable: str, groupings: int) -> OtherGroupings:
    """Return the error of a column that would be disclosed by too many groupings."""
    most = "one grouping" if groupings == 1 else f"{groupings} groupings"
    return OtherGroupings(
        f"{owner} does not share parameters with {variable!r}: they would group its records in"
        f" another way than before, or be of other records or values; {owner} allows {most}. Two"
        " tables that differ in few records reveal those records.",
        where=variable,
        remedy="Learn from the same columns and records as before, all in one session; or let"
        f" {owner} raise groupings in its [peer] section deliberately.",
    )


def of_column(known: Iterable[Disclosure], one: Disclosure) -> list[Disclosure]:
    """Return what was disclosed of the same column in the same study, however it was renamed.

    Two tables are of one column if its name, its variable or its values are the same in both, or
    in a third one.
    """
    same, rest = [one], [other for other in known if other.study == one.study and other != one]
    mine = [other for other in known if other == one]
    while found := [other for other in rest if any(_alike(other, known) for known in same)]:
        same += found
        mine += found
        rest = [other for other in rest if other not in found]
    return sorted(mine, key=lambda other: other.told)


def _alike(one: Disclosure, other: Disclosure) -> bool:
    return (
        one.column == other.column or one.variable == other.variable or one.content == other.content
    )


def distinct(disclosures: Sequence[Disclosure]) -> list[Disclosure]:
    """Return the tables that are not part of another, the first of those that are alike."""
    return _largest(disclosures, Disclosure.holds)


def all_groupings(disclosures: Sequence[Disclosure], study: str) -> list[Disclosure]:
    """Return a table for each grouping by which any own column was disclosed in a study."""
    return _largest([one for one in disclosures if one.study == study], Disclosure.parts_as)


def _largest(
    disclosures: Sequence[Disclosure], holds: Callable[[Disclosure, Disclosure], bool]
) -> list[Disclosure]:
    return [
        one
        for place, one in enumerate(disclosures)
        if not any(
            holds(other, one) and (other_place < place or not holds(one, other))
            for other_place, other in enumerate(disclosures)
            if other_place != place
        )
    ]


@dataclass(frozen=True)
class ExactTables:
    """What a session would tell exactly; see `RecordDisclosure`."""

    tellings: tuple[ColumnDisclosure, ...]

    def enter(self, holding: LocalRecords, proposal: Proposal, now: datetime) -> None:
        """Write down what is disclosed now, unless that would be too much.

        Raises:
            OtherGroupings: a column would be disclosed by more groupings than the site file allows.
            StoreCorrupt: what was disclosed before cannot be read.
        """
        known = recalled(holding.site.state)
        remember(holding.site.state, known, self._more(holding, proposal, known, now))

    def _more(
        self, holding: LocalRecords, proposal: Proposal, known: list[Disclosure], now: datetime
    ) -> list[Disclosure]:
        more = added(known, self.tellings, study=proposal.study, session=proposal.session, now=now)
        require_few(holding.site.owner, known, more, holding.site.peer.groupings)
        return more

    def require_allowed(self, holding: LocalRecords, proposal: Proposal, now: datetime) -> None:
        """Check that `enter` would allow it; nothing is written. Raises as that does."""
        self._more(holding, proposal, recalled(holding.site.state), now)


def exact_tables(
    holding: LocalRecords,
    proposal: Proposal,
    counted: CountedColumns,
    families: Sequence[LearnedFamily],
    now: datetime,
) -> ExactTables:
    """Return what telling some families would tell, if that is allowed.

    Whether the groups are new is asked before anything is counted: once a column has been told by
    as many groupings as are allowed, no refusal depends on its values any more.

    Raises:
        OtherGroupings: a column would be disclosed by more groupings than the site file allows.
        SmallCounts: a table has a cell of fewer records than the site file demands.
        StoreCorrupt: what was disclosed before cannot be read.
    """
    tables = [counted.names(family.node, family.parents) for family in families]
    at_best = ExactTables(tellings(holding, counted, tables, floor=0))
    at_best.require_allowed(holding, proposal, now)
    require_enough(holding, proposal, families, counted)
    exact = ExactTables(tellings(holding, counted, tables, holding.site.peer.smallest_count))
    exact.require_allowed(holding, proposal, now)
    return exact


def require_tellable_before(holding: LocalRecords, proposal: Proposal, now: datetime) -> None:
    """Check what is this owner's alone, before anything is announced.

    What the peers' columns are is not known yet; that this owner's own records or values are others
    than before is.

    Raises:
        SmallCounts: a family would be refused, whatever the peers send.
        OtherGroupings: a column would be refused, whatever the peers send.
        StoreCorrupt: what was disclosed before cannot be read.
    """
    site = holding.site
    if not task_of(proposal).shared or site.owner not in learners(proposal):
        return
    own = [(name,) for name in holding.names]
    alone = ExactTables(tellings(holding, counted_from(holding, []), own, floor=0))
    alone.require_allowed(holding, proposal, now)
    require_enough_before(holding, proposal)


def recalled(state: Path) -> list[Disclosure]:
    """Return all that sessions disclosed exactly. Raises StoreCorrupt."""
    sessions = [one.proposal.session for one in all_kept(state) if one.families]
    return disclosures(state, sessions)


@dataclass(frozen=True)
class DisclosedColumn:
    """A column that was told exactly in a study; `against` has each grouping's peer columns."""

    study: str
    column: str
    against: tuple[tuple[str, ...], ...]

    @property
    def groupings(self) -> int:
        """By how many groupings it was told."""
        return len(self.against)

    @property
    def words(self) -> str:
        """The peers' columns that it was told against."""
        return "; ".join(", ".join(names) or "no column" for names in self.against)


def told_columns(disclosures: Sequence[Disclosure]) -> list[DisclosedColumn]:
    """Return the columns of some disclosures, in their order."""
    found = []
    for study, column in dict.fromkeys((one.study, one.column) for one in disclosures):
        mine = next(one for one in disclosures if (one.study, one.column) == (study, column))
        tables = distinct(of_column(disclosures, mine))
        found.append(DisclosedColumn(study, column, tuple(tuple(one.names) for one in tables)))
    return found
