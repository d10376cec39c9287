"""Which structure a channel has: by what its family says of itself, or by its parts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import singledispatch

import numpy as np

from pramana_core.channels import (
    RESOLUTION,
    Choice,
    Coordinated,
    Grouped,
    Product,
    Sampled,
    StructuralZeros,
    Transition,
)
from pramana_core.marginals.counts import Tensor
from pramana_core.privacy.structures_of_columns import ChannelStructure, ColumnsStructure
from pramana_core.privacy.structures_of_composites import (
    GroupedStructure,
    MixtureStructure,
    PossibleStructure,
    RevealedStructure,
)
from pramana_core.privacy.structures_of_samples import SampledSet, SampledStructure


@singledispatch
def structure_of(channel: Transition) -> ChannelStructure:
    """Return the structure through which a channel's measures are computed."""
    if channel.exact_mixture is not None:
        # A matrix drawn per record (RAN-GD) is a Symmetric too: whoever does not see the draw is
        # left with the expected matrix.
        return MixtureStructure(channel.shape[0], *channel.exact_mixture)
    return ColumnsStructure(channel, channel.amplification)


@structure_of.register
def _(channel: Grouped) -> ChannelStructure:
    return GroupedStructure(
        tuple(np.array(group, dtype=np.intp) for group in channel.groups),
        tuple(
            RevealedStructure() if part is None else structure_of(part) for part in channel.channels
        ),
    )


@structure_of.register
def _(channel: StructuralZeros) -> ChannelStructure:
    possible = np.array(channel.possible, dtype=np.intp)
    return PossibleStructure(channel.size, possible, structure_of(channel.channel))


@structure_of.register
def _(channel: Sampled) -> ChannelStructure:
    by_axes: dict[tuple[int, ...], list[Choice]] = {}
    for choice in channel.choices:
        by_axes.setdefault(choice.axes, []).append(choice)
    return _sampled(channel, list(by_axes.values()), ColumnsStructure(channel))


@structure_of.register
def _(channel: Coordinated) -> ChannelStructure:
    # Whoever knows the coin knows the choice, so that no other channel of the same axes hides it.
    alike: dict[tuple[tuple[int, ...], Transition], list[Choice]] = {}
    for choice in channel.choices:
        alike.setdefault((choice.axes, choice.channel), []).append(choice)
    return _sampled(channel, list(alike.values()), ColumnsStructure(_Known(channel)))


def _sampled(
    channel: Sampled, groups: Sequence[Sequence[Choice]], listed: ChannelStructure
) -> ChannelStructure:
    """Return the structure of choices in groups that a report tells apart."""
    # Thousands of subsets share a channel or two, of which one structure each is enough.
    made: dict[Transition, ChannelStructure] = {}
    parts = [
        SampledSet(group[0].axes, sum(c.weight for c in group) / RESOLUTION, _together(group, made))
        for group in groups
    ]
    if channel.silent:
        parts.append(SampledSet((), channel.silent / RESOLUTION, RevealedStructure()))
    return SampledStructure(channel.sizes, tuple(parts), listed)


@dataclass(frozen=True)
class _Known:
    """A sampled channel whose choice is known beside the report: the choices' reports in turn."""

    channel: Sampled

    @property
    def shape(self) -> tuple[int, int]:
        silent = int(self.channel.silent > 0)
        return self.channel.shape[0], silent + sum(c.channel.shape[1] for c in self.channel.choices)

    def matrix(self) -> Tensor:
        size, _ = self.shape
        cells = np.array(np.unravel_index(np.arange(size), self.channel.sizes))
        told = [np.full((size, 1), self.channel.silent / RESOLUTION)] if self.channel.silent else []
        for choice in self.channel.choices:
            sizes = tuple(self.channel.sizes[axis] for axis in choice.axes)
            part = np.ravel_multi_index(tuple(cells[list(choice.axes)]), sizes)
            told.append(choice.channel.matrix()[part] * (choice.weight / RESOLUTION))
        return np.concatenate(told, axis=1)


@structure_of.register
def _(channel: Product) -> ChannelStructure:
    # Independent draws: each can be at its worst together with the others (Ma 7.1.3).
    return ColumnsStructure(channel, math.prod(structure_of(c).gamma for c in channel.channels))


@dataclass(frozen=True)
class _Blend:
    """Choices of the same axes: a report does not tell by which of their channels it was made."""

    choices: Sequence[Choice]

    @property
    def shape(self) -> tuple[int, int]:
        return self.choices[0].channel.shape

    def matrix(self) -> Tensor:
        weights = np.array([c.weight for c in self.choices], dtype=np.float64)
        matrices = [c.channel.matrix() for c in self.choices]
        blend: Tensor = np.tensordot(weights / weights.sum(), np.array(matrices), axes=(0, 0))
        return blend


def _together(
    choices: Sequence[Choice], made: dict[Transition, ChannelStructure]
) -> ChannelStructure:
    """Return the structure of choices of the same axes. A list of one channel is that channel's."""
    for choice in choices:
        if choice.channel not in made:
            made[choice.channel] = structure_of(choice.channel)
    structures = [made[channel] for channel in {choice.channel for choice in choices}]
    if len(structures) == 1:
        return structures[0]
    structures = [made[choice.channel] for choice in choices]
    zeros = [c.channel for c in choices if isinstance(c.channel, StructuralZeros)]
    if len(zeros) == len(choices) and len({z.impossible for z in zeros}) == 1:
        inner = [replace(c, channel=z.channel) for c, z in zip(choices, zeros, strict=True)]
        possible = np.array(zeros[0].possible, dtype=np.intp)
        return PossibleStructure(zeros[0].size, possible, _together(inner, made))
    mixtures = [s for s in structures if isinstance(s, MixtureStructure)]
    if len(mixtures) < len(structures):
        return ColumnsStructure(_Blend(choices))
    total = sum(c.weight for c in choices)
    shares = [Fraction(c.weight, total) for c in choices]
    keep = sum((s * m.keep for s, m in zip(shares, mixtures, strict=True)), Fraction(0))
    off = sum((s * m.off for s, m in zip(shares, mixtures, strict=True)), Fraction(0))
    return MixtureStructure(mixtures[0].cells, keep, off)
