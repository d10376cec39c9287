"""gamma-amplification and what it guarantees whatever the prior (Ma 3.1.2, FRAPP 2.1).

gamma is the worst case over priors and reports; epsilon is its logarithm, so that losses of
independent releases add.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import singledispatch

from shared.errors import OptionError
from shared.plan import Block
from shared.privacy.dispatch import structure_of
from shared.privacy.prior import require_belief
from shared.transition import Grouped, Sampled, Transition


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
    return math.log(gamma(channel))


def simultaneous_gamma(independent: Iterable[Block | Transition]) -> float:
    """Return gamma for all variables of several independent blocks at once (Ma 7.1.3).

    It is the product of the blocks' own, because each can be at its worst together with the
    others. Variables randomized together by one channel have that channel's `gamma`. No blocks: 1.
    Infinite above 1.8e308 too; `simultaneous_epsilon` has no such end.
    """
    return math.prod(gamma(channel) for channel in _channels(independent))


def simultaneous_epsilon(independent: Iterable[Block | Transition]) -> float:
    """Return ln `simultaneous_gamma`: the sum of the blocks' epsilons. No blocks: 0."""
    return math.fsum(epsilon(channel) for channel in _channels(independent))


def posterior_bound(amplification: float, prior: float) -> float:
    """Return rho_2, the largest posterior a prior of rho_1 can grow to (Ma 3.1.2).

    rho_2 (1 - rho_1) / (rho_1 (1 - rho_2)) = gamma.

    Raises:
        OptionError: `prior` is not strictly between 0 and 1, or `amplification` is below 1.
    """
    _require_amplification(amplification)
    require_belief(prior, "prior")
    return 1.0 if math.isinf(amplification) else _shift_odds(prior, amplification)


def prior_bound(amplification: float, rho_2: float) -> float:
    """Return rho_1, the prior below which no posterior reaches `rho_2` (the other way round).

    Infinite gamma protects no prior at all: 0.

    Raises:
        OptionError: `rho_2` is not strictly between 0 and 1, or `amplification` is below 1.
    """
    _require_amplification(amplification)
    require_belief(rho_2, "rho_2")
    return _shift_odds(rho_2, 1 / amplification)


def gamma_for_breach(rho_1: float, rho_2: float) -> float:
    """Return the gamma below which no prior of at most `rho_1` can grow to `rho_2`.

    At exactly this gamma a posterior may just reach `rho_2`, which Ma 3.1.2 calls a breach and
    FRAPP 2.1 allows. The same gamma keeps a belief of `rho_2` from falling to `rho_1`.

    Raises:
        OptionError: not 0 < rho_1 < rho_2 < 1.
    """
    if not 0 < rho_1 < rho_2 < 1:
        raise OptionError(
            f"A breach from {rho_1} to {rho_2} is none.",
            where="rho_2",
            remedy="Give 0 < rho_1 < rho_2 < 1.",
        )
    return rho_2 * (1 - rho_1) / (rho_1 * (1 - rho_2))


def downward_bound(amplification: float, belief: float) -> float:
    """Return how low a belief of rho_2 can fall (the downward breach of Ma 3.1.2).

    It is the largest growth of the opposite belief, 1 - rho_2. Infinite gamma: to 0.

    Raises:
        OptionError: `belief` is not strictly between 0 and 1, or `amplification` is below 1.
    """
    _require_amplification(amplification)
    require_belief(belief, "belief")
    return _shift_odds(belief, 1 / amplification)


def _channels(independent: Iterable[Block | Transition]) -> Iterator[Transition]:
    return (b.channel if isinstance(b, Block) else b for b in independent)


def _shift_odds(probability: float, factor: float) -> float:
    """Return the probability whose odds are `factor` times those of another."""
    return factor * probability / (1 - probability + factor * probability)


def _require_amplification(amplification: float) -> None:
    if not amplification >= 1:
        raise OptionError(
            f"An amplification of {amplification} is below 1.",
            where="gamma",
            remedy="Give gamma of 1 or more; 1 reveals nothing.",
        )
