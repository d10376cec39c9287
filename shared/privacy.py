"""What a channel reveals and what it costs in accuracy, with no data and no prior needed.

gamma-amplification is the worst case over priors and reports (Ma 3.1.2, FRAPP 2.1); epsilon is its
logarithm, so that losses of independent releases add.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from shared.counts import Tensor
from shared.errors import OptionError
from shared.plan import Block
from shared.transition import Grouped, Identity, Symmetric, Transition


def gamma(channel: Transition) -> float:
    """Return the smallest gamma the channel is at most amplifying for.

    That is the largest ratio, within a column of P, of two entries: how much more likely a report
    is under one truth than under another. Infinite where a report rules a truth out. Never below
    1.
    """
    if isinstance(channel, Identity):
        return math.inf
    if isinstance(channel, Symmetric):
        return _ratio(channel.keep_units, channel.off_units)
    units = channel.units()
    possible = units[:, units.max(axis=0) > 0]
    return max(
        _ratio(int(high), int(low))
        for high, low in zip(possible.max(axis=0), possible.min(axis=0), strict=True)
    )


def gamma_within_groups(channel: Transition) -> float:
    """Return gamma for someone who already knows the group of the category.

    A grouped channel reports the group truthfully, so its gamma is infinite; Ma 3.1.2 quotes the
    amplification within the groups, which bounds what is learned beyond the group. For any other
    channel this is `gamma`. A group of one category hides nothing that is left to hide: 1.
    """
    if isinstance(channel, Grouped):
        return max(gamma(part) if part is not None else 1.0 for part in channel.channels)
    return gamma(channel)


def epsilon(channel: Transition) -> float:
    """Return ln gamma, the local differential privacy parameter of the channel."""
    return math.log(gamma(channel))


def posterior_bound(amplification: float, prior: float) -> float:
    """Return rho_2, the largest posterior a prior of rho_1 can grow to (Ma 3.1.2).

    rho_2 (1 - rho_1) / (rho_1 (1 - rho_2)) = gamma.

    Raises:
        OptionError: `prior` is not strictly between 0 and 1, or `amplification` is below 1.
    """
    if not 0 < prior < 1:
        raise OptionError(f"A prior of {prior} is not between 0 and 1.", where="prior")
    if not amplification >= 1:
        raise OptionError(f"An amplification of {amplification} is below 1.", where="gamma")
    if math.isinf(amplification):
        return 1.0
    return amplification * prior / (1 - prior + amplification * prior)


def largest_proportion_se(block: Block, name: str, records: int) -> float:
    """Return the largest standard error of an estimated proportion of any category of a variable.

    The error is that of the moment estimate against the population the records were drawn from.
    The maximum is exact, over all categories and all true distributions of the block's variables:
    the variance (sum_l theta_l M[j, l] - theta_j^2) / N, with M the second moments of the
    estimator of category j given truth l, is concave in theta_j with the rest on the worst truth.

    Raises:
        OptionError: `records` is not positive.
        SingularChannel: the channel has no inverse.
        UnknownVariable: the block has no such variable.
    """
    if records < 1:
        raise OptionError(f"There are {records} records; one or more are needed.", where="records")
    decoder, channel = _decoder(block, name)
    moments = channel.apply_adjoint(np.square(decoder).T, 0).T
    category = _category_of_truth(block, name, moments.shape[1])
    worst = 0.0
    for j, row in enumerate(moments):
        # The worst mixture: a share t on the worst truth inside category j, the rest outside it.
        inside, outside = float(row[category == j].max()), float(row[category != j].max())
        share = min(1.0, max(0.0, (inside - outside) / 2))
        worst = max(worst, share * inside + (1 - share) * outside - share**2)
    return math.sqrt(worst / records)


def _decoder(block: Block, name: str) -> tuple[Tensor, Transition]:
    """Return the estimator of each category of a variable as a function of the block's report."""
    restricted = block.restrict([name])
    if restricted is not None:
        return restricted.inverse().T, restricted
    shape = tuple(v.size for v in block.variables)
    dropped = tuple(axis for axis, v in enumerate(block.variables) if v.name != name)
    inverse = block.channel.inverse().T
    summed: Tensor = inverse.reshape(*shape, -1).sum(axis=dropped)
    return summed, block.channel


def _category_of_truth(block: Block, name: str, truths: int) -> npt.NDArray[np.intp]:
    axis = block.names.index(name)
    shape = tuple(v.size for v in block.variables)
    if truths == shape[axis]:
        return np.arange(truths)
    return np.unravel_index(np.arange(truths), shape)[axis]


def _ratio(a: int, b: int) -> float:
    high, low = max(a, b), min(a, b)
    return high / low if low else math.inf
