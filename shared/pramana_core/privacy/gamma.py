"""Gamma of a channel, a record and a release, and the guarantees that it gives for every prior.

A channel is amplifying with gamma if no report is more than gamma times as probable under one true
category as under another (Ma 3.1.2, FRAPP 2.1). `gamma` is for one channel; `record_loss` is for
everything that a plan releases about a record. An `Amplification` stores epsilon, the logarithm of
gamma. Epsilons of independent draws add, and their sum stays finite where gammas overflow.
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
from pramana_core.rounding import rounded_up


@singledispatch
def gamma(channel: Part) -> float:
    """Return the smallest gamma for which the channel is amplifying (Ma 3.1.2).

    This is the largest ratio of two entries in a column of P, at least 1. It is infinite if a
    report excludes a category.

    Raises:
        LimitExceeded: the channel has too many categories and no closed form.
    """
    if channel.exact_mixture is not None:
        # A secret matrix per record (RAN-GD) counts as the expected matrix.
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
    # The draws are independent, so all can be at their worst at once (Ma 7.1.3).
    return math.prod(map(gamma, channel.channels))


@gamma.register
def _(channel: Sampled) -> float:
    # Thousands of choices share one or two channels.
    return max(map(gamma, {part for _, _, part in parts_of(channel)}))


@singledispatch
def gamma_within_groups(channel: Transition) -> float:
    """Return gamma for an attacker who already knows the group of the category.

    A grouped channel reports the group truthfully, so its gamma is infinite; Ma 3.1.2 uses the
    gamma within the groups instead. For any other channel the result is that of `gamma`, which may
    raise LimitExceeded.
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
    """Channels of one set of variables whose reports do not show which channel was used."""

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


