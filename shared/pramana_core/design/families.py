"""Families of plans. Each family builds its most accurate plan that meets the requirements."""

from __future__ import annotations

import functools
import heapq
import itertools
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from pramana_core.channels import (
    CHOICES,
    RESOLUTION,
    SHARE,
    Choice,
    CutAndPaste,
    Identity,
    Mixture,
    OneHot,
    Product,
    RandomSymmetric,
    Sampled,
    SubsetSelection,
    Symmetric,
    Transition,
    best_subset,
    most_accurate,
    set_channel,
)
from pramana_core.design.requirements import Requirements
from pramana_core.errors import OptionError
from pramana_core.marginals.counts import Tensor
from pramana_core.plan import Block, Plan

ITEMS = 32
"""The maximum number of variables for which cut and paste is offered."""

Build = Callable[[Requirements], Plan]


def independent(needs: Requirements) -> Plan:
    """Return the plan with a symmetric channel for each variable (Ma 2.1)."""
    return _each(needs, Symmetric.from_gamma)


def mask_channel(needs: Requirements) -> Plan:
    """Return the plan with a MASK channel, which flips categories, for each variable (FRAPP 7)."""
    return _each(needs, OneHot.from_gamma)


def subset_selection(needs: Requirements) -> Plan:
    """Return the plan with subset selection for each variable.

    A variable gets a symmetric channel if its best subsets have one category.
    """
    return _each(needs, SubsetSelection.from_gamma)


def gamma_diagonal(needs: Requirements) -> Plan:
    """Return the plan with one gamma-diagonal matrix for the whole record (DET-GD, FRAPP 3)."""
    return _whole(needs, lambda sizes, gamma: Mixture.from_gamma(math.prod(sizes), gamma))


def random_gamma_diagonal(needs: Requirements) -> Plan:
    """Return the plan with a new random matrix for each whole record (RAN-GD, FRAPP 4)."""
    return _whole(
        needs, lambda sizes, gamma: RandomSymmetric.around_gamma(math.prod(sizes), gamma, SHARE)
    )


def cut_and_paste(keep: int) -> Build:
    """Return the family of cut and paste that keeps at most `keep` items (FRAPP eq. 12)."""

    def build(needs: Requirements) -> Plan:
        if len(needs.sensitive) > ITEMS:
            raise OptionError(
                f"Cut and paste is limited to {ITEMS} variables; with more, reports would show too"
                " little of their associations."
            )
        if keep > len(needs.sensitive):
            raise OptionError(
                f"A record of {len(needs.sensitive)} variables has fewer items than {keep}."
            )
        return _whole(needs, lambda sizes, gamma: CutAndPaste.from_gamma(sizes, keep, gamma))

    return build


def sampled(subsets: Sequence[tuple[str, ...]], weights: Tensor | None = None) -> Build:
    """Return the family in which a record reports one of several sets of variables, at full gamma.

    `subsets` are in the domain's order and cover the sensitive variables. `weights` are their
    probabilities, equal by default.
    """

    def build(needs: Requirements) -> Plan:
        chances = np.full(len(subsets), 1 / len(subsets)) if weights is None else weights
        place = {name: i for i, name in enumerate(needs.sensitive)}
        choices = []
        for names, units in zip(subsets, _units(chances), strict=True):
            axes = tuple(place[name] for name in names)
            choices.append(Choice(axes, units, channel_of(needs, names)))
        return _whole(needs, lambda sizes, _: Sampled(sizes, tuple(choices)))

    return build


def _sampled_of(size: int) -> Build:
    return lambda needs: sampled(subsets_of(needs, size))(needs)


def channel_of(needs: Requirements, names: Sequence[str]) -> Transition:
    """Return the most accurate channel that reports some sensitive variables together.

    If the variables belong to several owners, each part has a channel with a share of epsilon.
    """
    parts = needs.by_owner(names)
    sizes = tuple(math.prod(needs.domain[n].size for n in part) for part in parts)
    if len(parts) == 1:
        return set_channel(sizes[0], needs.gamma, subsets=needs.subsets)
    each = share_epsilon(sizes, math.log(needs.gamma))
    channels = (most_accurate(size, math.exp(own)) for size, own in zip(sizes, each, strict=True))
    return Product(tuple(map(len, parts)), tuple(channels))


