"""The privacy loss in a study: per column, per owner and per record, over all releases.

Epsilons of different draws add, whichever owner made them. How they add for a belief about one
column depends on how the columns are related, so there are two extremes. If columns are
*independent*, only a column's own draws change a belief about it. If columns *determine* each
other, the draws of all columns add. Blocks of one study plan are an exception, because one coin
chooses the set that a record reports. Their epsilons add only within a set, and the record's loss
is the largest sum.
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
    """The loss from an owner's part of a study plan, for each value of the coin named `coin`.

    `spans` are (start, end, epsilon), ascending: one whose coin is in [start, end) loses epsilon.
    """

    coin: str
    spans: tuple[tuple[int, int, float], ...]

    @classmethod
    def of(cls, channel: Transition) -> Self | None:
        """Return the loss from a coordinated channel, or None for any other channel.

        Raises:
            LimitExceeded: a choice's channel has too many categories and no closed form.
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
        """The largest epsilon over the sets."""
        return max(epsilon for _, _, epsilon in self.spans)


@dataclass(frozen=True)
class BlockDisclosure:
    """One block of one release: its owner, variables, amplification and draws.

    `draw` is equal for two blocks if and only if every record's draw is the same. Releasing the
    same draws twice adds nothing, even under another owner's name. `randomized` is false if the
    true values were released; `amplification` is then ignored. For a part of a study plan, `coin`
    has the loss of each set, and `amplification` is the largest of these losses.
    """

    owner: str
    variables: tuple[str, ...]
    amplification: Amplification
    draw: str
    randomized: bool = True
    coin: CoinDisclosure | None = None


@dataclass(frozen=True)
class ColumnDisclosure:
    """The loss of one owner's column; `amplification` is None if its true values were released."""

    owner: str
    variable: str
    amplification: Amplification | None


@dataclass(frozen=True)
class Extremes:
    """The largest growth of a belief about one column, in both extreme cases (see the module).

    `independent` adds the draws of the column of largest loss, `determined` those of all columns.
    """

    independent: Amplification
    determined: Amplification


@dataclass(frozen=True)
class StudyDisclosure:
    """The loss in a study, with columns and owners in the order of their first release.

    `variables` has the loss of each randomized variable, `record` that of a record over all owners.
    """

    columns: tuple[ColumnDisclosure, ...]
    owners: dict[str, Extremes]
    variables: dict[str, Amplification]
    record: Extremes

    def column(self, owner: str, variable: str) -> ColumnDisclosure:
        """Return the loss of a column, which is zero for a column that is not in `columns`."""
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
    """Return the sum of the losses of all released blocks.

    A joint block counts once for a record, and with its full epsilon for each of its variables. If
    several owners report a variable of the same people, the variable is one secret, and its draws
    add over the owners. Parts of one study plan add set by set, and the record's loss is the
    largest sum. An infinite epsilon makes every sum that contains it infinite.

    Args:
        disclosures: the blocks, in any order; the same draws may occur more than once.
        different_people: whether each record is at only one owner. A record's loss then comes only
            from its owner's releases; otherwise the sum over all owners is an upper bound.
        removed: owners that left the study. They may have joined again under another name, so their
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
    """Return the loss of one record: the sum over draws, where draws of one coin add set by set."""
    alone = [t.amplification for t in disclosures if t.coin is None]
    by_coin: dict[str, dict[str, CoinDisclosure]] = {}
    for one in disclosures:
        if one.coin is None:
            continue
        parts = by_coin.setdefault(one.coin.coin, {})
        if one.owner in parts:
            # A new draw may use another secret, so it adds to the others in full.
            alone.append(Amplification(one.coin.most))
        else:
            parts[one.owner] = one.coin
    return composed([*alone, *(_by_coin(list(parts.values())) for parts in by_coin.values())])


def _by_coin(parts: Sequence[CoinDisclosure]) -> Amplification:
    """Return the largest sum of the owners' losses at one value of the coin."""
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
    found: dict[str, list[BlockDisclosure]] = {}
    for one in disclosures:
        for name in names(one):
            found.setdefault(name, []).append(one)
    return found
