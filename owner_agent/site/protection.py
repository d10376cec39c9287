"""Checks that a plan protects sensitive columns, and that its reports allow estimates."""

from __future__ import annotations

from functools import singledispatch

import numpy as np
import numpy.typing as npt

from pramana_core.alike import first_few
from pramana_core.channels import (
    CONDITION_LIMIT,
    RESOLUTION,
    Choice,
    Coordinated,
    Grouped,
    Identity,
    Symmetric,
    UnitTransition,
)
from pramana_core.channels.base import Units
from pramana_core.errors import PlanError, SingularChannel, UnprotectedVariable
from pramana_core.plan import Block

Codes = npt.NDArray[np.intp]


def require_protected(block: Block, sensitive: frozenset[str]) -> None:
    """Check that a block randomizes each of its sensitive variables. Raises UnprotectedVariable.

    A channel with a fixed report for each category does not protect. Nor does a channel under which
    some true cell always gives a report that proves the variable's value. In a sampled block, every
    subset must protect.
    """
    if parts := [*_different(block, sensitive), *_split_product(block)]:
        for part in parts:
            require_protected(part, sensitive)
        return
    for name in block.names:
        if name not in sensitive:
            continue
        alone = block.restrict([name])
        if block.channel.deterministic or (alone is not None and alone.deterministic):
            raise UnprotectedVariable(
                f"Variable {name!r} is sensitive but would be sent unrandomized: its channel"
                " reports every category with certainty.",
                where=name,
                remedy="Choose a channel that randomizes, or set sensitive = false.",
            )
        if revealed := _revealed(block, name):
            raise UnprotectedVariable(
                f"Variable {name!r} is sensitive but its reports reveal it: records with "
                f"{first_few(map(repr, revealed))} always get reports that no others can get.",
                where=name,
                remedy="Choose a channel in which several categories share their reports. Merge a"
                " group of one category into another group. Or set sensitive = false.",
            )


def share_proven(block: Block, name: str) -> float:
    """Return the probability that a report proves a variable's value, for the worst true cell."""
    if choices := block.channel.choices:
        axis = block.names.index(name)
        return sum(
            choice.weight / RESOLUTION * share_proven(_subset(block, choice), name)
            for choice in choices
            if axis in choice.axes
        )
    for part in _split_product(block):
        if name in part.names:
            return share_proven(part, name)
    return int(_proven_units(block, name).max()) / RESOLUTION


def _revealed(block: Block, name: str) -> tuple[str, ...]:
    """Return the categories that all reports prove, at least for some combination in the block."""
    certain = _proven_units(block, name) == RESOLUTION
    categories = next(v.categories for v in block.variables if v.name == name)
    if certain.size == 1:
        return categories if certain.all() else ()
    found = set(_values(block, name)[certain].tolist())
    return tuple(category for code, category in enumerate(categories) if code in found)


def _proven_units(block: Block, name: str) -> Units:
    """Return each true cell's probability, in units of 2^-32, that a report proves the value."""
    # Mixtures, flipped items and cut-and-paste prove all or nothing: unless deterministic, every
    # report is possible under two values. Shape (1,) if all true cells are alike.
    channel = block.channel
    if channel.mixture is not None or not isinstance(channel, UnitTransition):
        return np.array([RESOLUTION if channel.deterministic else 0])
    return _proven(channel, _values(block, name))


def _values(block: Block, name: str) -> Codes:
    """Return the code of a variable in each of its block's K combinations of categories."""
    shape = tuple(v.size for v in block.variables)
    return np.unravel_index(np.arange(block.channel.shape[0]), shape)[block.names.index(name)]


@singledispatch
def _proven(channel: UnitTransition, values: Codes) -> Units:
    """Return each true cell's probability, in units of 2^-32, that a report proves `values`."""
    units = channel.units()
    kinds, kind = np.unique(values, return_inverse=True)
    makers = sum((units[kind == k] > 0).any(axis=0).astype(int) for k in range(len(kinds)))
    proven: Units = units[:, makers == 1].sum(axis=1)
    return proven


@_proven.register
def _(channel: Grouped, values: Codes) -> Units:
    proven = np.full(len(values), RESOLUTION)
    for group, part in zip(channel.groups, channel.channels, strict=True):
        if part is not None:
            inside = list(group)
            proven[inside] = _proven(part, values[inside])
    return proven


@_proven.register
def _(channel: Identity, values: Codes) -> Units:  # noqa: ARG001 - dispatched by class
    return np.full(len(values), RESOLUTION)


@_proven.register
def _(channel: Symmetric, values: Codes) -> Units:
    """Compute without listing the matrix, because the probability is equal for all true cells."""
    proven = np.zeros(len(values), dtype=np.int64)
    _, kind, counts = np.unique(values, return_inverse=True, return_counts=True)
    if len(counts) == 1 or channel.deterministic:
        proven[:] = RESOLUTION
    elif channel.keep_units == 0 and len(counts) == 2:
        # A true code is never reported as itself, so a lone code proves the other value.
        for lone in np.flatnonzero(counts == 1):
            proven[kind != lone] += channel.off_units
    return proven


def require_estimable(block: Block) -> None:
    """Check that reports distinguish all true cells. Raises SingularChannel, PlanError.

    In a sampled block, the check applies to every subset. In a block whose variables are reported
    item by item, it applies to every variable.
    """
    for part in _estimated_parts(block):
        true, reported = part.channel.shape
        condition = part.channel.condition_number
        if reported < true or not condition <= CONDITION_LIMIT:
            raise SingularChannel(
                f"The channel of {part.name!r} is singular ({true} x {reported}, condition number"
                f" above {CONDITION_LIMIT:.0e}): its reports allow no estimates.",
                where=block.name,
                remedy="Choose a larger gamma, or change the matrix so that no row is a mixture "
                "of other rows.",
            )


def _estimated_parts(block: Block) -> list[Block]:
    """Return the parts of a block that are inverted separately in estimation, each as a block."""
    if block.channel.choices:
        reported = {block.names[axis] for choice in block.channel.choices for axis in choice.axes}
        missed = [name for name in block.names if name not in reported]
        if missed and not isinstance(block.channel, Coordinated):
            raise PlanError(
                f"No subset of block {block.name!r} contains {missed}, so these variables would "
                "never be reported.",
                where=block.name,
                remedy="Add every variable to a subset, or remove it from the block.",
            )
        return _different(block)
    if block.channel.items:
        alone = ((v, block.restrict([v.name])) for v in block.variables)
        return [Block((v,), channel) for v, channel in alone if channel is not None]
    return [block]


def _split_product(block: Block) -> list[Block]:
    """Return each channel of a product as a block; an empty list for other channels."""
    return [Block(block.variables[places], channel) for places, channel in block.channel.factors]


def _different(block: Block, sensitive: frozenset[str] = frozenset()) -> list[Block]:
    """Return the subsets of a sampled block as blocks, without repeating equal ones."""
    found: dict[tuple[object, ...], Choice] = {}
    for choice in block.channel.choices:
        own = [block.variables[axis] for axis in choice.axes]
        kind = choice.channel, *((v.size, v.name in sensitive) for v in own)
        found.setdefault(kind, choice)
    return [_subset(block, choice) for choice in found.values()]


def _subset(block: Block, choice: Choice) -> Block:
    return Block(tuple(block.variables[axis] for axis in choice.axes), choice.channel)
