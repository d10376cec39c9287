"""What an attacker with a prior believes, and guesses, after seeing a report.

gamma bounds these for every prior; here they are exact for the one given. A prior is an array of
one probability per true category of the channel, or None for the uniform one over the categories
that can occur. Only reports that can occur under it count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pramana_core.channels import RESOLUTION, RandomSymmetric, Transition
from pramana_core.errors import LimitExceeded
from pramana_core.marginals.counts import Tensor
from pramana_core.privacy.structures.dispatch import structure_of
from pramana_core.privacy.structures.prior import checked_prior, require_belief
from pramana_core.privacy.structures.structure import ChannelStructure

POSTERIOR_CELLS = 1 << 59
"""Posteriors that are all equal are one number seen this many times at most."""


@dataclass(frozen=True)
class AttackerAccuracy:
    """How often the best guess of the truth is right.

    `blind` without the report (the largest prior), `expected` over the reports, `worst` given the
    report that tells most.
    """

    blind: float
    expected: float
    worst: float


def worst_posterior(channel: Transition, prior: npt.ArrayLike | None = None) -> Tensor:
    """Return for each true category the largest posterior any report gives it, shape (K,).

    Read-only where all are equal. Categories that cannot occur have 0.

    Raises:
        OptionError: the prior does not fit, or is not a probability distribution.
        LimitExceeded: a channel without closed form over too many categories.
    """
    structure, given = _asked(channel, prior)
    _, high = structure.extremes(given)
    if structure.size > POSTERIOR_CELLS:
        raise LimitExceeded(
            f"{structure.size} posteriors are too many to list.",
            remedy="Ask for the attacker's accuracy, which holds the largest.",
        )
    return np.broadcast_to(high, (structure.size,))


def attacker_accuracy(channel: Transition, prior: npt.ArrayLike | None = None) -> AttackerAccuracy:
    """Return how often the Bayes guess, the truth of largest posterior, is right.

    Raises:
        OptionError: the prior does not fit, or is not a probability distribution.
        LimitExceeded: a channel without closed form over too many categories.
    """
    structure, given = _asked(channel, prior)
    _, high = structure.extremes(given)
    return AttackerAccuracy(
        blind=float(_explicit(structure, given).max()),
        expected=structure.bayes_mass(given),
        worst=float(high.max()),
    )


def upward_breach(channel: Transition, prior: npt.ArrayLike | None, rho_1: float) -> float:
    """Return the largest posterior of any category whose prior is at most `rho_1` (Ma 3.1.2).

    A rho_1-to-rho_2 breach occurs if it is rho_2 or more. 0 if no category has such a prior.
    Never above `Amplification.of(channel).grown(rho_1)`, which covers every prior and every
    property, not single categories only.

    Raises:
        OptionError: `rho_1` is not between 0 and 1, or the prior is invalid.
        LimitExceeded: a channel without closed form over too many categories.
    """
    require_belief(rho_1, "rho_1")
    structure, given = _asked(channel, prior)
    _, high = structure.extremes(given)
    return float(np.where(_explicit(structure, given) <= rho_1, high, 0.0).max())


def downward_breach(channel: Transition, prior: npt.ArrayLike | None, rho_2: float) -> float:
    """Return the smallest posterior of any category whose prior is at least `rho_2` (Ma 3.1.2).

    A rho_2-to-rho_1 breach occurs if it is rho_1 or less. (Ma prints the posterior of the
    opposite as at least rho_1; Evfimievski et al., whose definition it is, mean 1 - rho_1.)
    1 if no category has such a prior. Never below `Amplification.of(channel).fallen(rho_2)`.

    Raises:
        OptionError: `rho_2` is not between 0 and 1, or the prior is invalid.
        LimitExceeded: a channel without closed form over too many categories.
    """
    require_belief(rho_2, "rho_2")
    structure, given = _asked(channel, prior)
    low, _ = structure.extremes(given)
    return float(np.where(_explicit(structure, given) >= rho_2, low, 1.0).min())


def posterior_range(channel: RandomSymmetric, prior_of_property: float) -> tuple[float, float]:
    """Return the smallest and the largest posterior of a property under RAN-GD (FRAPP 4.1).

    The matrix of a record is drawn and not published, so that its worst-case posterior is known
    only to lie in this range, as likely above that of the expected matrix as below it. With
    gamma x + r on the diagonal, x - r / (n - 1) elsewhere and P the prior of the property it is

        rho_2(r) = P (gamma x + r) / (P (gamma x + r) + (1 - P) (x - r / (n - 1)))

    at r = -alpha and alpha. (FRAPP prints P gamma x + r in the numerator.)

    Raises:
        OptionError: `prior_of_property` is not strictly between 0 and 1.
    """
    require_belief(prior_of_property, "prior_of_property")
    low, high = (
        _posterior_at(channel, channel.off_units + spread, prior_of_property)
        for spread in (channel.spread_units, -channel.spread_units)
    )
    return low, high


def _asked(
    channel: Transition, prior: npt.ArrayLike | None
) -> tuple[ChannelStructure, Tensor | None]:
    structure = structure_of(channel)
    return structure, checked_prior(prior, structure.size)


def _explicit(structure: ChannelStructure, prior: Tensor | None) -> Tensor:
    return structure.uniform() if prior is None else prior


def _posterior_at(channel: RandomSymmetric, off_units: int, prior: float) -> float:
    keep_units = RESOLUTION - (channel.size - 1) * off_units
    told = prior * keep_units
    return told / (told + (1 - prior) * off_units)
