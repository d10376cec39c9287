"""What the channels of a site file have in common: how strong they are, and names of categories."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Annotated, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from pramana_core.alike import did_you_mean
from pramana_core.channels import LISTED_ENTRIES, MIXTURE_CELLS, RESOLUTION, Symmetric
from pramana_core.domain import Domain, Variable
from pramana_core.errors import ChannelError, UnknownCategory

Number = Annotated[float, Field(allow_inf_nan=False)]


class ChannelSpec(BaseModel):
    """The base of all channel descriptions: frozen, unknown keys refused by name."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    one_of: ClassVar[tuple[str, ...]] = ()
    """The keys of which exactly one is given."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        given = [name for name in self.one_of if getattr(self, name) is not None]
        if self.one_of and len(given) != 1:
            kind = getattr(self, "kind", "such")
            keys = f"{', '.join(self.one_of[:-1])} and {self.one_of[-1]}"
            raise ValueError(f"a {kind} channel takes exactly one of {keys}, not {len(given)}")
        return self


class Amplified(ChannelSpec):
    """A channel whose strength is `gamma`, the amplification allowed, or `epsilon` = ln gamma."""

    one_of: ClassVar[tuple[str, ...]] = ("gamma", "epsilon")
    gamma: Number | None = None
    epsilon: Number | None = None

    @property
    def amplification(self) -> float:
        """The amplification allowed. Raises ChannelError where epsilon is too large."""
        if self.gamma is not None:
            return self.gamma
        try:
            return math.exp(self.epsilon or 0.0)
        except OverflowError:
            raise ChannelError(
                f"An epsilon of {self.epsilon} is too large to protect anything.",
                remedy="Choose a smaller epsilon.",
            ) from None


class Replacing(Amplified):
    """A channel made of symmetric ones: also by `p`, the probability of replacing a category."""

    one_of: ClassVar[tuple[str, ...]] = ("p", "gamma", "epsilon")
    p: Number | None = None

    def symmetric(self, size: int) -> Symmetric:
        """Return the channel over `size` categories. Raises ChannelError, NotStochastic."""
        if self.p is not None:
            return Symmetric.from_probability(size, self.p)
        return Symmetric.from_gamma(size, self.amplification)


INVARIANT_SIZE = 1 << 10
"""An invariant matrix is a product of two, rounded row by row: about a second at this size."""


def labels(variables: tuple[Variable, ...]) -> dict[str, int]:
    """Return the code of every combination of categories, written `a*b` in a joint block.

    Raises:
        ChannelError: categories have stars of their own, so that two combinations are written
            alike.
    """
    product = itertools.product(*(v.categories for v in variables))
    written = ["*".join(combination) for combination in product]
    codes = {label: code for code, label in enumerate(written)}
    if len(codes) < len(written):
        twice = [label for label, times in Counter(written).items() if times > 1]
        raise ChannelError(
            f"{len(twice)} names stand for more than one combination of categories, such as"
            f" {twice[:1]}.",
            remedy="Write the categories of a joint block without a star.",
        )
    return codes


def require_known(named: list[str], codes: dict[str, int], where: str) -> None:
    """Check that categories exist. Raises UnknownCategory naming those that do not."""
    unknown = [category for category in named if category not in codes]
    if unknown:
        raise UnknownCategory(
            f"The {where} name categories the variable does not have: {unknown}"
            f"{did_you_mean(unknown, codes)}.",
            remedy="Spell them as the variable's categories are spelled.",
        )


def require_size(size: int, variables: tuple[Variable, ...]) -> None:
    """Check that variables have `size` combinations. Raises ChannelError."""
    wanted = Domain(variables).size
    if wanted != size:
        require_listable(wanted)
        raise ChannelError(
            f"The channel is for {size} categories; there are {wanted}.",
            remedy="Give a channel that has one row per category.",
        )


def require_listable(size: int) -> None:
    """Refuse to list a matrix of `size` rows and columns where it is too large.

    Raises:
        ChannelError: it has more than `LISTED_ENTRIES` entries.
    """
    _require_at_most(math.isqrt(LISTED_ENTRIES), size, "a matrix can be listed for")


def require_multipliable(size: int) -> None:
    """Refuse to make an invariant matrix of a size that takes long. Raises ChannelError."""
    _require_at_most(INVARIANT_SIZE, size, "an invariant matrix can be computed for")


def require_expressible(size: int) -> None:
    """Refuse more categories than probabilities over 2^32 can serve. Raises ChannelError."""
    _require_at_most(RESOLUTION, size, "multiples of 2^-32 can serve")


def require_countable(size: int, whose: str = "of categories") -> None:
    """Refuse variables reported together with more cells than 64 bits can number.

    Raises:
        ChannelError: there are more.
    """
    if size > MIXTURE_CELLS:
        raise ChannelError(
            f"There are more than 2^62 combinations {whose}, so many that they are not reported"
            " together.",
            remedy='Put fewer variables together; kind = "sampled" takes any number in a block,'
            " and reports a few of them of each record.",
        )


def _require_at_most(limit: int, size: int, purpose: str) -> None:
    if size > limit:
        raise ChannelError(
            f"There are {size} combinations of categories, more than the {limit} that {purpose}.",
            remedy='Use kind = "gamma-diagonal" or "sampled", which need no list, or put fewer'
            " variables into the block.",
        )
