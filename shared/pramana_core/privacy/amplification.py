"""gamma-amplification and what it guarantees whatever the prior (Ma 3.1.2, FRAPP 2.1).

An `Amplification` holds epsilon, the logarithm of gamma: epsilons of independent draws add, and
their sum is a number where the product of the gammas is beyond all numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from pramana_core.channels import Transition
from pramana_core.errors import OptionError
from pramana_core.plan import Block
from pramana_core.privacy.reports import gamma


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
        """Both numbers in words."""
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
"""The prior whose largest posterior is shown wherever people read an amplification."""

NOTHING = Amplification(0.0)
"""What reveals nothing."""


def composed(amplifications: Iterable[Amplification]) -> Amplification:
    """Return what independent draws reveal together: their epsilons added. None: `NOTHING`."""
    return Amplification(math.fsum(a.epsilon for a in amplifications))


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
