"""gamma-amplification and what it guarantees whatever the prior (Ma 3.1.2, FRAPP 2.1).

An `Amplification` holds epsilon, the logarithm of gamma: epsilons of independent draws add, and
their sum is a number where the product of the gammas is beyond all numbers.

What everything that left comes to: per column, per owner and per record over a whole study.
Epsilons of different draws add, whoever made them. How far they add for one belief depends on how
values go together, which nobody knows; so there are two extremes. If columns are *independent*, a
belief about one grows by that column's own draws alone. If columns *determine* each other, the
draws of all columns tell of every one, and all of them add.

Blocks of one study plan are the exception: one coin says which of their sets a record reports, so
that they add within a set only, and the record has lost the largest of the sets' sums.

Also here:

* Privacy on average: what is still unknown of the truth once the report is known (Ma 3.1.1).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Self

import numpy.typing as npt

from pramana_core.channels import RESOLUTION, Coordinated, Grouped, Sampled, Transition
from pramana_core.errors import OptionError
from pramana_core.plan import Block, Plan
from pramana_core.privacy.structures import (
    checked_prior,
    entropy,
    require_belief,
    structure_of,
)


@dataclass(frozen=True, order=True)
class Amplification:
    """How much reports can change the odds of anything about what they report.

    No odds change by more than the factor gamma = e^epsilon, whatever was believed before.

    Raises:
        OptionError: `epsilon` is negative or not a number.
    """

    epsilon: float

    def __post_init__(self) -> None:
        if not self.epsilon >= 0:
            raise OptionError(
                f"epsilon must be at least 0, not {self.epsilon}.",
                where="epsilon",
                remedy="An epsilon of 0 reveals nothing.",
            )

    @classmethod
    def of(cls, channel: Transition) -> Self:
        """Return what one report through a channel reveals. Raises LimitExceeded, see `gamma`."""
        return cls(math.log(gamma(channel)))

    @classmethod
    def of_gamma(cls, gamma: float) -> Self:
        """Return the amplification of a gamma. Raises OptionError below 1."""
        if not gamma >= 1:
            raise OptionError(
                f"gamma must be at least 1, not {gamma}.",
                where="gamma",
                remedy="A gamma of 1 reveals nothing.",
            )
        return cls(math.log(gamma))

    @classmethod
    def together(cls, independent: Iterable[Block | Transition]) -> Self:
        """Return what independent blocks reveal about all their variables at once (Ma 7.1.3).

        Gammas multiply, because each block can be at its worst together with the others. Variables
        that one channel randomizes together have that channel's. No blocks reveal nothing.

        Raises:
            LimitExceeded: see `gamma`.
        """
        channels = (b.channel if isinstance(b, Block) else b for b in independent)
        return cls(math.fsum(cls.of(channel).epsilon for channel in channels))

    def __add__(self, other: Amplification) -> Amplification:
        """Return what independent draws reveal together."""
        return Amplification(self.epsilon + other.epsilon)

    @property
    def gamma(self) -> float:
        """e^epsilon, to the thirteen digits that a logarithm keeps; infinite above 1.8e308."""
        try:
            return float(f"{math.exp(self.epsilon):.13g}")
        except OverflowError:
            return math.inf

    @property
    def written_gamma(self) -> str:
        """Gamma with four digits; one that is finite and beyond all numbers says so."""
        if math.isfinite(self.gamma):
            return f"{self.gamma:.4g}"
        return ">1e308" if math.isfinite(self.epsilon) else "∞"

    @property
    def told(self) -> str:
        """Both numbers in words, as models, reports and pages state them."""
        epsilon = f"{self.epsilon:.4g}" if math.isfinite(self.epsilon) else "∞"
        return f"gamma {self.written_gamma}, epsilon {epsilon}"

    def grown(self, prior: float) -> float:
        """Return rho_2, the largest posterior that a prior of rho_1 can grow to (Ma 3.1.2).

        rho_2 (1 - rho_1) / (rho_1 (1 - rho_2)) = gamma.

        Raises:
            OptionError: `prior` is not strictly between 0 and 1.
        """
        require_belief(prior, "prior")
        return prior / (prior + (1 - prior) * math.exp(-self.epsilon))

    def fallen(self, belief: float) -> float:
        """Return how low a belief of rho_2 can fall (the downward breach of Ma 3.1.2).

        It is also rho_1, the largest prior that cannot grow beyond `belief`. Infinite gamma
        protects no prior at all: 0.

        Raises:
            OptionError: `belief` is not strictly between 0 and 1.
        """
        require_belief(belief, "belief")
        least = belief * math.exp(-self.epsilon)
        return least / (1 - belief + least)


PRIOR = 0.05
"""The prior whose largest posterior is told, wherever an amplification is told to people."""

NOTHING = Amplification(0.0)
"""What reveals nothing."""


def composed(amplifications: Iterable[Amplification]) -> Amplification:
    """Return what independent draws reveal together: their epsilons added. None: `NOTHING`."""
    return Amplification(math.fsum(a.epsilon for a in amplifications))


def gamma(channel: Transition) -> float:
    """Return the smallest gamma the channel is at most amplifying for.

    That is the largest ratio, within a column of P, of two entries: how much more likely a report
    is under one possible truth than under another. Infinite where a report rules a truth out.
    Never below 1.

    Raises:
        LimitExceeded: a channel without closed form over too many categories.
    """
    return structure_of(channel).gamma


@singledispatch
def gamma_within_groups(channel: Transition) -> float:
    """Return gamma for someone who already knows the group of the category.

    A grouped channel reports the group truthfully, so its gamma is infinite; Ma 3.1.2 quotes the
    amplification within the groups, which bounds what is learned beyond the group. For any other
    channel this is `gamma`. A group of one category hides nothing that is left to hide: 1.

    Raises:
        LimitExceeded: a channel without closed form over too many categories.
    """
    return gamma(channel)


@gamma_within_groups.register
def _(channel: Grouped) -> float:
    return max(gamma_within_groups(p) if p is not None else 1.0 for p in channel.channels)


@gamma_within_groups.register
def _(channel: Sampled) -> float:
    return max(gamma_within_groups(c) for c in {choice.channel for choice in channel.choices})


def epsilon(channel: Transition) -> float:
    """Return ln gamma, the local differential privacy parameter of the channel."""
    return Amplification.of(channel).epsilon


def gamma_for_breach(rho_1: float, rho_2: float) -> float:
    """Return the gamma below which no prior of at most `rho_1` can grow to `rho_2`.

    At exactly this gamma a posterior may just reach `rho_2`, which Ma 3.1.2 calls a breach and
    FRAPP 2.1 allows. The same gamma keeps a belief of `rho_2` from falling to `rho_1`.

    Raises:
        OptionError: not 0 < rho_1 < rho_2 < 1.
    """
    if not 0 < rho_1 < rho_2 < 1:
        raise OptionError(
            f"A belief of {rho_1} cannot be breached by growing to {rho_2}.",
            where="rho_2",
            remedy="Give 0 < rho_1 < rho_2 < 1.",
        )
    return rho_2 * (1 - rho_1) / (rho_1 * (1 - rho_2))


# Privacy on average: what is still unknown of the truth once the report is known (Ma 3.1.1).


def conditional_entropy(channel: Transition, prior: npt.ArrayLike | None = None) -> float:
    """Return H(X | X~) in bits: the entropy of the truth left after the report (Ma 3.1.1).

    It is H(X) + H(X~ | X) - H(X~). 2 to its power is the average conditional privacy of Agrawal
    and Aggarwal. An average: single reports may still tell everything.

    Args:
        channel: K true categories.
        prior: K probabilities of the true categories; None: uniform over the possible ones.

    Raises:
        OptionError: the prior does not fit, or is not a probability distribution.
        LimitExceeded: a channel without closed form over too many categories.
    """
    structure = structure_of(channel)
    given = checked_prior(prior, structure.size)
    learned = structure.information(given)
    before = math.log2(structure.size) if given is None else entropy(given)
    return max(0.0, before - learned)


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
