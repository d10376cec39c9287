"""The loss of privacy in a study: per column, per owner and per record, over all releases.

Epsilons of different draws add, whoever made them. How far they add for one belief depends on the
dependence of columns, so there are two extremes. If columns are *independent*, a belief about one
grows by that column's own draws alone. If columns *determine* each other, the draws of all add.

Blocks of one study plan are the exception: one coin chooses the set that a record reports, so that
they add within a set only, and the record has lost the largest of the sets' sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from pramana_core.channels import Coordinated, Transition, pieces
from pramana_core.privacy.gamma import NOTHING, Amplification, composed


@dataclass(frozen=True)
class CoinDisclosure:
    """The loss by an owner's part of a study plan, by the value of the coin of that name.

    `spans` are (start, end, epsilon), ascending: a record whose coin is in [start, end) loses
    epsilon.
    """

    coin: str
    spans: tuple[tuple[int, int, float], ...]

    @classmethod
    def of(cls, channel: Transition) -> Self | None:
        """Return the loss by a channel that a coin controls; None for any other channel.

        Raises:
            LimitExceeded: a choice's channel without closed form over too many categories.
        """
        if not isinstance(channel, Coordinated):
            return None
        known = {c: Amplification.of(c).epsilon for c in {c.channel for c in channel.choices}}
        return cls(
            channel.coin,
            tuple(
                (start, end, known[choice.channel])
                for (start, end), choice in zip(channel.spans, channel.choices, strict=True)
            ),
        )

    @property
    def most(self) -> float:
        """The largest epsilon of a set."""
        return max(epsilon for _, _, epsilon in self.spans)


@dataclass(frozen=True)
class BlockDisclosure:
    """One block of one release: its owner, variables, amplification and draws.

    `draw` is equal exactly where every record's draw is the same: the same draws released twice add
    nothing, under whatever owner's name. `randomized` is false where the values themselves were
    released; `amplification` is then ignored. `coin` has the loss of a part of a study plan set by
    set; `amplification` is then the largest.
    """

    owner: str
    variables: tuple[str, ...]
    amplification: Amplification
    draw: str
    randomized: bool = True
    coin: CoinDisclosure | None = None


@dataclass(frozen=True)
class ColumnDisclosure:
    """The loss of one owner's column; None where a release has its true values."""

    owner: str
    variable: str
    amplification: Amplification | None


@dataclass(frozen=True)
class Extremes:
    """The most a belief about one column can grow by, at both extremes.

    `independent`: by the draws of the column that lost most. `determined`: by those of all columns.
    """

    independent: Amplification
    determined: Amplification


@dataclass(frozen=True)
class StudyDisclosure:
    """The loss in a study; columns and owners in the order of their first release.

    `variables` has the loss of each randomized variable, and `record` that of one record over all
    owners.
    """

    columns: tuple[ColumnDisclosure, ...]
    owners: dict[str, Extremes]
    variables: dict[str, Amplification]
    record: Extremes

    def column(self, owner: str, variable: str) -> ColumnDisclosure:
        """Return the loss of a column: nothing if it is not among `columns`."""
        for disclosure in self.columns:
            if (disclosure.owner, disclosure.variable) == (owner, variable):
                return disclosure
        return ColumnDisclosure(owner, variable, NOTHING)


def total_loss(
    disclosures: Iterable[BlockDisclosure],
    *,
    different_people: bool = False,
    removed: Collection[str] = (),
) -> StudyDisclosure:
    """Add up the losses of all blocks that were released.

    A joint block counts once for a record, and with its whole epsilon for each of its variables. A
    variable that several owners report of the same people is one secret: its draws add over them.
    Parts of one study plan add set by set, and the record has lost the largest sum. An infinite
    epsilon makes the sums infinite that it is part of.

    Args:
        disclosures: the blocks, in any order; the same draws may occur more than once.
        different_people: whether no record is at more than one owner. A record then loses by its
            own owner's releases only; otherwise the sum over all owners is an upper bound.
        removed: owners that left the study. They may have joined again under another name: their
            releases count for every owner's people.
    """
    distinct = {(t.owner, t.draw, t.variables): t for t in disclosures}.values()
    by_owner = _grouped(distinct, lambda t: [t.owner])
    owners = {owner: _extremes(mine) for owner, mine in by_owner.items()}
    people: list[Iterable[BlockDisclosure]] = [distinct]
    if different_people:
        anywhere = [t for t in distinct if t.owner in removed]
        there = [mine for owner, mine in by_owner.items() if owner not in removed]
        people = [[*mine, *anywhere] for mine in there] or [anywhere]
    people = [{(t.draw, t.variables): t for t in one}.values() for one in people]
    secrets = [_variables(one) for one in people]
    variables = {
        name: max(known[name] for known in secrets if name in known)
        for name in dict.fromkeys(name for known in secrets for name in known)
    }
    columns = [
        ColumnDisclosure(owner, variable, _of_column(about))
        for owner, mine in by_owner.items()
        for variable, about in _grouped(mine, lambda t: t.variables).items()
    ]
    each = [_extremes(one) for one in people]
    record = Extremes(max(e.independent for e in each), max(e.determined for e in each))
    return StudyDisclosure(tuple(columns), owners, variables, record)


def _extremes(disclosures: Iterable[BlockDisclosure]) -> Extremes:
    disclosures = list(disclosures)
    return Extremes(
        max(_variables(disclosures).values(), default=NOTHING),
        _together([t for t in disclosures if t.randomized]),
    )


def _together(disclosures: Sequence[BlockDisclosure]) -> Amplification:
    """Return the loss of one record: the sum over draws, of one coin's as they fall together."""
    alone = [t.amplification for t in disclosures if t.coin is None]
    by_coin: dict[str, dict[str, CoinDisclosure]] = {}
    for one in disclosures:
        if one.coin is None:
            continue
        parts = by_coin.setdefault(one.coin.coin, {})
        if one.owner in parts:
            # Drawn anew it may rest on another secret, whatever the others report.
            alone.append(Amplification(one.coin.most))
        else:
            parts[one.owner] = one.coin
    return composed([*alone, *(_by_coin(list(parts.values())) for parts in by_coin.values())])


def _by_coin(parts: Sequence[CoinDisclosure]) -> Amplification:
    """Return the largest sum of the losses of owners' parts at one value of the coin."""
    spans = [[(start, end) for start, end, _ in part.spans] for part in parts]
    return Amplification(
        max(
            math.fsum(
                part.spans[place][2]
                for part, place in zip(parts, chosen, strict=True)
                if place is not None
            )
            for _, chosen in pieces(spans)
        )
    )


def _variables(disclosures: Iterable[BlockDisclosure]) -> dict[str, Amplification]:
    each = _grouped((t for t in disclosures if t.randomized), lambda t: t.variables)
    return {name: composed(t.amplification for t in about) for name, about in each.items()}


def _of_column(about: list[BlockDisclosure]) -> Amplification | None:
    if not all(t.randomized for t in about):
        return None
    return composed(t.amplification for t in about)


def _grouped(
    disclosures: Iterable[BlockDisclosure], names: Callable[[BlockDisclosure], Iterable[str]]
) -> dict[str, list[BlockDisclosure]]:
    """Return the blocks by each of their names."""
    found: dict[str, list[BlockDisclosure]] = {}
    for one in disclosures:
        for name in names(one):
            found.setdefault(name, []).append(one)
    return found
