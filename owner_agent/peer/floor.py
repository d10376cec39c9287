"""The fewest records that a cell of what an owner shares may rest on.

What is shared of a family are estimates from one table: its parents as this owner has them (true
codes of its own, what it received of its peers') by the node's true values. Whoever sent a
randomized parent knows its own reports and can undo the inversion: it has the table's exact
counts. So the floor holds for the table that was counted, whatever the parents' channels are.

Also here:

* What a session would tell exactly of each own column: against which columns of the peers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from owner_agent.peer.counted import CountedColumns, counted_from
from owner_agent.peer.protocol.messages import Proposal
from owner_agent.peer.tasks.catalogue import learners, task_of, variables_of
from owner_agent.peer.tasks.holding import LocalRecords
from pramana_core.errors import SmallCounts
from pramana_core.learn.networks.bayes_net import LearnedFamily


def require_enough_before(holding: LocalRecords, proposal: Proposal) -> None:
    """Check what of the families is this owner's alone, before anything is announced.

    A cell of the whole table is no larger than the one of these margins that it lies in.

    Raises:
        SmallCounts: a family would be refused, whatever the peers send.
    """
    if not task_of(proposal).shared or holding.site.owner not in learners(proposal):
        return
    counted = counted_from(holding, [])
    for node in shared_nodes(holding, proposal):
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


def shared_nodes(holding: LocalRecords, proposal: Proposal) -> tuple[str, ...]:
    """Return the nodes whose families this owner learns in a session."""
    return holding.names if proposal.partition == "vertical" else variables_of(proposal)


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
