"""What an attacker with a prior believes, and guesses, after seeing a report.

gamma bounds these for every prior; here they are exact for the one given. A prior is an array of
one probability per true category of the channel, or None for the uniform one over the categories
that can occur. Only reports that can occur under it count.

Also here:

* What a channel costs in accuracy, with no data and no prior needed.
* Probabilistic K-anonymity: how many truths a report leaves plausible (Ma 3.1.3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pramana_core.channels import RESOLUTION, RandomSymmetric, Transition
from pramana_core.errors import LimitExceeded, OptionError
from pramana_core.marginals.counts import Tensor
from pramana_core.plan import Block
from pramana_core.privacy.structures import (
    ChannelStructure,
    checked_prior,
    require_belief,
    structure_of,
)

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
    return np.array([1 / structure.size]) if prior is None else prior


def _posterior_at(channel: RandomSymmetric, off_units: int, prior: float) -> float:
    keep_units = RESOLUTION - (channel.size - 1) * off_units
    kept = prior * keep_units
    return kept / (kept + (1 - prior) * off_units)


# What a channel costs in accuracy, with no data and no prior needed.


def largest_proportion_se(block: Block, name: str, records: int) -> float:
    """Return the largest standard error of an estimated proportion of any category of a variable.

    The error is that of the moment estimate against the population the records were drawn from.
    The maximum is exact, over all categories and all possible true distributions of the block's
    variables: the variance (sum_l theta_l M[j, l] - theta_j^2) / N, with M the second moments of
    the estimator of category j given truth l, is concave in theta_j with the rest on the worst
    truth.

    Raises:
        OptionError: `records` is not positive.
        SingularChannel: the channel has no inverse.
        UnknownVariable: the block has no such variable.
        LimitExceeded: a channel without closed form over too many categories.
    """
    if records < 1:
        raise OptionError(f"records must be at least 1, not {records}.", where="records")
    restricted = block.restrict([name])
    if restricted is not None and (mixture := restricted.inverse_mixture) is not None:
        return math.sqrt(_largest_of_mixture(*mixture) / records)
    decoder, channel = _decoder(block, name, restricted)
    moments = channel.apply_adjoint(np.square(decoder).T, 0).T
    category = _category_of_truth(block, name, moments.shape[1])
    worst = 0.0
    for j, row in enumerate(moments):
        inside, outside = row[category == j], row[category != j]
        if inside.size and outside.size:
            worst = max(worst, _worst_mix(float(inside.max()), float(outside.max())))
    return math.sqrt(worst / records)


def _largest_of_mixture(a: float, b: float) -> float:
    """The estimator of a category is a + b where it is reported and b elsewhere: no list needed."""
    # P = spread I + off 11' and P^-1 = a I + b 11' are inverse: spread = 1 / a, off = -b / a.
    off = -b / a
    keep = 1 / a + off
    hit, miss = (a + b) ** 2, b**2
    return _worst_mix(keep * hit + (1 - keep) * miss, off * hit + (1 - off) * miss)


def _worst_mix(inside: float, outside: float) -> float:
    """Return the largest variance over the share t of a category, the rest on the worst other."""
    t = min(1.0, max(0.0, (inside - outside) / 2))
    return t * inside + (1 - t) * outside - t**2


def _decoder(block: Block, name: str, restricted: Transition | None) -> tuple[Tensor, Transition]:
    """Return the estimator of each category of a variable as a function of the block's report."""
    if restricted is not None:
        return restricted.decoder(), restricted
    shape = tuple(v.size for v in block.variables)
    dropped = tuple(axis for axis, v in enumerate(block.variables) if v.name != name)
    decoder = block.channel.decoder()
    summed: Tensor = decoder.reshape(*shape, -1).sum(axis=dropped)
    return summed, block.channel


def _category_of_truth(block: Block, name: str, truths: int) -> npt.NDArray[np.intp]:
    axis = block.names.index(name)
    shape = tuple(v.size for v in block.variables)
    if truths == shape[axis]:
        return np.arange(truths)
    return np.unravel_index(np.arange(truths), shape)[axis]


# Probabilistic K-anonymity: how many truths a report leaves plausible (Ma 3.1.3).


@dataclass(frozen=True)
class KAnonymity:
    """Ma's pair (K_p, Dist_K), and the divergence of the report that is protected worst.

    `categories` is K_p. `least_divergence` is Dist_K: the divergence, in bits, of the posterior
    from the uniform distribution over the categories a report leaves plausible, **smallest** over
    the reports; it is that of the best-protected report. `worst_divergence` is the largest, the
    one to judge a channel by: log2 K_p bits would be certainty.
    """

    categories: int
    least_divergence: float
    worst_divergence: float


def k_anonymity(
    channel: Transition, prior: npt.ArrayLike | None = None, threshold: float = 0.0
) -> KAnonymity:
    """Return the probabilistic K-anonymity of a channel under a prior (Ma 3.1.3).

    A category is plausible after a report if its posterior is above `threshold`. Ma's definition
    has 0, by which hardly possible categories count in full; Ma 8 (b) asks for a larger one. The
    posterior is divided by what is left of it before it is compared with the uniform.

    Args:
        channel: K true categories.
        prior: K probabilities of the true categories; None: uniform over the possible ones.
        threshold: a posterior, at least 0 and below 1.

    Raises:
        OptionError: the prior is invalid, `threshold` is outside its range, or it is so large that
            some report leaves nothing plausible.
        LimitExceeded: a channel without closed form over too many categories.
    """
    if not 0 <= threshold < 1:
        raise OptionError(
            f"threshold must be at least 0 and below 1, not {threshold}.",
            where="threshold",
            remedy="Give a small probability, such as 0.01; 0 counts every possible category.",
        )
    structure = structure_of(channel)
    found = structure.plausible(checked_prior(prior, structure.size), threshold)
    if found.fewest == 0:
        raise OptionError(
            f"After some report no category has a posterior above {threshold}.",
            where="threshold",
            remedy="Lower the threshold: it must be below the largest posterior of each report.",
        )
    return KAnonymity(found.fewest, found.least, found.most)
