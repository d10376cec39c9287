"""What a session would tell exactly of each own column: against which columns of the peers.

A family's parameters tell the table that they are made from. Of an own column in it, they tell how
many of its values fall into each group that the peers' columns make of the records.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from owner_agent.peer.disclosure.counted import Counted
from owner_agent.peer.holding import Holding

Groups = frozenset[str]
"""Digests of the peers' columns that an own column is told against together."""


@dataclass(frozen=True)
class Telling:
    """What a session would tell of one own column.

    Attributes:
        column: the column in the owner's table.
        variable: its name in the session.
        content: the digest of its records and values.
        against: the sets of peers' columns, none within another. There is one if the table over
            all of them keeps to the floor; else two of the tables told could be subtracted.
        names: the peers' columns, as the session calls them, for people.
    """

    column: str
    variable: str
    content: str
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
        floor: the fewest records in a cell of a table over all that a column is told against, so
            that it counts as one; with 0 it always does, and no count is looked at.
    """
    told = [frozenset(family) for family in families]
    own = [name for name in holding.names if any(name in family for family in told)]
    theirs = {name for family in told for name in family} - set(holding.names)
    digests = {name: counted.digest(name) for name in theirs}
    made = []
    for name in own:
        sets = [family & theirs for family in told if name in family]
        together = sorted(frozenset().union(*sets))
        if not floor or counted.smallest_cell([name, *together]) >= floor:
            sets = [frozenset(together)]
        against = _maximal(frozenset(digests[other] for other in one) for one in sets)
        made.append(
            Telling(
                column=holding.plan.columns[name],
                variable=name,
                content=counted.digest(name),
                against=against,
                names=tuple(together),
            )
        )
    return tuple(made)


def _maximal(sets: Iterable[Groups]) -> tuple[Groups, ...]:
    distinct = dict.fromkeys(sets)
    return tuple(one for one in distinct if not any(one < other for other in distinct))
