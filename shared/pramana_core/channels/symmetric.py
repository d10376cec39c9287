"""Channels that treat all categories alike and have one or two probabilities."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from numbers import Real
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Le

from pramana_core.channels.base import (
    CONDITION_LIMIT,
    RESOLUTION,
    Probability,
    Size,
    Tensor,
    Transition,
    Units,
    UnitTransition,
    kept_size,
    require_gamma,
    require_probability,
    require_ranges,
    require_size,
)
from pramana_core.errors import ChannelError, OptionError, SingularChannel

SHARE = 0.5
"""The default alpha of a design, as a share of the probability to keep the record."""


class MixingTransition(Transition):
    """A channel P = a I + b 11' over `size` categories; its inverse has the same form."""

    size: int

    @property
    @abstractmethod
    def mixture(self) -> tuple[float, float]:
        """(a, b) with P = a I + b 11'."""

    @property
    @abstractmethod
    def inverse_mixture(self) -> tuple[float, float]:
        """(a, b) with P^-1 = a I + b 11'. Raises SingularChannel."""

    @property
    def shape(self) -> tuple[int, int]:
        return self.size, self.size

    @property
    def listed_rows(self) -> int:
        return 0

    def apply(self, tensor: Tensor, axis: int) -> Tensor:
        return _mix(tensor, axis, *self.mixture)

    apply_adjoint = apply

    def solve(self, tensor: Tensor, axis: int) -> Tensor:
        return _mix(tensor, axis, *self.inverse_mixture)

    solve_adjoint = solve

    def solve_square(self, tensor: Tensor, axis: int) -> Tensor:
        spread, shift = self.inverse_mixture
        return _mix(tensor, axis, spread * (spread + 2 * shift), shift**2)


@dataclass(frozen=True)
class Identity(MixingTransition, UnitTransition):
    """Reports every category unchanged; the variable is not randomized.

    Args:
        size: the number of categories.

    Examples:
        >>> import pramana as pm
        >>> pm.Identity(2).matrix().tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """

    family = "identity"
    size: Size

    def __post_init__(self) -> None:
        require_ranges(self)

    @property
    def mixture(self) -> tuple[float, float]:
        return 1.0, 0.0

    @property
    def inverse_mixture(self) -> tuple[float, float]:
        return 1.0, 0.0

    @property
    def exact_mixture(self) -> tuple[Fraction, Fraction]:
        return Fraction(1), Fraction(0)

    @property
    def is_identity(self) -> bool:
        return True

    @property
    def deterministic(self) -> bool:
        return True

    def units(self) -> Units:
        return np.eye(self.size, dtype=np.int64) * RESOLUTION

    def apply(self, tensor: Tensor, axis: int) -> Tensor:  # noqa: ARG002 - the interface's
        return tensor

    apply_adjoint = solve = solve_adjoint = solve_square = apply

    @property
    def condition_number(self) -> float:
        return 1.0

    def restrict(self, sizes: Sequence[int], kept: Sequence[bool]) -> Transition:
        return Identity(kept_size(sizes, kept))

    def describe(self) -> str:
        return "none"


