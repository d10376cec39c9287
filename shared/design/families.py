"""The plans to choose among: for every family the most accurate one that meets the requirements."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from shared.channels import (
    CHOICES,
    RESOLUTION,
    Choice,
    CutAndPaste,
    Identity,
    Mixture,
    OneHot,
    RandomSymmetric,
    Sampled,
    Symmetric,
    most_accurate,
)
from shared.design.requirement import Requirements
from shared.errors import OptionError
from shared.marginals.counts import Tensor
from shared.plan import Block, Plan

Build = Callable[[Requirements], Plan]


def independent(needs: Requirements) -> Plan:
    """Every variable by a symmetric channel of its own (Ma 2.1)."""
    domain = needs.domain
    return _with_public(
        needs,
        [
            Block((domain[name],), Symmetric.from_gamma(domain[name].size, gamma))
            for name, gamma in needs.split().items()
        ],
    )


def gamma_diagonal(needs: Requirements) -> Plan:
    """The whole record by one gamma-diagonal matrix (DET-GD, FRAPP 3)."""
    block = tuple(needs.domain[name] for name in needs.sensitive)
    size = math.prod(v.size for v in block)
    channel = Mixture.from_gamma(size, needs.of_block(needs.sensitive))
    return _with_public(needs, [Block(block, channel)])


def random_gamma_diagonal(needs: Requirements) -> Plan:
    """The whole record by a matrix drawn anew for every record (RAN-GD, FRAPP 4)."""
    block = tuple(needs.domain[name] for name in needs.sensitive)
    size = math.prod(v.size for v in block)
    channel = RandomSymmetric.around_gamma(size, needs.of_block(needs.sensitive), 0.5)
    return _with_public(needs, [Block(block, channel)])


def mask(needs: Requirements) -> Plan:
    """Every category an item that is flipped by itself (MASK, FRAPP 7)."""
    domain = needs.domain
    return _with_public(
        needs,
        [
            Block((domain[name],), OneHot.from_gamma(domain[name].size, gamma))
            for name, gamma in needs.split().items()
        ],
    )


def cut_and_paste(keep: int) -> Build:
    """Return the family that keeps up to `keep` items of the record (FRAPP eq. 12)."""

    def build(needs: Requirements) -> Plan:
        block = tuple(needs.domain[name] for name in needs.sensitive)
        if keep > len(block):
            raise OptionError(f"{keep} items cannot be kept of {len(block)} variables.")
        sizes = [v.size for v in block]
        channel = CutAndPaste.from_gamma(sizes, keep, needs.of_block(needs.sensitive))
        return _with_public(needs, [Block(block, channel)])

    return build


def sampled(subsets: Sequence[tuple[str, ...]], weights: Tensor | None = None) -> Build:
    """Return the family that reports one of some subsets of the variables, each at full gamma.

    Args:
        subsets: sets of sensitive variables, in the domain's order, that cover all of them.
        weights: probabilities of the subsets; default equal.
    """

    def build(needs: Requirements) -> Plan:
        block = tuple(needs.domain[name] for name in needs.sensitive)
        chances = np.full(len(subsets), 1 / len(subsets)) if weights is None else weights
        choices = []
        for names, units in zip(subsets, _units(chances), strict=True):
            size = math.prod(needs.domain[name].size for name in names)
            axes = tuple(needs.sensitive.index(name) for name in names)
            choices.append(Choice(axes, units, most_accurate(size, needs.of_block(names))))
        sizes = tuple(v.size for v in block)
        return _with_public(needs, [Block(block, Sampled(sizes, tuple(choices)))])

    return build


def subsets_of(needs: Requirements, size: int) -> tuple[tuple[str, ...], ...]:
    """Return all sets of `size` sensitive variables. Raises OptionError if there are too many."""
    count = math.comb(len(needs.sensitive), size)
    if count > CHOICES:
        raise OptionError(
            f"There are {count} sets of {size} variables; at most {CHOICES} are sampled among.",
            remedy="Name the sets of variables that matter.",
        )
    return tuple(itertools.combinations(needs.sensitive, size))


def families(needs: Requirements, sets: Sequence[tuple[str, ...]]) -> Iterator[tuple[str, Build]]:
    """Yield every family by name: those that need a subset size once for each useful one.

    `sets` are the tables wanted; blocks sampled among exactly these are a family too.
    """
    count = len(needs.sensitive)
    yield "independent", independent
    if count > 1:
        yield "gamma-diagonal", gamma_diagonal
        yield "random-gamma-diagonal", random_gamma_diagonal
    yield "mask", mask
    for keep in range(1, min(count, 4) + 1):
        yield f"cut-and-paste-{keep}", cut_and_paste(keep)
    for size in range(1, min(count - 1, 3) + 1):
        if math.comb(count, size) <= CHOICES:
            yield f"sampled-{size}", sampled(subsets_of(needs, size))
    wanted = tuple(
        dict.fromkeys(s for names in sets if (s := tuple(n for n in names if n in needs.variables)))
    )
    largest = tuple(s for s in wanted if not any(set(s) < set(other) for other in wanted))
    covered = {name for names in largest for name in names} == set(needs.sensitive)
    uniform = len({len(s) for s in largest}) == 1
    if covered and 1 < len(largest) <= CHOICES and not uniform:
        yield "sampled-sets", sampled(largest)


def _with_public(needs: Requirements, blocks: list[Block]) -> Plan:
    """Add the public variables as they are; blocks stand in the domain's order."""
    public = [v for v in needs.domain if v.name not in needs.variables]
    blocks = blocks + [Block((v,), Identity(v.size)) for v in public]
    return Plan(tuple(sorted(blocks, key=lambda block: needs.domain.axis(block.names[0]))))


def _units(chances: Tensor) -> list[int]:
    """Return positive integers that sum to 2^32, in proportion to probabilities."""
    units = np.maximum(1, np.floor(chances / chances.sum() * RESOLUTION)).astype(np.int64)
    units[int(np.argmax(units))] += RESOLUTION - int(units.sum())
    return [int(u) for u in units]
