"""What everything that left a study comes to: per column, per owner and per record.

Epsilons of different draws add, whoever made them. How far they add for one belief depends on how
values go together, which nobody knows; so there are two extremes. If columns are *independent*, a
belief about one grows by that column's own draws alone. If columns *determine* each other, the
draws of all columns tell of every one, and all of them add.

Blocks of one study plan are the exception: one coin says which of their sets a record reports, so
that they add within a set only, and the record has lost the largest of the sets' sums.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from pramana_core.channels import RESOLUTION, Coordinated, Transition
from pramana_core.plan import Plan
from pramana_core.privacy.amplification import NOTHING, Amplification, composed


@dataclass(frozen=True)
class CoinDisclosure:
    """What an owner's part of a study plan tells where the coin of that name falls.

    `spans` are (start, end, epsilon), ascending: a record whose coin is in [start, end) loses that
    epsilon, and nothing elsewhere.
    """

    coin: str
    spans: tuple[tuple[int, int, float], ...]

    @classmethod
    def of(cls, channel: Transition) -> Self | None:
        """Return what a channel tells by a coin: None unless it is an owner's part of a plan.

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
        """The epsilon of the set that tells most."""
        return max(epsilon for _, _, epsilon in self.spans)


@dataclass(frozen=True)
class BlockDisclosure:
    """What one block of one release told: whose, about which variables, how much, by which draws.

    `draw` identifies the draws: equal exactly if every record's draw is the same, so that the same
    draws told twice add nothing, under whatever owner's name. `randomized` is false where the
    values themselves were told; `amplification` then counts for nothing. `coin` says of a part of
    a study plan what it tells set by set; then `amplification` is that of the set that tells most.
    """

    owner: str
    variables: tuple[str, ...]
    amplification: Amplification
    draw: str
    randomized: bool = True
    coin: CoinDisclosure | None = None


@dataclass(frozen=True)
class ColumnDisclosure:
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
class StudyDisclosure:
    """What a study's releases told; columns and owners in the order they first told something.

    `variables` has what the draws of each randomized variable come to, and `record` what is told
    of one record, over all owners.
    """

    columns: tuple[ColumnDisclosure, ...]
    owners: dict[str, Extremes]
    variables: dict[str, Amplification]
    record: Extremes

    def column(self, owner: str, variable: str) -> ColumnDisclosure:
        """Return what was told of a column: nothing, if it is not among `columns`."""
        for disclosure in self.columns:
            if (disclosure.owner, disclosure.variable) == (owner, variable):
                return disclosure
        return ColumnDisclosure(owner, variable, NOTHING)


def told_by(
    disclosures: Iterable[BlockDisclosure],
    *,
    different_people: bool = False,
    removed: Collection[str] = (),
) -> StudyDisclosure:
    """Add up what left.

    A joint block counts once for a record, and with its whole epsilon for each of its variables. A
    variable that several owners report of the same people is one secret: its draws add over them.
    Parts of one study plan add set by set, and the record has lost the largest sum. An infinite
    epsilon makes the sums infinite that it is part of.

    Args:
        disclosures: what left, in any order; the same draws may occur more than once.
        different_people: whether no record is at more than one owner. A record then has lost what
            its own owner told; otherwise the sum over all owners is an upper bound.
        removed: owners that left the study. Their people may be those of any owner, which may have
            joined again under another name: what they told counts for every owner's people.
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


def told_by_record(plan: Plan) -> Amplification:
    """Return what a whole record tells, over all randomized blocks; without any, everything.

    Public variables are in nobody's epsilon where others are randomized: who reports a plan says
    which they are.
    """
    noisy = [b for b in plan.blocks if not (b.channel.is_identity or b.channel.withheld)]
    if not noisy and any(block.channel.is_identity for block in plan.blocks):
        return Amplification(math.inf)
    return composed(Amplification.of(block.channel) for block in noisy)


def _extremes(disclosures: Iterable[BlockDisclosure]) -> Extremes:
    disclosures = list(disclosures)
    return Extremes(
        max(_variables(disclosures).values(), default=NOTHING),
        _together([t for t in disclosures if t.randomized]),
    )


def _together(disclosures: Sequence[BlockDisclosure]) -> Amplification:
    """Return what draws tell of one record: the sum, of one coin's as they fall together.

    Blocks of an owner that has drawn anew by one coin may rest on another secret: each beyond the
    first counts with the set that tells most, whatever the others report.
    """
    alone = [t.amplification for t in disclosures if t.coin is None]
    by_coin: dict[str, dict[str, CoinDisclosure]] = {}
    for one in disclosures:
        if one.coin is None:
            continue
        parts = by_coin.setdefault(one.coin.coin, {})
        if one.owner in parts:
            alone.append(Amplification(one.coin.most))
        else:
            parts[one.owner] = one.coin
    return composed([*alone, *(_by_coin(list(parts.values())) for parts in by_coin.values())])


def _by_coin(parts: Sequence[CoinDisclosure]) -> Amplification:
    """Return the largest sum of what owners' parts tell at one value of the coin."""
    if len(parts) == 1:
        return Amplification(parts[0].most)
    cuts = sorted({0, RESOLUTION, *(e for p in parts for span in p.spans for e in span[:2])})
    place = [0] * len(parts)
    worst = 0.0
    for low, _ in itertools.pairwise(cuts):
        each = []
        for number, part in enumerate(parts):
            while place[number] < len(part.spans) and part.spans[place[number]][1] <= low:
                place[number] += 1
            here = part.spans[place[number]] if place[number] < len(part.spans) else None
            each.append(here[2] if here is not None and here[0] <= low else 0.0)
        worst = max(worst, math.fsum(each))
    return Amplification(worst)


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
    """Return what was told by each of its names."""
    found: dict[str, list[BlockDisclosure]] = {}
    for one in disclosures:
        for name in names(one):
            found.setdefault(name, []).append(one)
    return found
