"""Channels that report items: each category of a variable becomes a separate bit.

A variable of K categories is one-hot: exactly one of its K items is true. Its report is any set of
items, written as an integer below 2^K whose bit c is item c.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Le

from pramana_core.channels.base import (
    CONDITION_LIMIT,
    RESOLUTION,
    ListedTransition,
    Probability,
    Sizes,
    Tensor,
    Transition,
    along_axis,
    condition_number,
    require_gamma,
    require_probability,
    require_ranges,
    require_size,
    require_sizes,
)
from pramana_core.domain import VARIABLES
from pramana_core.errors import ChannelError, OptionError, SingularChannel

ITEMS = 16
"""Maximum number of categories of a variable reported as items, which has 2^K possible reports."""


@dataclass(frozen=True)
class OneHot(ListedTransition):
    """Flips every item of a one-hot variable independently (the MASK channel, FRAPP 7).

    P[l, y] = q^d (1 - q)^(K - d), where q = flip_units / 2^32 and d is the number of items in which
    the set y differs from {l}.

    Args:
        size: the number of categories, K.
        flip_units: the probability that an item is flipped, times 2^32.

    Raises:
        ChannelError: there are fewer than 2 or more than `ITEMS` categories.
        ChannelError: the probability of flipping is not between 0 and 1.

    Examples:
        >>> import pramana as pm
        >>> pm.OneHot.from_probability(3, 0.9).shape
        (3, 8)
    """

    family = "one-hot"
    kind = "mask"
    alone = True
    told = "each category of each variable is flipped independently."
    items = True
    size: Annotated[int, Ge(2)]
    flip_units: Probability

    def __post_init__(self) -> None:
        require_ranges(self)
        _require_items((self.size,))

    @classmethod
    def from_probability(cls, size: int, p: float) -> OneHot:
        """Build the channel from `p`, the probability that an item is reported unchanged."""
        require_probability("The probability of keeping an item", p)
        return cls(size, round((1 - p) * RESOLUTION))

    @classmethod
    def from_gamma(cls, size: int, gamma: float) -> OneHot:
        """Build the most accurate channel of amplification `gamma`: (p / (1 - p))^2 <= gamma.

        The exponent is 2 because two records differ in two items. Raises ChannelError if `gamma` is
        below 1.
        """
        require_gamma(gamma)
        flip = math.ceil(RESOLUTION / (1 + math.sqrt(gamma)))
        while ((RESOLUTION - flip) / flip) ** 2 > gamma:
            flip += 1
        return cls(size, flip)

    @property
    def shape(self) -> tuple[int, int]:
        return self.size, 1 << self.size

    @cached_property
    def _matrix(self) -> Tensor:
        q = self.flip_units / RESOLUTION
        reports = np.arange(1 << self.size)
        differing = np.array(
            [[int(y ^ (1 << truth)).bit_count() for y in reports] for truth in range(self.size)]
        )
        listed: Tensor = q**differing * (1 - q) ** (self.size - differing)
        return listed

    @property
    def is_identity(self) -> bool:
        return self.flip_units == 0

    def restrict(self, sizes: Sequence[int], kept: Sequence[bool]) -> Transition | None:  # noqa: ARG002
        return self

    def report_sizes(self, sizes: Sequence[int]) -> tuple[int, ...] | None:
        return (1 << self.size,) if tuple(sizes) == (self.size,) else None

    @property
    def deterministic(self) -> bool:
        return self.flip_units in {0, RESOLUTION}

    def describe(self) -> str:
        return f"items, each flipped {self.flip_units / RESOLUTION:.3g}"

    @property
    def amplification(self) -> float:
        """The exact gamma, (p / (1 - p))^2, because two records differ in two items."""
        low, high = sorted((self.flip_units, RESOLUTION - self.flip_units))
        return float(Fraction(high, low) ** 2) if low else math.inf

    @property
    def truthful(self) -> float:
        return 1 - self.flip_units / RESOLUTION


@dataclass(frozen=True)
class CutAndPaste(ListedTransition):
    """Keeps a few items of the record and inserts others at random (Evfimievski; FRAPP eq. 12).

    The channel draws j uniformly from the integers 0 .. `cut` and keeps min(j, M) of the record's M
    items, chosen uniformly. It reports every other item, including the record's other items, with
    probability rho = `paste_units` / 2^32. A record has one item per variable.

    For each combination of categories the estimator counts the items that a report shares with it
    (its partial supports). It inverts the (k + 1) x (k + 1) matrix of these counts (FRAPP 7;
    Evfimievski et al. 2002). `of` is M, which may exceed the number of variables of this channel.

    Args:
        sizes: the number of categories of each variable.
        cut: the largest number of items that are kept.
        paste_units: rho, times 2^32.
        of: M, the number of the record's items.

    Raises:
        ChannelError: a variable has more than `ITEMS` categories, or `cut` is negative.
        ChannelError: `of` is too small, or rho is not above 0 and at most 1.

    Examples:
        >>> import pramana as pm
        >>> pm.CutAndPaste.from_probability((2, 3), 1, 0.25).shape
        (6, 32)
    """

    family = "cut-and-paste"
    items = True
    sizes: Sizes
    cut: Annotated[int, Ge(0), Le(VARIABLES)]
    paste_units: Probability
    of: Annotated[int, Ge(1), Le(VARIABLES)]

    def __post_init__(self) -> None:
        require_ranges(self)
        require_sizes(self.sizes)
        for size in self.sizes:
            require_size(size)
        _require_items(self.sizes)
        if not 1 <= len(self.sizes) <= self.of:
            raise ChannelError(f"sizes must list 1 to {self.of} variables, not {len(self.sizes)}.")
        if self.paste_units == 0:
            raise ChannelError(
                "rho must be above 0.", remedy="With rho = 0 every reported item would be true."
            )

    @classmethod
    def from_probability(cls, sizes: Sequence[int], cut: int, rho: float) -> CutAndPaste:
        """Build the channel from K (`cut`) and `rho`. Raises ChannelError."""
        require_probability("rho", rho)
        require_sizes(sizes)
        return cls(tuple(sizes), cut, round(rho * RESOLUTION), len(sizes))

    @classmethod
    def from_gamma(cls, sizes: Sequence[int], cut: int, gamma: float) -> CutAndPaste:
        """Build the channel with the smallest rho for which its amplification is at most `gamma`.

        Raises:
            ChannelError: `gamma` is below 1.
            OptionError: no rho achieves `gamma` with this K.
        """
        require_gamma(gamma)
        require_sizes(sizes)
        low, high = 1, RESOLUTION - 1

        def made(paste: int) -> CutAndPaste:
            return cls(tuple(sizes), cut, paste, len(sizes))

        if made(high).amplification > gamma:
            raise OptionError(
                f"Keeping up to {cut} of {len(sizes)} items has an amplification of at least"
                f" {made(high).amplification:.4g}.",
                where="gamma",
                remedy="Choose a smaller K or a larger gamma.",
            )
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if made(middle).amplification <= gamma else (middle, high)
        return made(high)

    @property
    def shape(self) -> tuple[int, int]:
        return math.prod(self.sizes), 1 << sum(self.sizes)

    @property
    def rho(self) -> float:
        """The probability of reporting an item that was not kept."""
        return self.paste_units / RESOLUTION

    @cached_property
    def kept_items(self) -> tuple[Fraction, ...]:
        """The probabilities of keeping 0, 1, ..., m items of the channel's m variables."""
        each = Fraction(1, self.cut + 1)
        whole = [each if z <= self.cut else Fraction(0) for z in range(self.of + 1)]
        whole[self.of] += each * max(0, self.cut - self.of)
        m = len(self.sizes)
        ways = math.comb
        return tuple(
            sum(
                (
                    share
                    * Fraction(ways(m, z) * ways(self.of - m, total - z), ways(self.of, total))
                    for total, share in enumerate(whole)
                    if 0 <= total - z <= self.of - m
                ),
                Fraction(0),
            )
            for z in range(m + 1)
        )

    @property
    def amplification(self) -> float:
        """The exact gamma, for a report with all items of one record and no item of another record.

        P[l, y] depends on y and on q, the number of items of l in y, through sum_z f_z C(q, z) /
        C(m, z) rho^-z, which grows with q. So the largest ratio is between a record with all its
        items in some report y and a record with none.
        """
        rho = Fraction(self.paste_units, RESOLUTION)
        best = sum(f / rho**z for z, f in enumerate(self.kept_items))
        none = self.kept_items[0]
        if rho == 1:
            return 1.0
        return float(best / none) if none else math.inf

    @cached_property
    def _matrix(self) -> Tensor:
        self._require_listable()
        m, rho = len(self.sizes), Fraction(self.paste_units, RESOLUTION)
        # For each number of the record's items in a report.
        given = [
            sum(
                f * Fraction(math.comb(q, z), math.comb(m, z)) / rho**z
                for z, f in enumerate(self.kept_items[: q + 1])
            )
            for q in range(m + 1)
        ]
        inserted = [_bits(size).sum(axis=0) for size in self.sizes]
        length = np.asarray(sum(np.ix_(*inserted))).ravel()
        spread = self.rho**length * (1 - self.rho) ** (sum(self.sizes) - length)
        weights = np.array([float(each) for each in given])
        return np.asarray(spread * weights[self._overlaps()], dtype=np.float64)

    def decoder(self) -> Tensor:
        self._require_listable()
        return self._weights[self._overlaps()]

    def _overlaps(self) -> npt.NDArray[np.int64]:
        """Return the number of items that each combination shares with each report, K x L."""
        rows = [_bits(size) for size in self.sizes]
        cells = np.ndindex(*self.sizes)
        found = (sum(np.ix_(*(r[c] for r, c in zip(rows, cell, strict=True)))) for cell in cells)
        return np.array([np.asarray(each).ravel() for each in found])

    @cached_property
    def partial_supports(self) -> Tensor:
        """The (k + 1) x (k + 1) matrix M[l', l] for k variables.

        M[l', l] is the probability that a report has l' items of a combination of k items if the
        record has l of them.
        """
        k, rho = len(self.sizes), self.rho
        table = np.zeros((k + 1, k + 1))
        for own in range(k + 1):
            for z, share in enumerate(self.kept_items):
                for hit in range(max(0, z - (k - own)), min(own, z) + 1):
                    ways = math.comb(own, hit) * math.comb(k - own, z - hit) / math.comb(k, z)
                    for more in range(k - hit + 1):
                        inserted = math.comb(k - hit, more) * rho**more
                        inserted *= (1 - rho) ** (k - hit - more)
                        table[hit + more, own] += float(share) * ways * inserted
        return table

    @property
    def condition_number(self) -> float:
        """The condition number of `partial_supports`, which the estimator inverts."""
        return condition_number(self.partial_supports)

    @property
    def normalized(self) -> bool:
        return False

    @cached_property
    def _weights(self) -> Tensor:
        """The weight of a report in the estimated count of a combination of items.

        The index is the number of these items in the report.
        """
        if self.condition_number > CONDITION_LIMIT:
            raise SingularChannel(
                f"Cut and paste with K = {self.cut} and rho = {self.rho:.4g} reveals (almost)"
                f" nothing about {len(self.sizes)} items together (condition number"
                f" above {CONDITION_LIMIT:.0e}).",
                remedy="Choose a smaller rho, or request fewer variables.",
            )
        last = np.zeros(len(self.sizes) + 1)
        last[-1] = 1
        weights = np.linalg.solve(self.partial_supports.T, last)
        return np.asarray(weights, dtype=np.float64)

    def solve(self, tensor: Tensor, axis: int) -> Tensor:
        return self._weigh(tensor, axis, self._weights)

    def solve_square(self, tensor: Tensor, axis: int) -> Tensor:
        return self._weigh(tensor, axis, np.square(self._weights))

    def solve_adjoint(self, tensor: Tensor, axis: int) -> Tensor:
        return along_axis(self.decoder().T, tensor, axis)

    def _weigh(self, tensor: Tensor, axis: int, weights: Tensor) -> Tensor:
        source = np.moveaxis(tensor, axis, 0)
        rest = source.shape[1:]
        # The leading axis counts shared items; the variables' axes change from bits to categories.
        counted = source.reshape(1, *(1 << size for size in self.sizes), *rest).astype(np.float64)
        for place, size in enumerate(self.sizes, start=1):
            bits = _bits(size).astype(np.float64)
            present = along_axis(bits, counted, place)
            absent = along_axis(1 - bits, counted, place)
            none = np.zeros((1, *present.shape[1:]))
            counted = np.concatenate([absent, none]) + np.concatenate([none, present])
        weighed: Tensor = np.tensordot(weights, counted, axes=(0, 0))
        return np.moveaxis(weighed.reshape(self.shape[0], *rest), 0, axis)

    def restrict(self, sizes: Sequence[int], kept: Sequence[bool]) -> Transition:
        left = tuple(size for size, keep in zip(sizes, kept, strict=True) if keep)
        return CutAndPaste(left, self.cut, self.paste_units, self.of)

    def report_sizes(self, sizes: Sequence[int]) -> tuple[int, ...] | None:
        return tuple(1 << s for s in self.sizes) if tuple(sizes) == self.sizes else None

    @property
    def deterministic(self) -> bool:
        return self.paste_units == RESOLUTION

    @property
    def listed_rows(self) -> int:
        return max(self.sizes)

    def describe(self) -> str:
        return f"cut and paste, K {self.cut}, rho {self.rho:.3g}"

    @property
    def told(self) -> str:
        return f"up to {self.cut} items of each record are kept, and others are inserted."

    def site_keys(self, gamma: float, share: float) -> dict[str, Any]:
        return super().site_keys(gamma, share) | {"keep": self.cut}

    def reports_together(self, axes: Collection[int]) -> bool:
        return len(axes) <= self.cut

    def together(self, variables: int) -> int:
        return min(variables, self.cut)  # more variables are never all kept

    @property
    def uniform_mean_square(self) -> float:
        # An estimate depends only on how many of the cell's items the report has, and this on how
        # many of them the record has. No list of all reports is needed (FRAPP 7).
        agree: Tensor = np.ones(1)
        for size in self.sizes:
            agree = np.convolve(agree, [1 - 1 / size, 1 / size])
        return float(np.square(self._weights) @ self.partial_supports @ agree)


def _bits(size: int) -> npt.NDArray[np.int64]:
    return (np.arange(1 << size) >> np.arange(size)[:, None]) & 1


def _require_items(sizes: Sequence[int]) -> None:
    if max(sizes, default=0) > ITEMS:
        raise ChannelError(
            f"A variable of {max(sizes)} categories would have 2^{max(sizes)} reports, one for each"
            f" set of items; at most {ITEMS} categories are possible.",
            remedy="Use a symmetric or sampled channel, which takes any number of categories.",
        )