@dataclass(frozen=True)
class Symmetric(MixingTransition, UnitTransition):
    """Keeps every category with the same probability and replaces it uniformly by another one.

    P = (keep - off) I + off 11' with off = `off_units` / 2^32. This family includes binary
    symmetric randomization, Ma's multi-category randomization (Ma 2.1) and FRAPP's gamma-diagonal
    matrix (FRAPP 3).

    Args:
        size: the number of categories, K.
        off_units: the probability of each other category, times 2^32.

    Raises:
        ChannelError: there are fewer than two categories.
        ChannelError: `off_units` is negative or makes the probability to keep negative.

    Examples:
        >>> import pramana as pm
        >>> pm.Symmetric.from_probability(3, 0.2).matrix().round(2).tolist()
        [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]
        >>> pm.Symmetric.from_gamma(2, 3).describe()
        'symmetric, kept 0.75'
    """

    family = "symmetric"
    alone = True
    size: Size
    off_units: Probability

    def __post_init__(self) -> None:
        require_ranges(self)
        if self.keep_units < 0:
            raise ChannelError(
                f"In a symmetric channel over {self.size} categories, the probability of each other"
                f" category cannot be {self.off_units / RESOLUTION:.6g}.",
                remedy=f"Choose it between 0 and 1/{self.size - 1}.",
            )

    @classmethod
    def from_probability(cls, size: int, p: float) -> Symmetric:
        """Build the channel from `p`, the probability that a category is replaced (Ma 2.1).

        Raises:
            ChannelError: `p` is not between 0 and 1.
            ChannelError: `p` is positive but too small for multiples of 2^-32.
        """
        require_size(size)
        require_probability("The probability of replacing a category", p)
        return cls(size, _quantize_off(size, p / (size - 1)))

    @classmethod
    def from_gamma(cls, size: int, gamma: float) -> Symmetric:
        """Build the most accurate symmetric channel of amplification `gamma` (FRAPP eq. 13).

        Rounding never raises the amplification above `gamma`.

        Raises:
            ChannelError: `gamma` is below 1, not finite, or too close to 1 for multiples of 2^-32
                over this many categories.
        """
        require_size(size)
        require_gamma(gamma)
        off = math.ceil(RESOLUTION / (Fraction(gamma) + size - 1))
        keep = RESOLUTION - (size - 1) * off
        if keep < off:
            if gamma == 1:
                raise ChannelError(
                    "With a gamma of 1, reports do not depend on the true category.",
                    remedy="Choose a gamma above 1.",
                )
            # Rounding up exceeded the total, and the channel would not have the requested gamma.
            raise ChannelError(
                f"Gamma {gamma:g} over {size:.6g} categories needs probabilities below 2^-32.",
                remedy="Raise gamma, or randomize fewer categories together.",
            )
        return cls(size, off)

    @property
    def keep_units(self) -> int:
        """The probability of keeping a category, times `RESOLUTION`."""
        return RESOLUTION - (self.size - 1) * self.off_units

    def units(self) -> Units:
        full = np.full((self.size, self.size), self.off_units, dtype=np.int64)
        np.fill_diagonal(full, self.keep_units)
        return full

    def restrict(self, sizes: Sequence[int], kept: Sequence[bool]) -> Transition:
        if all(kept):
            return self
        size = kept_size(sizes, kept)
        return Symmetric(size, self.off_units * (self.size // size))

    @property
    def mixture(self) -> tuple[float, float]:
        return self._spread, self.off_units / RESOLUTION

    @property
    def _spread(self) -> float:
        return (self.keep_units - self.off_units) / RESOLUTION

    @cached_property
    def inverse_mixture(self) -> tuple[float, float]:
        """(a, b) with P^-1 = a I + b 11' by Sherman and Morrison. Raises SingularChannel."""
        if self.condition_number > CONDITION_LIMIT:
            raise SingularChannel(
                f"The symmetric channel over {self.size} categories is singular: it reports every"
                " category with (almost) equal probability, so the reports reveal nothing.",
                remedy=f"Choose p other than {self.size - 1}/{self.size}.",
            )
        return 1 / self._spread, -(self.off_units / RESOLUTION) / self._spread

    @property
    def condition_number(self) -> float:
        return 1 / abs(self._spread) if self._spread else math.inf

    @property
    def is_identity(self) -> bool:
        return self.off_units == 0

    @property
    def deterministic(self) -> bool:
        return self.off_units in {0, RESOLUTION}

    @property
    def replaced(self) -> float:
        return 1 - self.keep_units / RESOLUTION

    @property
    def exact_mixture(self) -> tuple[Fraction, Fraction]:
        return Fraction(self.keep_units, RESOLUTION), Fraction(self.off_units, RESOLUTION)

    def describe(self) -> str:
        return f"symmetric, kept {self.keep_units / RESOLUTION:.3g}"


@dataclass(frozen=True)
class RandomSymmetric(Symmetric):
    """A symmetric channel that the owner draws secretly for every record (RAN-GD, FRAPP 4).

    A record's own probability of each other category is uniform over the integers between
    `off_units - spread_units` and `off_units + spread_units`. Its probability to keep the category
    differs from the expected one by at most alpha = (size - 1) spread. Only the owner knows these
    probabilities, so a report has the distribution of the expected channel. Its estimates, gamma
    and posteriors are those of `Symmetric`.

    Args:
        size: the number of categories, K.
        off_units: the expected probability of each other category, times 2^32.
        spread_units: the largest difference from the expected probability, times 2^32.

    Raises:
        ChannelError: some of the channels would have a negative probability.

    Examples:
        >>> import pramana as pm
        >>> pm.RandomSymmetric.around_gamma(4, 9, 0.2).describe()
        'symmetric, random per record, kept 0.75 ± 0.15'
    """

    family = "random-symmetric"
    kind = "random-gamma-diagonal"
    alone = False
    told = "the whole record is randomized together, by a secret matrix."
    spread_units: Probability

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.spread_units > self.off_units or (
            (self.size - 1) * (self.off_units + self.spread_units) > RESOLUTION
        ):
            raise ChannelError(
                f"A spread of {self.spread_units / RESOLUTION:.6g} around a probability of"
                f" {self.off_units / RESOLUTION:.6g} leads to probabilities outside 0 to 1.",
                remedy="Choose a smaller alpha (a smaller share of the probability to keep).",
            )

    @classmethod
    def around_gamma(cls, size: int, gamma: float, share: float) -> RandomSymmetric:
        """Build the channel with alpha = `share` * gamma x around the expected channel (FRAPP 4.1).

        Raises:
            ChannelError: see `Symmetric.from_gamma`.
            OptionError: `share` is not between 0 and 1.
            ChannelError: alpha is too large for this size.
        """
        if not isinstance(share, Real) or not 0 <= share <= 1:
            raise OptionError(
                f"share must be between 0 and 1, not {share!r}; FRAPP uses 0.5.",
                where="share",
            )
        middle = Symmetric.from_gamma(size, gamma)
        spread = math.floor(Fraction(share) * middle.keep_units / (size - 1))
        return cls(size, middle.off_units, spread)

    @property
    def alpha(self) -> float:
        """The largest deviation of a record's probability to keep its category."""
        return (self.size - 1) * self.spread_units / RESOLUTION

    def restrict(self, sizes: Sequence[int], kept: Sequence[bool]) -> Transition:
        if all(kept):
            return self
        return Symmetric(self.size, self.off_units).restrict(sizes, kept)

    def describe(self) -> str:
        kept = self.keep_units / RESOLUTION
        return f"symmetric, random per record, kept {kept:.3g} ± {self.alpha:.3g}"

    def site_keys(self, gamma: float, share: float) -> dict[str, Any]:
        return super().site_keys(gamma, share) | {"share": SHARE}


def _mix(tensor: Tensor, axis: int, spread: float, shift: float) -> Tensor:
    """Return (spread I + shift 11') x along `axis`."""
    mixed: Tensor = spread * tensor + shift * tensor.sum(axis=axis, keepdims=True)
    return mixed


def _quantize_off(size: int, off: float) -> int:
    units = min(round(off * RESOLUTION), RESOLUTION // (size - 1))
    if off > 0 and units == 0:
        raise ChannelError(
            f"A probability of {off:.3g} per other category is too small; the unit is 2^-32.",
            remedy="Raise p, or use fewer categories.",
        )
    return units


MIXTURE_RESOLUTION = 1 << 64
"""The denominator of a mixture's probability, which is an integer divided by it."""

MIXTURE_CELLS = 1 << 62
"""The maximum number of cells of a block, so that a cell's index fits into 64 bits."""

FINE = 1 << 20
"""Maximum number of cells of a symmetric channel; for more, 2^-32 is too coarse: use a mixture."""

_Cells = Annotated[int, Ge(2), Le(MIXTURE_CELLS)]


@dataclass(frozen=True)
class Mixture(MixingTransition):
    """Keeps the whole record with probability a, and otherwise draws one uniformly from the domain.

    P = a I + (1 - a)/n 11' with a = keep / 2^64. This is FRAPP's gamma-diagonal matrix over a
    product domain of any size, without a list of cells or a probability for each cell (FRAPP 5
    draws the same matrix column by column). The uniform part is exactly uniform for every n.

    Args:
        size: the number of cells of the domain, n.
        keep: a, times 2^64.

    Raises:
        ChannelError: there are fewer than two cells, or more than `MIXTURE_CELLS`.
        ChannelError: `keep` divided by 2^64 is not a probability.

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
        require_ranges(self)

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
        """The probability a of keeping the record; a uniform draw may also repeat it."""
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
                " small to estimate anything from the reports.",
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
    """Return the most accurate channel of amplification `gamma` over any number of categories."""
    return Symmetric.from_gamma(size, gamma) if size <= FINE else Mixture.from_gamma(size, gamma)


@dataclass(frozen=True)
class Withheld(UnitTransition):
    """Withholds the variable: all true categories have the same report.

    Args:
        size: the number of categories.

    Examples:
        >>> import pramana as pm
        >>> pm.Withheld(3).shape
        (3, 1)
    """

    family = "withheld"
    size: _Cells

    def __post_init__(self) -> None:
        require_ranges(self)

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
            "A withheld variable cannot be estimated by the moment estimator.",
            remedy="Omit the variable, or use a maximum-likelihood estimator.",
        )

    solve_adjoint = solve_square = solve

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
