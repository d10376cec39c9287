"""The channels a `site.toml` can ask for, and the transition matrices they become."""

from __future__ import annotations

import itertools
import math
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from shared.domain import Domain, Variable
from shared.errors import ChannelError, UnknownCategory
from shared.transition import RESOLUTION, Dense, Grouped, Symmetric, Transition

Number = Annotated[float, Field(allow_inf_nan=False)]


class ChannelSpec(BaseModel):
    """The base of all channel descriptions: frozen, unknown keys refused by name."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SymmetricSpec(ChannelSpec):
    """Keep a category with one probability, move to each other one with another.

    Exactly one of: `p`, the probability of replacing the category (Ma 2.1); `gamma`, the
    amplification allowed (FRAPP eq. 13); `epsilon`, its logarithm.
    """

    kind: Literal["symmetric"]
    p: Number | None = None
    gamma: Number | None = None
    epsilon: Number | None = None

    @model_validator(mode="after")
    def _one_strength(self) -> SymmetricSpec:
        given = [n for n in ("p", "gamma", "epsilon") if getattr(self, n) is not None]
        if len(given) != 1:
            raise ValueError(
                f"a symmetric channel takes exactly one of p, gamma and epsilon, not {len(given)}"
            )
        return self

    def transition(self, variables: tuple[Variable, ...]) -> Transition:
        """Return the channel over the variables' product. Raises ChannelError, NotStochastic."""
        size = Domain(variables).size
        _require_expressible(size)
        if self.p is not None:
            return Symmetric.from_probability(size, self.p)
        if self.gamma is not None:
            return Symmetric.from_gamma(size, self.gamma)
        try:
            return Symmetric.from_gamma(size, math.exp(self.epsilon or 0.0))
        except OverflowError:
            raise ChannelError(
                f"An epsilon of {self.epsilon} is no protection that can be computed.",
                remedy="Choose a smaller epsilon.",
            ) from None


class BinarySpec(ChannelSpec):
    """Ma's binary randomization: `p1` first to second category, `p2` second to first."""

    kind: Literal["binary"]
    p1: Number
    p2: Number

    def transition(self, variables: tuple[Variable, ...]) -> Transition:
        """Return the channel over two categories. Raises ChannelError, NotStochastic."""
        _require_size(2, variables)
        return Dense.binary(self.p1, self.p2)


class TernarySpec(ChannelSpec):
    """Ma's ternary randomization: `p1` to the next category, `p2` to the one after."""

    kind: Literal["ternary"]
    p1: Number
    p2: Number

    def transition(self, variables: tuple[Variable, ...]) -> Transition:
        """Return the channel over three categories. Raises ChannelError, NotStochastic."""
        _require_size(3, variables)
        return Dense.ternary(self.p1, self.p2)


class MatrixSpec(ChannelSpec):
    """Any matrix: row l lists the probabilities of every report when category l is true."""

    kind: Literal["matrix"]
    rows: tuple[tuple[Number, ...], ...]

    def transition(self, variables: tuple[Variable, ...]) -> Transition:
        """Return the channel over the variables' product. Raises ChannelError, NotStochastic."""
        channel = Dense.from_probabilities(self.rows)
        _require_size(channel.shape[0], variables)
        return channel


class GroupedSpec(ChannelSpec):
    """Groups of categories; inside its group a category is replaced with probability `p`.

    In a joint block a category is a combination, written with a star: `"male*high"`.
    """

    kind: Literal["grouped"]
    groups: tuple[tuple[str, ...], ...]
    p: Number

    def transition(self, variables: tuple[Variable, ...]) -> Transition:
        """Return the channel over the variables.

        Raises:
            UnknownCategory: a group names a category that is not there.
            ChannelError: the groups overlap or leave a category out.
            NotStochastic: `p` is not a probability.
        """
        codes = _labels(variables)
        unknown = [c for group in self.groups for c in group if c not in codes]
        if unknown:
            raise UnknownCategory(
                f"The groups name categories the variable does not have: {unknown}.",
                remedy="Spell them as the variable's categories are spelled.",
            )
        return Grouped.from_probability([[codes[c] for c in g] for g in self.groups], self.p)


AnyChannel = Annotated[
    SymmetricSpec | BinarySpec | TernarySpec | MatrixSpec | GroupedSpec,
    Field(discriminator="kind"),
]


def _labels(variables: tuple[Variable, ...]) -> dict[str, int]:
    """Return the code of every combination of categories, written `a*b` in a joint block."""
    product = itertools.product(*(v.categories for v in variables))
    return {"*".join(combination): code for code, combination in enumerate(product)}


def _require_size(size: int, variables: tuple[Variable, ...]) -> None:
    wanted = Domain(variables).size
    if wanted != size:
        raise ChannelError(
            f"The channel is for {size} categories; there are {wanted}.",
            remedy="Give a channel that has one row per category.",
        )


def _require_expressible(size: int) -> None:
    if size > RESOLUTION:
        raise ChannelError(
            f"The block has {size} combinations of categories, more than the 2^32 whose"
            " probabilities can be published.",
            remedy="Put fewer variables into the block.",
        )
