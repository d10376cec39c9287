"""The gamma of a channel, of a record and of a release, and what it guarantees for every prior.

A channel is amplifying with gamma if no report is more than gamma times likelier under one truth
than under another (Ma 3.1.2, FRAPP 2.1). `gamma` is that of one channel; `record_loss` that of all
that a plan releases about a record. An `Amplification` holds epsilon, the logarithm of gamma:
epsilons of independent draws add, and their sum is finite where the product of the gammas is not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import Self

import numpy as np

from pramana_core.channels import (
    LISTED_ENTRIES,
    Choice,
    Coordinated,
    Grouped,
    Product,
    Sampled,
    Transition,
)
from pramana_core.errors import LimitExceeded, OptionError
from pramana_core.marginals.counts import Tensor
from pramana_core.plan import Block, Plan


@singledispatch
def gamma(channel: Part) -> float:
    """Return the smallest gamma for which the channel is amplifying (Ma 3.1.2).

    That is the largest ratio of two entries of a column of P. Infinite where a report rules a truth
    out, and never below 1.

    Raises:
        LimitExceeded: a channel without closed form over too many categories.
    """
    if channel.exact_mixture is not None:
        # A matrix drawn per record (RAN-GD) counts as the expected one: nobody else sees the draw.
        low, high = sorted(channel.exact_mixture)
        return float(high / low) if low else math.inf
    if channel.amplification is not None:
        return channel.amplification
    matrix = listed_matrix(channel)
    seen = matrix[:, matrix.max(axis=0) > 0]
    high, low = seen.max(axis=0), seen.min(axis=0)
    return math.inf if np.any(low == 0) else float((high / low).max(initial=1.0))


@gamma.register
def _(channel: Grouped) -> float:
    (part, *others) = channel.channels
    if others:
        return math.inf
    return 1.0 if part is None else gamma(part)


@gamma.register
def _(channel: Product) -> float:
    # Independent draws: each can be at its worst together with the others (Ma 7.1.3).
    return math.prod(map(gamma, channel.channels))


@gamma.register
def _(channel: Sampled) -> float:
    # Thousands of choices share a channel or two.
    return max(map(gamma, {part for _, part in parts_of(channel)}))


@singledispatch
def gamma_within_groups(channel: Transition) -> float:
    """Return gamma for someone who already knows the group of the category.

    A grouped channel reports the group truthfully, so its gamma is infinite; Ma 3.1.2 quotes the
    amplification within the groups. For any other channel this is `gamma`, and raises what it does.
    """
    return gamma(channel)


@gamma_within_groups.register
def _(channel: Grouped) -> float:
    return max(gamma_within_groups(p) if p is not None else 1.0 for p in channel.channels)


@gamma_within_groups.register
def _(channel: Sampled) -> float:
    return max(map(gamma_within_groups, {choice.channel for choice in channel.choices}))


@dataclass(frozen=True)
class Blend:
    """Channels of one set of variables where a report does not show which was used."""

    choices: tuple[Choice, ...]
    amplification = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.choices[0].channel.shape

    @property
    def _shares(self) -> list[tuple[Fraction, Transition]]:
        total = sum(choice.weight for choice in self.choices)
        return [(Fraction(choice.weight, total), choice.channel) for choice in self.choices]

    @property
    def exact_mixture(self) -> tuple[Fraction, Fraction] | None:
        known = [(s, m) for s, c in self._shares if (m := c.exact_mixture) is not None]
        if len(known) < len(self.choices):
            return None
        keep, off = (sum((s * m[i] for s, m in known), Fraction(0)) for i in (0, 1))
        return keep, off

    def matrix(self) -> Tensor:
        return np.asarray(sum(float(s) * c.matrix() for s, c in self._shares))


Part = Transition | Blend


def parts_of(channel: Sampled) -> list[tuple[int, Part]]:
    """Return the weight of 2^32 and the channel of each part that a report distinguishes.

    Choices of the same variables are one part, except in a coordinated channel, whose coin shows
    the choice.
    """
    groups: dict[object, list[Choice]] = {}
    for choice in channel.choices:
        shown = isinstance(channel, Coordinated) or choice.channel.tags
        key = (choice.axes, choice.channel if shown else None)
        groups.setdefault(key, []).append(choice)
    return [
        (
            sum(choice.weight for choice in group),
            group[0].channel
            if all(choice.channel == group[0].channel for choice in group)
            else Blend(tuple(group)),
        )
        for group in groups.values()
    ]


def listed_matrix(channel: Part) -> Tensor:
    """Return the matrix of a channel. Raises LimitExceeded above `LISTED_ENTRIES` entries."""
    true, reported = channel.shape
    if true * reported > LISTED_ENTRIES:
        raise LimitExceeded(
            f"What a {true} x {reported} channel without closed form reveals would need its whole"
            f" matrix; at most {LISTED_ENTRIES} entries are listed.",
            where="channel",
            remedy="Use a symmetric, mixture or grouped channel, or randomize fewer variables"
            " together.",
        )
    matrix: Tensor = channel.matrix()
    return matrix


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

        Gammas multiply, because each block can be at its worst together with the others. No blocks
        reveal nothing. Raises LimitExceeded, see `gamma`.
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
        """Gamma with four digits; `>1e308` where it is finite and too large for a float."""
        if math.isfinite(self.gamma):
            return f"{self.gamma:.4g}"
        return ">1e308" if math.isfinite(self.epsilon) else "∞"

    @property
    def told(self) -> str:
        """Both numbers in words."""
        epsilon = f"{self.epsilon:.4g}" if math.isfinite(self.epsilon) else "∞"
        return f"gamma {self.written_gamma}, epsilon {epsilon}"

    def grown(self, prior: float) -> float:
        """Return rho_2, the largest posterior that a prior of rho_1 can grow to (Ma 3.1.2).

        rho_2 (1 - rho_1) / (rho_1 (1 - rho_2)) = gamma. Raises OptionError unless `prior` is
        strictly between 0 and 1.
        """
        require_belief(prior, "prior")
        return prior / (prior + (1 - prior) * math.exp(-self.epsilon))

    def fallen(self, belief: float) -> float:
        """Return how low a belief of rho_2 can fall (the downward breach of Ma 3.1.2).

        It is also rho_1, the largest prior that cannot grow beyond `belief`: 0 if gamma is
        infinite. Raises OptionError unless `belief` is strictly between 0 and 1.
        """
        require_belief(belief, "belief")
        least = belief * math.exp(-self.epsilon)
        return least / (1 - belief + least)


PRIOR = 0.05
"""The prior whose largest posterior is shown wherever people read an amplification."""

NOTHING = Amplification(0.0)
"""The amplification of what reveals nothing."""


def composed(amplifications: Iterable[Amplification]) -> Amplification:
    """Return what independent draws reveal together: their epsilons added."""
    return Amplification(math.fsum(a.epsilon for a in amplifications))


def record_loss(plan: Plan) -> Amplification:
    """Return the loss of a whole record by a release, over all randomized blocks of its plan.

    Public variables count in no epsilon where others are randomized; infinite if all are public.
    """
    noisy = [b for b in plan.blocks if not (b.channel.is_identity or b.channel.withheld)]
    if not noisy and any(block.channel.is_identity for block in plan.blocks):
        return Amplification(math.inf)
    return composed(Amplification.of(block.channel) for block in noisy)


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


def require_belief(probability: float, where: str) -> None:
    """Raise OptionError unless a probability is strictly between 0 and 1."""
    if not 0 < probability < 1:
        raise OptionError(
            f"A {where.replace('_', ' ')} of {probability} is not between 0 and 1.",
            where=where,
            remedy="Give a probability above 0 and below 1.",
        )
