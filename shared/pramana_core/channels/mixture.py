"""Symmetric channels over product domains of any size, and variables that are not reported."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated

import numpy as np
from annotated_types import Ge, Le

from pramana_core.channels.base import (
    CONDITION_LIMIT,
    RESOLUTION,
    Tensor,
    Transition,
    Units,
    UnitTransition,
    kept_size,
    require_gamma,
    require_size,
    require_units,
)
from pramana_core.channels.symmetric import MixingTransition, Symmetric
from pramana_core.errors import ChannelError, NotStochastic, SingularChannel

MIXTURE_RESOLUTION = 1 << 64
"""A mixture's one probability is an integer over this denominator."""

MIXTURE_CELLS = 1 << 62
"""A block has at most this many cells, so that a cell's number fits into 64 bits."""

FINE = 1 << 20
"""Over more cells than this, 2^-32 is too coarse for a symmetric channel; a mixture takes 2^-64."""

_Cells = Annotated[int, Ge(2), Le(MIXTURE_CELLS)]


@dataclass(frozen=True)
class Mixture(MixingTransition):
    """Keep the whole record with probability a, else draw one uniformly from the domain.

    P = a I + (1 - a)/n 11' with a = keep / 2^64: FRAPP's gamma-diagonal matrix over a product
    domain of any size, which needs neither a list of cells nor probabilities per cell (FRAPP 5
    draws the same matrix column by column). The uniform part is exactly uniform for every n.

    Args:
        size: the number of cells of the domain, n.
        keep: a, times 2^64.

    Raises:
        ChannelError: fewer than two cells, or more than `MIXTURE_CELLS`.
        NotStochastic: `keep` is not a probability over 2^64.

    Examples:
        >>> import pramana as pm
        >>> pm.Mixture.from_gamma(10**12, 19).shape
        (1000000000000, 1000000000000)
    """

    family = "mixture"
    kind = "gamma-diagonal"
    size: _Cells
    keep: Annotated[int, Ge(0), Le(MIXTURE_RESOLUTION)]

    def __post_init__(self) -> None:
        require_size(self.size)
        require_units("keep", self.keep, "2^64")
        if self.size > MIXTURE_CELLS:
            raise ChannelError(
                f"A domain of {self.size:.6g} cells is larger than the 2^62 a block may have.",
                remedy="Put fewer variables into the block.",
            )
        if not 0 <= self.keep <= MIXTURE_RESOLUTION:
            raise NotStochastic(
                f"The probability of keeping the record must be between 0 and 1, not"
                f" {self.keep / MIXTURE_RESOLUTION:.6g}."
            )

    @classmethod
    def from_gamma(cls, size: int, gamma: float) -> Mixture:
        """Build the most accurate mixture of amplification at most `gamma` (FRAPP eq. 13).

        Raises:
            ChannelError: `gamma` is below 1 or not finite.
        """
        require_size(size)
        require_gamma(gamma)
        excess = Fraction(gamma) - 1
        return cls(size, math.floor(MIXTURE_RESOLUTION * excess / (excess + size)))

    @property
    def kept(self) -> float:
        """The probability a of keeping the record for certain."""
        return self.keep / MIXTURE_RESOLUTION

    @property
    def mixture(self) -> tuple[float, float]:
        return self.kept, (1 - self.kept) / self.size

    @property
    def exact_mixture(self) -> tuple[Fraction, Fraction]:
        off = Fraction(MIXTURE_RESOLUTION - self.keep, MIXTURE_RESOLUTION * self.size)
        return off + Fraction(self.keep, MIXTURE_RESOLUTION), off

    @cached_property
    def inverse_mixture(self) -> tuple[float, float]:
        """(a, b) with P^-1 = a I + b 11'. Raises SingularChannel."""
        if self.condition_number > CONDITION_LIMIT:
            raise SingularChannel(
                f"Over {self.size} cells the record is kept with probability {self.kept:.3g}, too"
                " small for anybody to estimate anything from the reports.",
                remedy="Raise gamma, or randomize fewer variables together.",
            )
        return 1 / self.kept, -(1 - self.kept) / self.kept / self.size

    @property
    def condition_number(self) -> float:
        return 1 / self.kept if self.keep else math.inf

    @property
    def is_identity(self) -> bool:
        return self.keep == MIXTURE_RESOLUTION

    def restrict(self, sizes: Sequence[int], kept: Sequence[bool]) -> Transition:
        return Mixture(kept_size(sizes, kept), self.keep)

    @property
    def replaced(self) -> float:
        return (1 - self.kept) * (1 - 1 / self.size)

    def describe(self) -> str:
        return f"gamma-diagonal, record kept {self.kept:.3g}"


def most_accurate(size: int, gamma: float) -> Symmetric | Mixture:
    """Return the symmetric channel of amplification `gamma` over any number of categories."""
    return Symmetric.from_gamma(size, gamma) if size <= FINE else Mixture.from_gamma(size, gamma)


@dataclass(frozen=True)
class Withheld(UnitTransition):
    """The variable is not reported: K truths, one report that says nothing.

    Args:
        size: the number of categories, K.

    Examples:
        >>> import pramana as pm
        >>> pm.Withheld(3).shape
        (3, 1)
    """

    family = "withheld"
    size: _Cells

    def __post_init__(self) -> None:
        require_size(self.size)

    @property
    def shape(self) -> tuple[int, int]:
        return self.size, 1

    @property
    def exact_mixture(self) -> tuple[Fraction, Fraction]:
        return Fraction(1, self.size), Fraction(1, self.size)

    def units(self) -> Units:
        return np.full((self.size, 1), RESOLUTION, dtype=np.int64)

    def apply(self, tensor: Tensor, axis: int) -> Tensor:
        summed: Tensor = tensor.sum(axis=axis, keepdims=True)
        return summed

    def apply_adjoint(self, tensor: Tensor, axis: int) -> Tensor:
        return np.repeat(tensor, self.size, axis=axis)

    def solve(self, tensor: Tensor, axis: int) -> Tensor:  # noqa: ARG002 - the interface's
        raise SingularChannel(
            "A withheld variable cannot be estimated by moments.",
            remedy="Leave it out, or use an estimator by maximum likelihood.",
        )

    solve_adjoint = solve

    def solve_power(self, tensor: Tensor, axis: int, power: int) -> Tensor:  # noqa: ARG002
        return self.solve(tensor, axis)

    def own_moment(self, power: int) -> Tensor:  # noqa: ARG002 - the interface's
        return self.solve(np.zeros(1), 0)

    @property
    def condition_number(self) -> float:
        return math.inf

    def restrict(self, sizes: Sequence[int], kept: Sequence[bool]) -> Transition:
        return Withheld(kept_size(sizes, kept))

    def report_sizes(self, sizes: Sequence[int]) -> tuple[int, ...] | None:
        return (1,) * len(sizes) if math.prod(sizes) == self.size else None

    @property
    def listed_rows(self) -> int:
        return 0

    def describe(self) -> str:
        return "not reported"
