"""What a block must do before it may be planned: protect what is sensitive, and be of use."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shared.errors import PlanError, SingularChannel, UnprotectedVariable
from shared.plan import Block
from shared.transition import (
    CONDITION_LIMIT,
    RESOLUTION,
    CutAndPaste,
    Grouped,
    Identity,
    OneHot,
    Sampled,
    StructuralZeros,
    Symmetric,
    Transition,
    UnitTransition,
)


def require_protected(block: Block, sensitive: frozenset[str]) -> None:
    """Check that a block randomizes each of its sensitive variables.

    A channel that always reports the same thing for a category, whatever the thing is called, is
    no protection; neither is one whose reports, though random, each fit one category only. In a
    joint block every sensitive variable is looked at alone, and in a sampled one in every subset,
    for each subset is some records' whole report.

    Raises:
        UnprotectedVariable: a sensitive variable would leave as it is, or could be read off.
    """
    if isinstance(block.channel, Sampled):
        for part in _subsets(block, block.channel):
            require_protected(part, sensitive)
        return
    for name in block.names:
        if name not in sensitive:
            continue
        alone = block.restrict([name])
        if deterministic(block.channel) or (alone is not None and deterministic(alone)):
            raise UnprotectedVariable(
                f"Variable {name!r} is sensitive but would leave unrandomized: its channel"
                " reports every category with certainty.",
                where=name,
                remedy="Give it a channel that randomizes, or say sensitive = false.",
            )
        if legible(block, name):
            raise UnprotectedVariable(
                f"Variable {name!r} is sensitive but could be read off its reports: each of them is"
                " possible under one category only.",
                where=name,
                remedy="Give it a channel that reports the same under several categories, or say"
                " sensitive = false.",
            )


def deterministic(channel: Transition) -> bool:
    """Whether a channel's report is a fixed function of the truth."""
    if isinstance(channel, Identity):
        return True
    if isinstance(channel, Symmetric):
        return channel.off_units in {0, RESOLUTION}
    if isinstance(channel, Grouped):
        return all(part is None or deterministic(part) for part in channel.channels)
    if isinstance(channel, StructuralZeros):
        return deterministic(channel.channel)
    if isinstance(channel, OneHot):
        return channel.flip_units in {0, RESOLUTION}
    if isinstance(channel, CutAndPaste):
        return channel.paste_units == RESOLUTION
    if isinstance(channel, UnitTransition):
        return bool(np.all(channel.units().max(axis=1) == RESOLUTION))
    return channel.is_identity


def legible(block: Block, name: str) -> bool:
    """Whether the truth of a variable is a function of its block's report.

    Mixtures, flipped items and cut-and-paste are so only where nothing is random: else a record
    may be drawn anew, or its items flipped, or none of them kept, whatever is true. Sampled blocks
    are looked at subset by subset.
    """
    channel = block.channel
    if isinstance(channel, Identity | Symmetric) or not isinstance(channel, UnitTransition):
        return deterministic(channel)
    shape = tuple(v.size for v in block.variables)
    values = np.unravel_index(np.arange(channel.shape[0]), shape)[block.names.index(name)]
    return _tells(channel, values)


def _tells(channel: UnitTransition, values: npt.NDArray[np.intp]) -> bool:
    """Whether every report of a channel is possible under one value of its truths only.

    Args:
        channel: K x L.
        values: something about each of the K truths.
    """
    if isinstance(channel, Grouped):
        return all(
            part is None or _tells(part, values[list(group)])
            for group, part in zip(channel.groups, channel.channels, strict=True)
        )
    if isinstance(channel, StructuralZeros):
        return _tells(channel.channel, values[list(channel.possible)])
    if isinstance(channel, Identity | Symmetric):
        # A symmetric channel that is not deterministic reports a cell under all truths, or under
        # all but one of three or more.
        return deterministic(channel) or len(np.unique(values)) == 1
    possible = channel.units() > 0
    kinds = np.stack([possible[values == value].any(axis=0) for value in np.unique(values)])
    return bool((kinds.sum(axis=0) <= 1).all())


def require_estimable(block: Block) -> None:
    """Refuse a channel whose reports leave some truths indistinguishable.

    Of a sampled block every subset must be estimable and every variable in one of them; the whole
    joint distribution need not be. Of a block reported in items every single variable must be:
    the condition grows with every further one, and whoever asks for many is told.
    """
    for part in _estimated_parts(block):
        true, reported = part.channel.shape
        condition = part.channel.condition_number
        if reported < true or not condition <= CONDITION_LIMIT:
            raise SingularChannel(
                f"The channel of {part.name!r} is singular ({true} x {reported}, condition number"
                f" {condition:.3g}): nobody could estimate anything from its reports.",
                where=block.name,
                remedy="Choose a larger gamma, or change its rows so that none is a mixture of the"
                " others.",
            )


def _estimated_parts(block: Block) -> list[Block]:
    """Return the blocks whose channels must have inverses for a block to be of use.

    Raises:
        PlanError: a variable of a sampled block is in none of its subsets.
    """
    channel = block.channel
    if isinstance(channel, Sampled):
        parts = _subsets(block, channel)
        reported = {name for part in parts for name in part.names}
        missed = [name for name in block.names if name not in reported]
        if missed:
            raise PlanError(
                f"No subset of block {block.name!r} has {missed}, so nothing would ever be"
                " reported of them.",
                where=block.name,
                remedy="Put every variable into a subset, or take it out of the block.",
            )
        return parts
    if isinstance(channel, CutAndPaste):
        alone = ((v, block.restrict([v.name])) for v in block.variables)
        return [Block((v,), channel) for v, channel in alone if channel is not None]
    return [block]


def _subsets(block: Block, channel: Sampled) -> list[Block]:
    """Return each choice of a sampled block as a block of its own."""
    return [
        Block(tuple(block.variables[axis] for axis in choice.axes), choice.channel)
        for choice in channel.choices
    ]
