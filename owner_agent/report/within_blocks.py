"""What the report of a whole block says about one of its variables.

Who sees a joint report sees more than the variable's own part of it: the other parts may tell
whether the record was kept, and a sampled report tells which part was chosen. Averaging over the
beliefs about the other variables gives a channel from this variable's truth to the block's report,
of which every measure can be asked. The beliefs about different variables are independent.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Sequence
from functools import reduce

import numpy as np

from owner_agent.report.curves import Priors
from pramana_core.channels import (
    RESOLUTION,
    Choice,
    Listed,
    Transition,
)
from pramana_core.errors import LimitExceeded, OptionError
from pramana_core.marginals.counts import Tensor
from pramana_core.plan import Block

SEEN_ENTRIES = 1 << 22
"""A joint matrix with more entries is not listed for a report."""

JOINT_CELLS = 1 << 20
"""A joint prior over more combinations is not listed."""

Beliefs = Sequence[Tensor | None]
"""The prior of each variable of a block; None is uniform."""


def seen(block: Block, name: str, priors: Priors) -> tuple[Transition, Tensor | None]:
    """Return the channel from a variable to its block's report, and the variable's prior.

    The prior is None where it is uniform over all categories. Where combinations are impossible it
    is the prior given that the combination is possible, uniform if none was given.

    Raises:
        LimitExceeded: the block's channel is too large to list and has no structure that helps.
        OptionError: only combinations that cannot occur are believed possible.
    """
    beliefs = [_belief(priors, v.name) for v in block.variables]
    axis = block.names.index(name)
    if len(beliefs) == 1:
        return block.channel, joint_prior(block, priors)
    sizes = tuple(v.size for v in block.variables)
    if _all_possible(block.channel):
        return Listed(_averaged(block.channel, sizes, beliefs, axis)), beliefs[axis]
    matrix, marginal = _listed(block.channel, sizes, beliefs, axis)
    return Listed(matrix), marginal


def joint_prior(block: Block, priors: Priors) -> Tensor | None:
    """Return the prior over a block's combinations, shape (K,); None is uniform.

    Raises:
        LimitExceeded: there are too many combinations to list.
        OptionError: only combinations that cannot occur are believed possible.
    """
    beliefs = [_belief(priors, v.name) for v in block.variables]
    if all(belief is None for belief in beliefs):
        return None
    sizes = tuple(v.size for v in block.variables)
    if math.prod(sizes) > JOINT_CELLS:
        raise LimitExceeded(f"A prior over {math.prod(sizes):,} combinations is too large to list.")
    return _joint(block.channel, sizes, beliefs)


def require_believable(blocks: Iterable[Block], priors: Priors) -> None:
    """Check that beliefs leave some combination of each block that can occur.

    Of a block with too many combinations to list nothing is said.

    Raises:
        OptionError: they leave none.
    """
    for block in blocks:
        with contextlib.suppress(LimitExceeded):
            joint_prior(block, priors)


def _belief(priors: Priors, name: str) -> Tensor | None:
    return np.array(priors[name]) if name in priors else None


def _all_possible(channel: Transition) -> bool:
    inside = {choice.channel for choice in channel.choices}
    return not channel.impossible and all(map(_all_possible, inside))


def _averaged(
    channel: Transition, sizes: Sequence[int], beliefs: Beliefs, axis: int, *, brief: bool = True
) -> Tensor:
    """Return the matrix from variable `axis` to what tells about it in the joint report.

    Reports that give all truths of the variable the same posterior may be one column.
    """
    others = [belief for place, belief in enumerate(beliefs) if place != axis]
    if brief and _is_mixture(channel) and all(belief is None for belief in others):
        # Then the posterior depends on the variable's own report alone.
        alone = channel.restrict(sizes, [place == axis for place in range(len(sizes))])
        if alone is not None:
            return alone.matrix()
    if channel.choices:
        return _sampled(channel.choices, sizes, beliefs, axis)
    return _listed(channel, sizes, beliefs, axis)[0]


def _sampled(
    choices: Sequence[Choice], sizes: Sequence[int], beliefs: Beliefs, axis: int
) -> Tensor:
    """A report tells which variables it is about; those without this one say nothing of it."""
    by_axes: dict[tuple[int, ...], list[Choice]] = {}
    for choice in choices:
        by_axes.setdefault(choice.axes, []).append(choice)
    made: dict[tuple[object, ...], Tensor] = {}
    parts = []
    for axes, alike in by_axes.items():
        if axis not in axes:
            continue
        # Thousands of subsets share a channel or two; only beliefs that are given set them apart.
        asked = (
            tuple((choice.channel, choice.weight) for choice in alike),
            tuple(sizes[a] for a in axes),
            tuple(None if beliefs[a] is None else a for a in axes),
            axes.index(axis),
        )
        if asked not in made:
            made[asked] = _blended(alike, sizes, beliefs, axis)
        parts.append(made[asked])
    share = sum(c.weight for c in choices if axis in c.axes) / RESOLUTION
    rest = np.full((sizes[axis], 1), 1 - share)
    return np.hstack([*parts, rest] if share < 1 else parts)


def _blended(
    choices: Sequence[Choice], sizes: Sequence[int], beliefs: Beliefs, axis: int
) -> Tensor:
    """Choices of the same variables cannot be told apart, so their reports add."""
    axes = choices[0].axes
    brief = all(_is_mixture(choice.channel) for choice in choices)
    made = [
        _averaged(
            choice.channel,
            [sizes[a] for a in axes],
            [beliefs[a] for a in axes],
            axes.index(axis),
            brief=brief,
        )
        * (choice.weight / RESOLUTION)
        for choice in choices
    ]
    return reduce(np.add, made)


def _is_mixture(channel: Transition) -> bool:
    return channel.mixture is not None or channel.withheld


def _listed(
    channel: Transition, sizes: Sequence[int], beliefs: Beliefs, axis: int
) -> tuple[Tensor, Tensor]:
    true, reported = channel.shape
    if true * reported > SEEN_ENTRIES:
        raise LimitExceeded(
            f"The {true:,} x {reported:,} joint channel is too large to list, so what a whole"
            " report says about one variable is bounded by gamma only."
        )
    weights = _joint(channel, sizes, beliefs)
    flows = (weights[:, None] * channel.matrix()).reshape(*sizes, reported)
    summed: Tensor = flows.sum(axis=tuple(place for place in range(len(sizes)) if place != axis))
    marginal: Tensor = summed.sum(axis=1)
    # A category that cannot occur reports nothing; any row stands for it.
    rows = np.where(marginal[:, None] > 0, summed, 1 / reported)
    matrix: Tensor = rows / rows.sum(axis=1, keepdims=True)
    return matrix, marginal


def _joint(channel: Transition, sizes: Sequence[int], beliefs: Beliefs) -> Tensor:
    each = [np.full(s, 1 / s) if b is None else b for s, b in zip(sizes, beliefs, strict=True)]
    product: Tensor = reduce(np.multiply.outer, each).ravel()
    possible = product * channel.can_occur()
    if not possible.sum() > 0:
        raise OptionError(
            "The beliefs give all their probability to combinations that cannot occur.",
            where="prior",
            remedy="Believe some combination possible that the site file does not exclude.",
        )
    weights: Tensor = possible / possible.sum()
    return weights
