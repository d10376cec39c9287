"""What everything that left comes to: per column, per owner and per record over a whole study.

Epsilons of different draws add, whoever made them. How far they add for one belief depends on how
values go together, which nobody knows; so there are two extremes. If columns are *independent*, a
belief about one grows by that column's own draws alone. If columns *determine* each other, the
draws of all columns tell of every one, and all of them add.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from shared.privacy.amplification import NOTHING, Amplification, composed


@dataclass(frozen=True)
class ToldBlock:
    """What one block of one release told: whose, about which variables, how much, by which draws.

    `draw` identifies the draws among those of the owner: equal exactly if every record's draw is
    the same, so that the same draws told twice add nothing. `randomized` is false where the values
    themselves were told; `amplification` then counts for nothing.
    """

    owner: str
    variables: tuple[str, ...]
    amplification: Amplification
    draw: str
    randomized: bool = True


@dataclass(frozen=True)
class ColumnTold:
    """What the draws of one owner's column come to; None: some release told it as it is."""

    owner: str
    variable: str
    amplification: Amplification | None


@dataclass(frozen=True)
class Extremes:
    """The most a belief about one column can grow by, at both extremes.

    `independent`: by the draws of that column alone, the column that lost most. `determined`: by
    the draws of all columns, because each value tells all others.
    """

    independent: Amplification
    determined: Amplification


@dataclass(frozen=True)
class StudyTold:
    """What a study's releases told; columns and owners in the order they first told something.

    `variables` has what the draws of each randomized variable come to, and `record` what is told
    of one record, over all owners.
    """

    columns: tuple[ColumnTold, ...]
    owners: dict[str, Extremes]
    variables: dict[str, Amplification]
    record: Extremes

    def column(self, owner: str, variable: str) -> ColumnTold:
        """Return what was told of a column: nothing, if it is not among `columns`."""
        for told in self.columns:
            if (told.owner, told.variable) == (owner, variable):
                return told
        return ColumnTold(owner, variable, NOTHING)


def told_by(told: Iterable[ToldBlock], *, different_people: bool = False) -> StudyTold:
    """Add up what left.

    A joint block counts once for a record, and with its whole epsilon for each of its variables. A
    variable that several owners report of the same people is one secret: its draws add over them.
    An infinite epsilon makes the sums infinite that it is part of.

    Args:
        told: what left, in any order; the same draws may occur more than once.
        different_people: whether no record is at more than one owner. A record then has lost what
            its own owner told; otherwise the sum over all owners is an upper bound.
    """
    distinct = {(t.owner, t.draw, t.variables): t for t in told}.values()
    by_owner = _grouped(distinct, lambda t: [t.owner])
    owners = {owner: _extremes(mine) for owner, mine in by_owner.items()}
    secrets = [_variables(told) for told in (by_owner.values() if different_people else [distinct])]
    variables = {
        name: max(known[name] for known in secrets if name in known)
        for name in dict.fromkeys(name for known in secrets for name in known)
    }
    columns = [
        ColumnTold(owner, variable, _of_column(about))
        for owner, mine in by_owner.items()
        for variable, about in _grouped(mine, lambda t: t.variables).items()
    ]
    record = _extremes(distinct)
    if different_people:
        largest = max((e.determined for e in owners.values()), default=NOTHING)
        record = Extremes(max(variables.values(), default=NOTHING), largest)
    return StudyTold(tuple(columns), owners, variables, record)


def _extremes(told: Iterable[ToldBlock]) -> Extremes:
    told = list(told)
    return Extremes(
        max(_variables(told).values(), default=NOTHING),
        composed(t.amplification for t in told if t.randomized),
    )


def _variables(told: Iterable[ToldBlock]) -> dict[str, Amplification]:
    each = _grouped((t for t in told if t.randomized), lambda t: t.variables)
    return {name: composed(t.amplification for t in about) for name, about in each.items()}


def _of_column(about: list[ToldBlock]) -> Amplification | None:
    if not all(t.randomized for t in about):
        return None
    return composed(t.amplification for t in about)


def _grouped(
    told: Iterable[ToldBlock], names: Callable[[ToldBlock], Iterable[str]]
) -> dict[str, list[ToldBlock]]:
    """Return what was told by each of its names."""
    found: dict[str, list[ToldBlock]] = {}
    for one in told:
        for name in names(one):
            found.setdefault(name, []).append(one)
    return found