def subsets_of(needs: Requirements, size: int) -> tuple[tuple[str, ...], ...]:
    """Return all sets of `size` sensitive variables. Raises OptionError: there are too many."""
    count = math.comb(len(needs.sensitive), size)
    if count > CHOICES:
        raise OptionError(
            f"There are {count:,} sets of {size} variables; a block has at most {CHOICES:,}.",
            remedy="List the sets of variables that matter.",
        )
    return tuple(itertools.combinations(needs.sensitive, size))


def families(needs: Requirements) -> Iterator[tuple[str, Build]]:
    """Yield the name and the builder of every family, sampled families once for each set size.

    With several owners, only sampled families are possible, because no owner has the whole record.
    """
    count = len(needs.sensitive)
    if not needs.owners:
        yield "independent", independent
        if any(best_subset(needs.domain[n].size, needs.share) > 1 for n in needs.sensitive):
            yield "subset-selection", subset_selection
        if count > 1:
            yield "gamma-diagonal", gamma_diagonal
            yield "random-gamma-diagonal", random_gamma_diagonal
        yield "mask", mask_channel
        for keep in range(1, min(count, 4) + 1):
            yield f"cut-and-paste-{keep}", cut_and_paste(keep)
    for size in range(1, min(count - 1, 3) + 1):
        yield f"sampled-{size}", _sampled_of(size)


def _each(needs: Requirements, make: Callable[[int, float], Transition]) -> Plan:
    own = [needs.domain[name] for name in needs.sensitive]
    return _with_public(needs, [Block((v,), make(v.size, needs.share)) for v in own])


def _whole(needs: Requirements, make: Callable[[tuple[int, ...], float], Transition]) -> Plan:
    block = tuple(needs.domain[name] for name in needs.sensitive)
    channel = make(tuple(v.size for v in block), needs.gamma)
    return _with_public(needs, [Block(block, channel)])


def _with_public(needs: Requirements, blocks: list[Block]) -> Plan:
    public = [v for v in needs.domain if v.name in needs.public]
    blocks = blocks + [Block((v,), Identity(v.size)) for v in public]
    return Plan(tuple(sorted(blocks, key=lambda block: needs.domain.axis(block.names[0]))))


def _units(chances: Tensor) -> list[int]:
    """Return positive integers with sum 2^32, proportional to the probabilities to within 1e-7."""
    total = math.fsum(chances)
    parts = [math.floor(float(chance) / total * _PARTS + _UP) for chance in chances]
    whole = sum(parts)
    units = [max(1, part * RESOLUTION // whole) for part in parts]
    units[units.index(max(units))] += RESOLUTION - sum(units)
    return units


_PARTS = 10**7
"""The number of equal parts of 1 to which the probability of a set is rounded."""

_UP = 0.5 + 1e-5
"""The number added before rounding down, a little above 1/2 so that inexact halves round up."""


_STEPS = 512
"""The number of equal steps of epsilon that are divided among the owners."""


def _kept(cells: int, epsilon: float) -> float:
    """Return the probability that the most accurate symmetric channel keeps a record's cell."""
    return math.expm1(epsilon) / (math.expm1(epsilon) + cells)


@functools.lru_cache(maxsize=1 << 16)
def share_epsilon(cells: Sequence[int], epsilon: float) -> tuple[float, ...]:
    """Return the epsilon of each owner's part that maximizes the probability of keeping all parts.

    The information about the interaction of all parts is prod w_i^2, where w_i is the probability
    that part i, of `cells[i]` cells, is kept. Because log w_i is concave, each step goes to the
    part that gains most.
    """
    step = epsilon / _STEPS

    def gain(part: int, steps: int) -> float:
        return math.log(_kept(cells[part], (steps + 1) * step) / _kept(cells[part], steps * step))

    # Every part starts with one step, without which its reports would be pure noise.
    taken = [1] * len(cells)
    queue = [(-gain(part, 1), part) for part in range(len(cells))]
    heapq.heapify(queue)
    for _ in itertools.repeat(None, _STEPS - len(cells)):
        part = queue[0][1]
        taken[part] += 1
        heapq.heapreplace(queue, (-gain(part, taken[part]), part))
    return tuple(steps * step for steps in taken)