def parts_of(channel: Sampled) -> list[tuple[tuple[int, ...], int, Part]]:
    """Return the axes, the weight (times 2^32) and the channel of each part of a channel.

    A report reveals the part that it comes from. Choices of the same variables are one part, except
    that reports of subsets are a part of their own. In a coordinated channel every choice is a
    part, because the coin reveals the choice.
    """
    groups: dict[object, list[Choice]] = {}
    for choice in channel.choices:
        shown = isinstance(channel, Coordinated) or choice.channel.tags
        key = (choice.axes, choice.channel if shown else None)
        groups.setdefault(key, []).append(choice)
    return [
        (
            group[0].axes,
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
            f"The disclosure by a {true} x {reported} channel has no closed form, and its matrix"
            f" is too large to list; the limit is {LISTED_ENTRIES} entries.",
            where="channel",
            remedy="Use a symmetric, mixture or grouped channel, or randomize fewer variables"
            " together.",
        )
    matrix: Tensor = channel.matrix()
    return matrix


@dataclass(frozen=True, order=True)
class Amplification:
    """A bound on the change of odds that reports can cause.

    The odds of any statement change by at most the factor gamma = e^epsilon, under every prior.

    Raises:
        OptionError: `epsilon` is negative or not a number.
    """

    epsilon: float

    def __post_init__(self) -> None:
        if not self.epsilon >= 0:
            raise OptionError(
                f"epsilon must be at least 0, not {self.epsilon}.",
                where="epsilon",
                remedy="Give 0 or more; an epsilon of 0 reveals nothing.",
            )

    @classmethod
    def of(cls, channel: Transition) -> Self:
        """Return the amplification of one report. Raises LimitExceeded, see `gamma`."""
        return cls(math.log(gamma(channel)))

    @classmethod
    def of_gamma(cls, gamma: float) -> Self:
        """Return the amplification with the given gamma. Raises OptionError if it is below 1."""
        if not gamma >= 1:
            raise OptionError(
                f"gamma must be at least 1, not {gamma}.",
                where="gamma",
                remedy="Give 1 or more; a gamma of 1 reveals nothing.",
            )
        return cls(math.log(gamma))

    @classmethod
    def together(cls, independent: Iterable[Block | Transition]) -> Self:
        """Return the amplification of one record by all its independent blocks (Ma 7.1.3).

        Gammas multiply, because every block may send its most revealing report. Without blocks
        nothing is revealed. Raises LimitExceeded, see `gamma`.
        """
        channels = (b.channel if isinstance(b, Block) else b for b in independent)
        return cls(math.fsum(cls.of(channel).epsilon for channel in channels))

    def __add__(self, other: Amplification) -> Amplification:
        """Return the joint amplification of two independent draws."""
        return Amplification(self.epsilon + other.epsilon)

    @property
    def gamma(self) -> float:
        """e^epsilon, to the 13 digits that a logarithm preserves; infinite above 1.8e308."""
        try:
            return float(f"{math.exp(self.epsilon):.13g}")
        except OverflowError:
            return math.inf

    @property
    def written_gamma(self) -> str:
        """Gamma, rounded up to four digits; `>1e308` if it is finite but too large for a float."""
        if math.isfinite(self.gamma):
            return rounded_up(self.gamma)
        return ">1e308" if math.isfinite(self.epsilon) else "∞"

    @property
    def told(self) -> str:
        """Gamma and epsilon as text."""
        epsilon = rounded_up(self.epsilon) if math.isfinite(self.epsilon) else "∞"
        return f"gamma {self.written_gamma}, epsilon {epsilon}"

    def grown(self, prior: float) -> float:
        """Return rho_2, the largest posterior for a prior of rho_1 (Ma 3.1.2).

        It solves rho_2 (1 - rho_1) / (rho_1 (1 - rho_2)) = gamma. Raises OptionError unless `prior`
        is strictly between 0 and 1.
        """
        require_belief(prior, "prior")
        return prior / (prior + (1 - prior) * math.exp(-self.epsilon))

    def fallen(self, belief: float) -> float:
        """Return the lowest posterior for a prior of `belief` (the downward breach of Ma 3.1.2).

        It equals the largest prior that cannot grow beyond `belief`, and is 0 if gamma is infinite.
        Raises OptionError unless `belief` is strictly between 0 and 1.
        """
        require_belief(belief, "belief")
        least = belief * math.exp(-self.epsilon)
        return least / (1 - belief + least)


PRIOR = 0.05
"""The prior for which reports state the largest posterior."""

NOTHING = Amplification(0.0)
"""The amplification of a report that reveals nothing."""


def composed(amplifications: Iterable[Amplification]) -> Amplification:
    """Return the joint amplification of independent draws: their epsilons add."""
    return Amplification(math.fsum(a.epsilon for a in amplifications))


def record_loss(plan: Plan) -> Amplification:
    """Return a record's loss by a release, over all randomized blocks of its plan.

    Public variables are ignored if others are randomized; if all are public, the loss is infinite.
    """
    noisy = [b for b in plan.blocks if not (b.channel.is_identity or b.channel.withheld)]
    if not noisy and any(block.channel.is_identity for block in plan.blocks):
        return Amplification(math.inf)
    return composed(Amplification.of(block.channel) for block in noisy)


def epsilon(channel: Transition) -> float:
    """Return ln gamma, the channel's local differential privacy parameter."""
    return Amplification.of(channel).epsilon


def gamma_for_breach(rho_1: float, rho_2: float) -> float:
    """Return the gamma below which no prior of `rho_1` or less can grow to `rho_2`.

    At exactly this gamma a posterior may reach `rho_2`, which Ma 3.1.2 counts as a breach and FRAPP
    2.1 does not. The same gamma prevents a belief of `rho_2` from falling to `rho_1`.

    Raises:
        OptionError: 0 < rho_1 < rho_2 < 1 is violated.
    """
    if not 0 < rho_1 < rho_2 < 1:
        raise OptionError(
            f"A belief of {rho_1} cannot grow to {rho_2}: both must be between 0 and 1, and the"
            " first must be smaller.",
            where="rho_2",
            remedy="Give 0 < rho_1 < rho_2 < 1.",
        )
    return rho_2 * (1 - rho_1) / (rho_1 * (1 - rho_2))


def require_belief(probability: float, where: str) -> None:
    """Check that a probability is strictly between 0 and 1. Raises OptionError."""
    if not 0 < probability < 1:
        raise OptionError(
            f"The {where.replace('_', ' ')} of {probability} is not strictly between 0 and 1.",
            where=where,
            remedy="Give a probability above 0 and below 1.",
        )
