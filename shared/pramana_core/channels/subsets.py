"""Subset selection, for a variable with many categories."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Le

from pramana_core.channels.base import (
    CONDITION_LIMIT,
    RESOLUTION,
    Probability,
    Tensor,
    Transition,
    require_gamma,
    require_ranges,
    require_size,
)
from pramana_core.channels.symmetric import Symmetric, most_accurate
from pramana_core.domain import CATEGORIES
from pramana_core.errors import ChannelError, SingularChannel
from pramana_core.ties import exceeds

SUBSETS = 64
"""The number of published subsets; errors are at most 2.3 % above those of all subsets."""

SET_GAIN = 1.25
"""Sampled sets report subsets only if the mean squared error is smaller by at least this factor,
because moments cannot estimate parts of such a set, and it has `SUBSETS` times the reports."""

_Size = Annotated[int, Ge(3), Le(CATEGORIES)]


@dataclass(frozen=True)
class SubsetSelection(Transition):
    """Reports a subset of the categories that contains the true category more often than by chance.

    This is subset selection (Ye and Barg 2018) with 64 published subsets D_j of Z_K and all their
    shifts in place of all subsets. A report is the code j K + y. j is uniform, and y = x + e modulo
    K for the true category x. With probability inside / 2^32, e is uniform in D_j; otherwise it is
    uniform outside D_j. D_j contains the indices of the `chosen` smallest of the first K 64-bit
    words (little-endian) of SHAKE-256 of "K,chosen,j".

    Args:
        size: the number of categories, K.
        chosen: the number of categories in a subset.
        inside_units: the probability that the subset contains the true category, times 2^32.

    Raises:
        ChannelError: fewer than 3 categories, or fewer than 2 or all of them in a subset.
        ChannelError: a subset contains the true category no more often than chance.

    Examples:
        >>> import pramana as pm
        >>> pm.SubsetSelection.from_gamma(256, 19).describe()
        'subsets of 12 categories, 0.483 with the true one'
    """

    family = "subset-selection"
    kind = "subset"
    alone = True
    tags = SUBSETS
    told = "each report is a subset that contains the true category more often than chance."
    size: _Size
    chosen: Annotated[int, Ge(2), Le(CATEGORIES)]
    inside_units: Probability

    def __post_init__(self) -> None:
        require_ranges(self)
        if self.chosen >= self.size:
            raise ChannelError(
                f"A subset of {self.chosen} of {self.size} categories excludes no category.",
                where="chosen",
                remedy=f"Choose fewer than {self.size}; from_gamma computes the best number.",
            )
        if self.inside_units * self.size <= self.chosen * RESOLUTION:
            raise ChannelError(
                f"A subset of {self.chosen} of {self.size} categories contains the true one with"
                f" probability {self.inside_units / RESOLUTION:.6g}, no more often than chance.",
                where="inside_units",
                remedy="Choose a larger gamma; from_gamma computes the probability.",
            )

    @classmethod
    def from_gamma(cls, size: int, gamma: float) -> SubsetSelection | Symmetric:
        """Build the most accurate channel of amplification `gamma`.

        It is a symmetric channel if the best subsets have one category. Rounding never raises the
        amplification above `gamma`.

        Raises:
            ChannelError: `gamma` is below 1, not finite, or too close to 1 for multiples of 2^-32.
        """
        require_size(size)
        require_gamma(gamma)
        chosen = best_subset(size, float(gamma))
        if chosen == 1:
            return Symmetric.from_gamma(size, gamma)
        inside = Fraction(gamma) * chosen / (Fraction(gamma) * chosen + size - chosen)
        return cls(size, chosen, math.floor(RESOLUTION * inside))

    @property
    def shape(self) -> tuple[int, int]:
        return self.size, SUBSETS * self.size

    @property
    def exact_amplification(self) -> Fraction | None:
        """The exact gamma; None if infinite, because every subset contains the true category."""
        outside = RESOLUTION - self.inside_units
        if not outside:
            return None
        return Fraction(self.inside_units * (self.size - self.chosen), outside * self.chosen)

    @property
    def amplification(self) -> float:
        """The exact gamma, infinite if the subset always contains the true category.

        For any two true categories, some report is inside the subset of only the first.
        """
        exact = self.exact_amplification
        return math.inf if exact is None else float(exact)

    @property
    def likelihoods(self) -> tuple[float, float]:
        """The probability of each shift inside the subset, and of each shift outside it."""
        inside = self.inside_units / RESOLUTION
        return inside / self.chosen, (1 - inside) / (self.size - self.chosen)

    @property
    def shifts(self) -> npt.NDArray[np.int64]:
        """The shifts of each subset, 64 x K: those inside, then those outside, each ascending."""
        return _shifts(self.size, self.chosen)

    @property
    def members(self) -> npt.NDArray[np.bool_]:
        """Whether each subset contains each shift, 64 x K."""
        found = np.zeros((SUBSETS, self.size), dtype=bool)
        np.put_along_axis(found, self.shifts[:, : self.chosen], values=True, axis=1)
        return found

    @cached_property
    def _law(self) -> npt.NDArray[np.complex128]:
        inside, outside = self.likelihoods
        return np.fft.rfft(np.where(self.members, inside, outside) / SUBSETS)

    @cached_property
    def _powers(self) -> Tensor:
        powers: Tensor = np.square(np.abs(self._law)).sum(axis=0)
        return powers

    @cached_property
    def _inverse(self) -> npt.NDArray[np.complex128]:
        """The Fourier transform of D by category minus shift. Raises SingularChannel."""
        if self.condition_number > CONDITION_LIMIT:
            raise SingularChannel(
                f"The channel over subsets of {self.chosen} of {self.size} categories is singular:"
                " its reports hardly depend on the true category.",
                remedy="Choose a larger gamma.",
            )
        # If all categories are equally frequent, so are all reports: this is least squares.
        return np.asarray(np.conj(self._law) / self._powers, dtype=np.complex128)

    def matrix(self) -> Tensor:
        self._require_listable()
        inside, outside = self.likelihoods
        # Computed without transforms, so that equal probabilities are equal floats.
        shifts = (np.arange(self.size) - np.arange(self.size)[:, None]) % self.size
        listed = np.where(self.members[:, shifts], inside, outside) / SUBSETS
        return np.moveaxis(listed, 0, 1).reshape(self.shape)

    def _spread(self, kernel: npt.NDArray[np.complex128], tensor: Tensor, axis: int) -> Tensor:
        """Convolve an axis of length K with each subset's kernel. The result has length 64 K."""
        moved = np.fft.rfft(np.moveaxis(tensor, axis, -1))[..., None, :]
        made = np.fft.irfft(moved * kernel, n=self.size)
        return np.moveaxis(made.reshape(*made.shape[:-2], self.shape[1]), -1, axis)

    def _gather(self, kernel: npt.NDArray[np.complex128], tensor: Tensor, axis: int) -> Tensor:
        """Convolve each subset's part of an axis of length 64 K with its kernel, and add them."""
        moved = np.moveaxis(tensor, axis, -1)
        parts = np.fft.rfft(moved.reshape(*moved.shape[:-1], SUBSETS, self.size))
        summed = np.fft.irfft(np.einsum("...jf,jf->...f", parts, kernel), n=self.size)
        return np.moveaxis(summed, -1, axis)

    def apply(self, tensor: Tensor, axis: int) -> Tensor:
        return self._spread(self._law, tensor, axis)

    def apply_adjoint(self, tensor: Tensor, axis: int) -> Tensor:
        return self._gather(np.conj(self._law), tensor, axis)

    def solve(self, tensor: Tensor, axis: int) -> Tensor:
        return self._gather(self._inverse, tensor, axis)

    def solve_adjoint(self, tensor: Tensor, axis: int) -> Tensor:
        return self._spread(np.conj(self._inverse), tensor, axis)

    def solve_square(self, tensor: Tensor, axis: int) -> Tensor:
        return self._gather(self._squares, tensor, axis)

    @cached_property
    def _squares(self) -> npt.NDArray[np.complex128]:
        return np.fft.rfft(np.square(np.fft.irfft(self._inverse, n=self.size)))

    @cached_property
    def estimate_noise(self) -> tuple[float, float]:
        """(C, D) as in `Transition`, for the mean variance over equally frequent categories."""
        truth = np.zeros(self.size)
        truth[0] = 1.0
        squares = self.solve_square(self.apply(truth, 0), 0)
        return _noise(float(squares[0]), float(squares[1:].mean()), self.size)

    def margin_noise(self, sizes: Sequence[int], kept: Sequence[bool]) -> tuple[float, float]:
        """Return `estimate_noise` for cells summed over the variables that are not `kept`."""
        if all(kept):
            return self.estimate_noise
        own, other = [], []
        gone = tuple(size if keep else 1 for size, keep in zip(sizes, kept, strict=True))
        labels = np.broadcast_to(np.arange(math.prod(gone)).reshape(gone), sizes).ravel()
        for label in range(math.prod(gone)):
            inside = labels == label
            squares = np.square(self.solve_adjoint(inside.astype(np.float64), 0))
            mean = self.apply_adjoint(squares, 0)
            own.append(mean[inside].mean())
            other.append(mean[~inside].mean())
        return _noise(float(np.mean(own)), float(np.mean(other)), len(own))

    @property
    def condition_number(self) -> float:
        largest, least = float(self._powers.max()), float(self._powers.min())
        return math.sqrt(largest / least) if least else math.inf

    @property
    def listed_rows(self) -> int:
        return 0

    def report_sizes(self, sizes: Sequence[int]) -> tuple[int, ...] | None:
        # The code of the first variable also contains the subset.
        fits = math.prod(sizes) == self.size
        return (SUBSETS * sizes[0], *sizes[1:]) if fits else None

    def restrict(self, sizes: Sequence[int], kept: Sequence[bool]) -> Transition | None:  # noqa: ARG002
        return self if all(kept) else None

    def describe(self) -> str:
        inside = self.inside_units / RESOLUTION
        return f"subsets of {self.chosen} categories, {inside:.3g} with the true one"


