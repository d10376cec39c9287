"""How a `site.toml` asks for a sampled block: which subsets, how often, and how strong."""

from __future__ import annotations

import itertools
import math
from functools import cache
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from owner_agent.site.strengths import Amplified, Number, require_countable
from pramana_core.channels import CHOICES, RESOLUTION, Choice, Sampled, Transition, most_accurate
from pramana_core.domain import Domain, Variable
from pramana_core.errors import ChannelError, NotStochastic, OptionError, UnknownVariable


class SampledSpec(Amplified):
    """Each record reports one subset of the variables, at full `gamma`, and withholds the others.

    `subsets` lists names; `size` stands for all subsets of that many variables. `weights` are the
    subsets' probabilities, equal if not given. `gammas` gives each subset an amplification of its
    own, in place of `gamma`.
    """

    one_of: ClassVar[tuple[str, ...]] = ("gamma", "epsilon", "gammas")
    kind: Literal["sampled"]
    subsets: tuple[tuple[str, ...], ...] | None = None
    size: Annotated[int, Field(ge=1)] | None = None
    weights: tuple[Number, ...] | None = None
    gammas: tuple[Number, ...] | None = None

    @model_validator(mode="after")
    def _subsets_or_size(self) -> Self:
        if (self.subsets is None) == (self.size is None):
            raise ValueError("a sampled channel takes exactly one of subsets and size")
        return self

    def transition(self, variables: tuple[Variable, ...]) -> Transition:
        """Return the channel of the variables.

        Raises:
            UnknownVariable: a subset names a variable that is not in the block.
            OptionError: the weights are not a probability for each subset.
        """
        domain = Domain(variables)
        subsets = self._axes(domain)
        weights = _apportioned(self.weights or (1 / len(subsets),) * len(subsets), len(subsets))
        gammas = self.gammas or (self.amplification,) * len(subsets)
        if len(gammas) != len(subsets):
            raise OptionError(
                f"There are {len(gammas)} gammas for {len(subsets)} subsets.",
                where="gammas",
                remedy="Give each subset one amplification.",
            )
        sizes = [math.prod(domain.shape[axis] for axis in axes) for axes in subsets]
        for axes, size in zip(subsets, sizes, strict=True):
            require_countable(size, f"of {len(axes)} variables of a subset")
        # Thousands of subsets share a channel or two.
        made = cache(most_accurate)
        return Sampled(
            domain.shape,
            tuple(
                Choice(axes, weight, made(size, gamma))
                for axes, weight, size, gamma in zip(subsets, weights, sizes, gammas, strict=True)
            ),
        )

    def _axes(self, domain: Domain) -> list[tuple[int, ...]]:
        if self.size is not None:
            _require_few(self.size, len(domain))
            return list(itertools.combinations(range(len(domain)), self.size))
        named = self.subsets or ()
        unknown = sorted({name for subset in named for name in subset if name not in domain})
        if unknown:
            raise UnknownVariable(
                f"The subsets name {unknown}, which the block does not have.",
                where="subsets",
                remedy=f"It has {list(domain.names)}.",
            )
        axes = [tuple(sorted({domain.axis(name) for name in subset})) for subset in named]
        _require_distinct(named, axes)
        return axes


def _require_few(size: int, variables: int) -> None:
    number = math.comb(variables, size)
    if not 1 <= number <= CHOICES:
        raise ChannelError(
            f"There are {number} subsets of {size} of {variables} variables; a sampled channel has"
            f" 1 to {CHOICES}.",
            where="size",
            remedy="Choose another size, or list the subsets that are needed.",
        )


def _require_distinct(named: tuple[tuple[str, ...], ...], axes: list[tuple[int, ...]]) -> None:
    whole = all(len(inside) == len(names) > 0 for inside, names in zip(axes, named, strict=True))
    if not axes or not whole or len(set(axes)) < len(axes):
        raise ChannelError(
            "The subsets must be different sets of variables that name each variable once, not"
            f" {[list(names) for names in named]}.",
            where="subsets",
            remedy="Name every subset once, and no variable twice in a subset.",
        )


def _apportioned(weights: tuple[float, ...], subsets: int) -> list[int]:
    """Return weights as integers over 2^32 that sum to it, each within 1 of its share.

    Raises:
        OptionError: there is not one for each subset.
        NotStochastic: one is not positive, or they do not sum to 1 within 1e-9.
        ChannelError: one is positive but rounded to nothing.
    """
    if len(weights) != subsets:
        raise OptionError(
            f"There are {len(weights)} weights for {subsets} subsets.",
            where="weights",
            remedy="Give each subset one probability.",
        )
    total = math.fsum(weights)
    if min(weights) <= 0 or abs(total - 1) > 1e-9:
        raise NotStochastic(
            f"The weights of the subsets sum to {total:.9g}; the smallest is {min(weights):.6g}.",
            where="weights",
            remedy="Give positive probabilities that sum to 1.",
        )
    # Halves go up, and not to the even number: so what is 2^-32 or more keeps a unit.
    bounds = [math.floor(sum_ / total * RESOLUTION + 0.5) for sum_ in itertools.accumulate(weights)]
    bounds[-1] = RESOLUTION
    units = [high - low for low, high in itertools.pairwise([0, *bounds])]
    if 0 in units:
        raise ChannelError(
            f"A weight of {weights[units.index(0)]:.6g} is below 2^-32 and cannot be published.",
            where="weights",
            remedy="Raise it, or leave that subset out.",
        )
    return units
