"""What a session would tell exactly of each own column: against which columns of the peers.

A family's parameters tell the table that they are made from. Of an own column in it, they tell how
many of its values fall into each group that the peers' columns make of the records. Own columns go
together, so that groups which tell one of them also tell of another: all are looked at as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from owner_agent.peer.disclosure.counted import Counted
from owner_agent.peer.tasks.holding import Holding

Groups = frozenset[str]
"""Digests of the peers' columns that an own column is told against together."""


@dataclass(frozen=True)
class Telling:
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
    holding: Holding, counted: Counted, families: Iterable[Sequence[str]], floor: int
) -> tuple[Telling, ...]:
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
        Telling(
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