@lru_cache(maxsize=1 << 12)
def set_channel(size: int, gamma: float, *, subsets: bool) -> Transition:
    """Return the channel of a sampled set of `size` cells: subset selection if it gains enough."""
    if subsets and 2 < size <= CATEGORIES and gamma > 1:
        error = subset_error(size, best_subset(size, float(gamma)), gamma)
        if exceeds(subset_error(size, 1, gamma), SET_GAIN * error):
            return SubsetSelection.from_gamma(size, gamma)
    return most_accurate(size, gamma)


def _noise(own: float, other: float, cells: int) -> tuple[float, float]:
    """Return (C, D), given the mean squares of a cell's estimate from one record.

    `own` is for a record in the cell, `other` for a record in another cell.
    """
    # With two cells both variances are equal, so C may be 1.
    c = (own - other - 2 / cells) / (1 - 2 / cells) if cells > 2 else 1.0
    return c, (other + (1 - c) / cells**2) / (1 - 1 / cells)


def subset_error(size: int, chosen: int | npt.NDArray[np.int64], gamma: float) -> Any:
    """Return the number of records times the variance of a rare category's estimated share.

    This is for subset selection with all subsets of `chosen` among `size` categories (Ye and Barg
    2018).
    """
    hit = gamma * chosen / (gamma * chosen + size - chosen)
    other = hit * (chosen - 1) / (size - 1) + (1 - hit) * chosen / (size - 1)
    return other * (1 - other) / (hit - other) ** 2


@lru_cache(maxsize=1 << 12)
def best_subset(size: int, gamma: float) -> int:
    """Return the subset size with the smallest error, which is near K/(gamma + 1)."""
    most = min(size - 1, math.floor(2 * size / (gamma + 1)) + 1)
    if gamma == 1 or most < 2:
        return 1
    return 1 + int(np.argmin(subset_error(size, np.arange(1, most + 1), gamma)))


@lru_cache(maxsize=32)
def _shifts(size: int, chosen: int) -> npt.NDArray[np.int64]:
    found = np.empty((SUBSETS, size), dtype=np.int64)
    for subset, row in enumerate(found):
        digest = hashlib.shake_256(f"{size},{chosen},{subset}".encode()).digest(8 * size)
        order = np.argsort(np.frombuffer(digest, dtype="<u8"), kind="stable")
        row[:chosen] = np.sort(order[:chosen])
        row[chosen:] = np.sort(order[chosen:])
    found.setflags(write=False)
    return found
