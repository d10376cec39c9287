"""The accuracy cost of a channel, computed without data or a prior."""

from __future__ import annotations

import math

import numpy as np

from pramana_core.channels import RESOLUTION, SubsetSelection, Transition
from pramana_core.errors import LimitExceeded, OptionError
from pramana_core.marginals.counts import Tensor
from pramana_core.plan import Block


def largest_proportion_se(block: Block, name: str, records: int) -> float:
    """Return the largest standard error of a variable's estimated proportions, over its categories.

    The error is that of the moment estimate against the population, maximized exactly over all
    categories and true distributions of the block's variables. For category j the variance is
    (sum_l theta_l M[j, l] - theta_j^2) / N, where M[j, l] is the second moment of the estimator of
    category j for a record with true category l. For each theta_j, the worst distribution puts the
    remaining probability on the other category with the largest M[j, l]; the variance is then a
    concave function of theta_j. If a sampled block reports subsets, the estimates from its sets are
    pooled, with the mean of M over their categories.

    Raises:
        OptionError: `records` is not positive.
        SingularChannel: the channel has no inverse.
        UnknownVariable: the block has no such variable.
        LimitExceeded: the channel has too many categories and no closed form.
    """
    if records < 1:
        raise OptionError(f"records must be at least 1, not {records}.", where="records")
    restricted = block.restrict([name])
    if restricted is not None and (mixture := restricted.inverse_mixture) is not None:
        return math.sqrt(_largest_of_mixture(*mixture) / records)
    if restricted is None and any(choice.channel.tags for choice in block.channel.choices):
        return math.sqrt(_pooled_variance(block, name) / records)
    decoder, channel = _decoder(block, name, restricted)
    moments = channel.apply_adjoint(np.square(decoder).T, 0).T
    axis, shape = block.names.index(name), tuple(v.size for v in block.variables)
    truths = np.arange(moments.shape[1])
    category = truths if len(truths) == shape[axis] else np.unravel_index(truths, shape)[axis]
    worst = 0.0
    for j, row in enumerate(moments):
        inside, outside = row[category == j], row[category != j]
        if inside.size and outside.size:
            worst = max(worst, _worst_mix(float(inside.max()), float(outside.max())))
    return math.sqrt(worst / records)


def _pooled_variance(block: Block, name: str) -> float:
    """Return the largest variance of one record's estimate, pooled over a block's sets."""
    axis, precision = block.names.index(name), 0.0
    cells = block.variables[axis].size
    for choice in block.channel.choices:
        if axis not in choice.axes:
            continue
        sizes = [block.variables[place].size for place in choice.axes]
        kept = [place == axis for place in choice.axes]
        if isinstance(choice.channel, SubsetSelection):
            c, d = choice.channel.margin_noise(sizes, kept)
            k = (1 - c) / cells
            outside = d - (d + k) / cells
            worst = _worst_mix(outside + c + 2 * k, outside)
        else:
            alone = choice.channel.restrict(sizes, kept)
            mixture = None if alone is None else alone.inverse_mixture
            if mixture is None:
                raise LimitExceeded(
                    f"The error of {name!r} in some of the sets has no closed form."
                )
            worst = _largest_of_mixture(*mixture)
        precision += choice.weight / RESOLUTION / worst
    return 1 / precision


def _largest_of_mixture(a: float, b: float) -> float:
    """Return the largest variance if P^-1 = a I + b 11'; an estimator's values are a + b and b."""
    # P = spread I + off 11' and P^-1 = a I + b 11' are inverse: spread = 1 / a, off = -b / a.
    off = -b / a
    keep = 1 / a + off
    hit, miss = (a + b) ** 2, b**2
    return _worst_mix(keep * hit + (1 - keep) * miss, off * hit + (1 - off) * miss)


def _worst_mix(inside: float, outside: float) -> float:
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
