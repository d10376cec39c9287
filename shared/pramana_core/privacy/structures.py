"""Which structure a channel has: by what its family says of itself, or by its parts.

Also here:

* Records of which only one randomly chosen part is reported.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt

from pramana_core.channels import (
    LISTED_ENTRIES,
    RESOLUTION,
    Choice,
    Coordinated,
    Grouped,
    Product,
    Sampled,
    StructuralZeros,
    Transition,
)
from pramana_core.errors import LimitExceeded
from pramana_core.marginals.counts import Tensor
from pramana_core.privacy.structures_by_kind import (
    ChannelStructure,
    ColumnsStructure,
    GroupedStructure,
    MixtureStructure,
    PlausibleTruths,
    PossibleStructure,
    RevealedStructure,
    require_possible,
)

# Records of which only one randomly chosen part is reported.

_AXES = 64
"""The most axes a tensor can have; that many variables have more cells than can be listed."""


_CELLS = 1 << 1000
"""With more cells than this, a share of one is too small for a float."""


@dataclass(frozen=True, eq=False)
class SampledSet:
    """What one set of axes reports: the axes, ascending, their probability and structure.

    No axes: nothing is reported.
    """

    axes: tuple[int, ...]
    weight: float
    structure: ChannelStructure


@dataclass(frozen=True, eq=False)
class SampledStructure(ChannelStructure):
    """A draw that does not look at the data picks the axes that are reported; the rest is withheld.

    The report tells which axes it is about; `choices` have different ones. It changes the belief in
    a cell only through the cell's part: the posterior is the prior within the part times the
    part's posterior.

    `listed` answers where a question has no answer by parts.
    """

    sizes: tuple[int, ...]
    choices: tuple[SampledSet, ...]
    listed: ChannelStructure

    @property
    def size(self) -> int:
        return math.prod(self.sizes)

    @cached_property
    def gamma(self) -> float:
        return max(structure.gamma for structure in self._distinct)

    def information(self, prior: Tensor | None) -> float:
        given = self._given(prior)
        return sum(
            c.weight * c.structure.information(None if given is None else self._marginal(given, c))
            for c in self.choices
        )

    def extremes(self, prior: Tensor | None) -> tuple[Tensor, Tensor]:
        given = self._given(prior)
        low, high = np.ones(1), np.zeros(1)
        for choice in self.choices:
            least, most = (self._spread(v, choice) for v in self._of_part(given, choice))
            self._require_listable(_broadcast(low.shape, least.shape))
            low, high = np.minimum(low, least), np.maximum(high, most)
        if given is not None:
            cells = given.reshape(self.sizes)
            low, high = low * cells, high * cells
        return self._flat(low), self._flat(high)

    def bayes_mass(self, weights: Tensor | None) -> float:
        given = self._given(weights)
        if given is None:
            # The best guess names any one of the cells that share the part guessed.
            return sum(
                c.weight * c.structure.bayes_mass(None) * c.structure.size / self.size
                for c in self.choices
            )
        return sum(
            c.weight * c.structure.bayes_mass(self._marginal(given, c, best=True))
            for c in self.choices
        )

    def plausible(self, prior: Tensor | None, threshold: float) -> PlausibleTruths:
        given = self._given(prior)
        if given is not None:
            return self.listed.plausible(given, threshold)
        found = []
        for choice in self.choices:
            cells = self.size // choice.structure.size
            # Beyond this many cells no share of the uniform prior is above the threshold.
            above = (
                0.0 if threshold == 0 else math.inf if cells > 1 / threshold else threshold * cells
            )
            part = choice.structure.plausible(None, above)
            found.append(PlausibleTruths(part.fewest * cells, part.least, part.most))
        return PlausibleTruths.over(found)

    def uniform(self) -> Tensor:
        possible = np.ones(1, dtype=bool)
        for choice in self.choices:
            part = choice.structure.uniform() > 0
            if part.all():
                # Spreading it would list cells of which it says nothing.
                continue
            spread = self._spread(part, choice)
            self._require_listable(_broadcast(possible.shape, spread.shape))
            possible = possible & spread
        if possible.size == 1:
            return super().uniform()
        flat = self._flat(possible.astype(np.float64))
        uniform: Tensor = flat / flat.sum()
        return uniform

    def _given(self, prior: Tensor | None) -> Tensor | None:
        """Return the prior, listing the uniform one only where some cells are impossible.

        A choice sees the margin of a prior only, so that cells are checked here, as a whole.
        """
        if self.size > _CELLS:
            raise LimitExceeded(
                f"A record of {len(self.sizes)} variables has too many cells for a belief in each.",
                where="channel",
                remedy="Ask for gamma and the bounds that follow from it, or for fewer variables.",
            )
        if not self._some_impossible:
            return prior
        uniform = self.uniform()
        if prior is None:
            return uniform
        require_possible(prior, uniform > 0)
        return prior

    @cached_property
    def _some_impossible(self) -> bool:
        return any(np.any(structure.uniform() == 0) for structure in self._distinct)

    @cached_property
    def _distinct(self) -> list[ChannelStructure]:
        """The structures of the choices, one that many choices share once."""
        return list({id(choice.structure): choice.structure for choice in self.choices}.values())

    def _of_part(self, given: Tensor | None, choice: SampledSet) -> tuple[Tensor, Tensor]:
        """Return the extremes of the posterior of a part, over the prior of the part.

        With the uniform prior each of the cells that share a part has an equal share of it.
        """
        if given is None:
            low, high = choice.structure.extremes(None)
            cells = self.size // choice.structure.size
            return low / cells, high / cells
        marginal = self._marginal(given, choice)
        low, high = choice.structure.extremes(marginal)
        occurs = np.where(marginal > 0, marginal, 1.0)
        return low / occurs, high / occurs

    def _marginal(self, given: Tensor, choice: SampledSet, *, best: bool = False) -> Tensor:
        """Return the sum (or the largest) over the axes a choice withholds, flat."""
        gone = tuple(a for a in range(len(self.sizes)) if a not in choice.axes)
        cells = given.reshape(self.sizes)
        left = cells.max(axis=gone) if best else cells.sum(axis=gone)
        return np.ravel(left)

    def _spread(self, values: npt.NDArray[Any], choice: SampledSet) -> npt.NDArray[Any]:
        """Return values over a choice's part as a tensor that broadcasts over all cells."""
        if values.size == 1:
            return values.reshape(1)
        if len(self.sizes) > _AXES:
            self._require_listable(self.sizes)
        return values.reshape([s if a in choice.axes else 1 for a, s in enumerate(self.sizes)])

    def _flat(self, tensor: Tensor) -> Tensor:
        if tensor.size == 1:
            return tensor.reshape(1)
        self._require_listable(self.sizes)
        return np.broadcast_to(tensor, self.sizes).ravel()

    def _require_listable(self, shape: tuple[int, ...]) -> None:
        if math.prod(shape) > LISTED_ENTRIES:
            raise LimitExceeded(
                f"A posterior for each of {math.prod(shape)} cells is too much to list; at most"
                f" {LISTED_ENTRIES} are.",
                where="channel",
                remedy="Report the chosen parts by symmetric channels, or ask for each part alone.",
            )


def _broadcast(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of two tensors together, each of one cell or of all axes."""
    longer, shorter = sorted((one, other), key=len, reverse=True)
    if len(shorter) < len(longer):
        return longer
    return tuple(map(max, longer, shorter))


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
        columns = (
            [np.full((size, 1), self.channel.silent / RESOLUTION)] if self.channel.silent else []
        )
        for choice in self.channel.choices:
            sizes = tuple(self.channel.sizes[axis] for axis in choice.axes)
            part = np.ravel_multi_index(tuple(cells[list(choice.axes)]), sizes)
            columns.append(choice.channel.matrix()[part] * (choice.weight / RESOLUTION))
        return np.concatenate(columns, axis=1)


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
