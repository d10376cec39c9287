"""Transition matrices P[true, reported] that keep their structure.

A `Transition` is a row-stochastic K x L channel (Ma 2.1). Its probabilities are multiples of
2^-32, stored as integers, so that the published matrix and the mechanism that draws from it are
the same object. Each family applies and inverts itself along one axis of a count tensor without
ever building the Kronecker product; with `P` the matrix and `x` the vectors along the axis:

    apply           P' x        expected reported counts of true counts (Ma theorem 1a)
    apply_adjoint   P x         expectation over the report of a function of the report
    solve           P'^-1 x     moment estimate of true counts (Ma 2.4.1)
    solve_adjoint   P^-1 x      the function of the report that estimates a function of the truth
    solve_squared   (P'^-1)^2 x elementwise squares: second moments of the estimate
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from shared.errors import ChannelError, NotStochastic, SingularChannel

Tensor = npt.NDArray[np.float64]
Units = npt.NDArray[np.int64]

RESOLUTION = 1 << 32
"""Probabilities are integers over this denominator."""

CONDITION_LIMIT = 1e8
"""A matrix with a larger condition number is called singular: beyond it, the rounding of the
published probabilities to 2^-32 decides what the inverse is."""

_ROW_SUM_TOLERANCE = 1e-9


class Transition(ABC):
    """A row-stochastic channel from K true to L reported categories."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """(K, L): the numbers of true and of reported categories."""

    @abstractmethod
    def units(self) -> Units:
        """Return the K x L matrix as integers over `RESOLUTION`; each row sums to it."""

    @abstractmethod
    def apply(self, tensor: Tensor, axis: int) -> Tensor:
        """Return P' x along `axis` (length K in, L out)."""

    @abstractmethod
    def apply_adjoint(self, tensor: Tensor, axis: int) -> Tensor:
        """Return P x along `axis` (length L in, K out)."""

    @abstractmethod
    def solve(self, tensor: Tensor, axis: int) -> Tensor:
        """Return P'^-1 x along `axis`. Raises SingularChannel where there is no inverse."""

    @abstractmethod
    def solve_adjoint(self, tensor: Tensor, axis: int) -> Tensor:
        """Return P^-1 x along `axis`. Raises SingularChannel where there is no inverse."""

    @abstractmethod
    def solve_squared(self, tensor: Tensor, axis: int) -> Tensor:
        """Return (P'^-1 squared elementwise) x along `axis`. Raises SingularChannel."""

    @property
    @abstractmethod
    def condition_number(self) -> float:
        """The 2-norm condition number of P (infinite where there is no inverse)."""

    @abstractmethod
    def as_dict(self) -> dict[str, Any]:
        """Return the canonical JSON form: a family name and integers only."""

    @property
    def is_identity(self) -> bool:
        """Whether every category is reported as itself with certainty."""
        rows, columns = self.shape
        return rows == columns and bool(np.all(np.diagonal(self.units()) == RESOLUTION))

    def matrix(self) -> Tensor:
        """Return the K x L matrix of probabilities, exact in binary floating point."""
        return self.units() / RESOLUTION

    def inverse(self) -> Tensor:
        """Return P^-1 as a K x K matrix. Raises SingularChannel where there is none."""
        return self.solve_adjoint(np.eye(self.shape[1]), 0)


@dataclass(frozen=True)
class Identity(Transition):
    """Every category is reported as itself: a variable that is not randomized."""

    size: int

    def __post_init__(self) -> None:
        _require_size(self.size)

    @property
    def shape(self) -> tuple[int, int]:
        return self.size, self.size

    def units(self) -> Units:
        return np.eye(self.size, dtype=np.int64) * RESOLUTION

    def apply(self, tensor: Tensor, axis: int) -> Tensor:  # noqa: ARG002 - the interface's
        return tensor

    apply_adjoint = solve = solve_adjoint = solve_squared = apply

    @property
    def condition_number(self) -> float:
        return 1.0

    @property
    def is_identity(self) -> bool:
        return True

    def as_dict(self) -> dict[str, Any]:
        return {"family": "identity", "size": self.size}


@dataclass(frozen=True)
class Symmetric(Transition):
    """Every category is kept with one probability and replaced by each other with another.

    P = (keep - off) I + off 11'. Binary symmetric randomization, Ma's multi-category randomization
    (Ma 2.1) and FRAPP's gamma-diagonal matrix (FRAPP 3) are this family.

    Raises:
        ChannelError: fewer than two categories.
        NotStochastic: `off_units` is negative or leaves a negative probability to keep.
    """

    size: int
    off_units: int

    def __post_init__(self) -> None:
        _require_size(self.size)
        if self.off_units < 0 or self.keep_units < 0:
            raise NotStochastic(
                f"A symmetric channel over {self.size} categories cannot move to each other"
                f" category with probability {self.off_units / RESOLUTION:.6g}.",
                remedy=f"It must lie between 0 and 1/{self.size - 1}.",
            )

    @classmethod
    def from_probability(cls, size: int, p: float) -> Symmetric:
        """Build from `p`, the probability that a category is replaced (Ma 2.1).

        Raises:
            NotStochastic: `p` is not between 0 and 1.
            ChannelError: `p` is positive but below what 2^-32 can express.
        """
        _require_size(size)
        if not 0 <= p <= 1:
            raise NotStochastic(
                f"The probability of replacing a category is {p}.",
                remedy="Give p between 0 and 1.",
            )
        return cls(size, _quantize_off(size, p / (size - 1)))

    @classmethod
    def from_gamma(cls, size: int, gamma: float) -> Symmetric:
        """Build the most accurate symmetric channel of amplification `gamma` (FRAPP eq. 13).

        Quantization never raises the amplification above `gamma`.

        Raises:
            ChannelError: `gamma` is below 1 or not finite, or so close to 1 over so many
                categories that multiples of 2^-32 cannot express it.
        """
        _require_size(size)
        if not (gamma >= 1 and math.isfinite(gamma)):
            raise ChannelError(
                f"An amplification of {gamma} is impossible.",
                remedy="Give a finite gamma of 1 or more.",
            )
        off = math.ceil(RESOLUTION / (Fraction(gamma) + size - 1))
        keep = RESOLUTION - (size - 1) * off
        if keep < off:
            # Rounding up has used more than there was: such a channel would hide nothing as asked.
            raise ChannelError(
                f"A gamma of {gamma:g} over {size} categories is finer than multiples of 2^-32.",
                remedy="Raise gamma, or randomize fewer categories together.",
            )
        return cls(size, off)

    @property
    def keep_units(self) -> int:
        """The probability of keeping a category, over `RESOLUTION`."""
        return RESOLUTION - (self.size - 1) * self.off_units

    @property
    def shape(self) -> tuple[int, int]:
        return self.size, self.size

    def units(self) -> Units:
        full = np.full((self.size, self.size), self.off_units, dtype=np.int64)
        np.fill_diagonal(full, self.keep_units)
        return full

    def apply(self, tensor: Tensor, axis: int) -> Tensor:
        return _mix(tensor, axis, self._spread, self.off_units / RESOLUTION)

    apply_adjoint = apply

    def solve(self, tensor: Tensor, axis: int) -> Tensor:
        spread, shift = self.inverse_mixture
        return _mix(tensor, axis, spread, shift)

    solve_adjoint = solve

    def solve_squared(self, tensor: Tensor, axis: int) -> Tensor:
        spread, shift = self.inverse_mixture
        return _mix(tensor, axis, spread * (spread + 2 * shift), shift**2)

    @property
    def _spread(self) -> float:
        return (self.keep_units - self.off_units) / RESOLUTION

    @cached_property
    def inverse_mixture(self) -> tuple[float, float]:
        """(a, b) with P^-1 = a I + b 11', by Sherman and Morrison. Raises SingularChannel."""
        if self.condition_number > CONDITION_LIMIT:
            raise SingularChannel(
                f"The symmetric channel over {self.size} categories is singular: it reports every"
                " category with (almost) one probability, so the reports say nothing.",
                remedy=f"Choose p other than {self.size - 1}/{self.size}.",
            )
        return 1 / self._spread, -(self.off_units / RESOLUTION) / self._spread

    @property
    def condition_number(self) -> float:
        return 1 / abs(self._spread) if self._spread else math.inf

    @property
    def is_identity(self) -> bool:
        return self.off_units == 0

    def as_dict(self) -> dict[str, Any]:
        return {"family": "symmetric", "size": self.size, "off": self.off_units}


@dataclass(frozen=True)
class Dense(Transition):
    """Any K x L channel, given row by row as integers over `RESOLUTION`.

    Raises:
        ChannelError: rows of different lengths, or fewer than two categories on a side.
        NotStochastic: a negative entry, or a row that does not sum to `RESOLUTION`.
    """

    rows: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        _require_rectangular(self.rows)
        for index, row in enumerate(self.rows):
            if min(row) < 0 or sum(row) != RESOLUTION:
                raise NotStochastic(
                    f"Row {index} of the transition matrix is not a probability distribution over"
                    f" 2^32: its sum is {sum(row)} and its smallest entry {min(row)}.",
                    where=f"row {index}",
                )

    @classmethod
    def from_probabilities(cls, rows: Sequence[Sequence[float]]) -> Dense:
        """Build from probabilities, rounding each row to multiples of 2^-32 that sum to 1.

        Raises:
            NotStochastic: a negative probability, or a row whose sum is not 1 within 1e-9.
            ChannelError: the rows are not a matrix, or a positive probability is below 2^-33.
        """
        _require_rectangular(rows)
        return cls(tuple(_quantize_row(row, index) for index, row in enumerate(rows)))

    @classmethod
    def binary(cls, p1: float, p2: float) -> Dense:
        """Build Ma's binary randomization (figure 2.1a).

        `p1` is the probability that the first category is reported as the second and `p2` that
        the second is reported as the first.
        """
        return cls.from_probabilities([[1 - p1, p1], [p2, 1 - p2]])

    @classmethod
    def ternary(cls, p1: float, p2: float) -> Dense:
        """Build Ma's ternary symmetric randomization (figure 2.1b).

        Each category moves to the next with probability `p1` and to the one after with `p2`.
        """
        keep = 1 - p1 - p2
        return cls.from_probabilities([[keep, p1, p2], [p2, keep, p1], [p1, p2, keep]])

    @cached_property
    def _units(self) -> Units:
        return np.array(self.rows, dtype=np.int64)

    @cached_property
    def _matrix(self) -> Tensor:
        return self._units / RESOLUTION

    @cached_property
    def _inverse(self) -> Tensor:
        true, reported = self.shape
        if true != reported:
            raise SingularChannel(
                f"A {true} x {reported} transition matrix has no inverse.",
                remedy="Use the maximum-likelihood estimator, which needs none.",
            )
        if self.condition_number > CONDITION_LIMIT:
            rank = int(np.linalg.matrix_rank(self._matrix))
            raise SingularChannel(
                f"The {true} x {true} transition matrix is singular (rank {rank}, condition number"
                f" {self.condition_number:.3g}): some true categories cannot be told apart.",
                remedy="Change the rows so that none is a mixture of the others.",
            )
        inverse: Tensor = np.asarray(np.linalg.inv(self._matrix), dtype=np.float64)
        return inverse

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), len(self.rows[0])

    def units(self) -> Units:
        return self._units.copy()

    def apply(self, tensor: Tensor, axis: int) -> Tensor:
        return along_axis(self._matrix.T, tensor, axis)

    def apply_adjoint(self, tensor: Tensor, axis: int) -> Tensor:
        return along_axis(self._matrix, tensor, axis)

    def solve(self, tensor: Tensor, axis: int) -> Tensor:
        return along_axis(self._inverse.T, tensor, axis)

    def solve_adjoint(self, tensor: Tensor, axis: int) -> Tensor:
        return along_axis(self._inverse, tensor, axis)

    def solve_squared(self, tensor: Tensor, axis: int) -> Tensor:
        return along_axis(np.square(self._inverse).T, tensor, axis)

    @cached_property
    def _condition_number(self) -> float:
        return float(np.linalg.cond(self._matrix))

    @property
    def condition_number(self) -> float:
        return self._condition_number

    def as_dict(self) -> dict[str, Any]:
        return {"family": "dense", "rows": [list(row) for row in self.rows]}


@dataclass(frozen=True)
class Grouped(Transition):
    """Categories in groups; a category is only ever replaced by one of its own group (Ma 2.2).

    P is block diagonal: `channels[g]` acts on the categories `groups[g]`, in that order. The group
    itself is reported truthfully. A group of one category takes `None`.

    Raises:
        ChannelError: the groups overlap, miss a category, or do not fit their channels.
    """

    groups: tuple[tuple[int, ...], ...]
    channels: tuple[Transition | None, ...]

    def __post_init__(self) -> None:
        members = sorted(code for group in self.groups for code in group)
        if members != list(range(len(members))) or len(members) < 2:
            raise ChannelError(
                f"The groups {[list(g) for g in self.groups]} do not hold each category exactly"
                " once.",
                remedy="Put every category into one group.",
            )
        if len(self.groups) != len(self.channels):
            raise ChannelError(
                f"There are {len(self.groups)} groups and {len(self.channels)} channels."
            )
        for index, (group, channel) in enumerate(self._pairs()):
            size = 1 if channel is None else channel.shape[0]
            if len(group) != size or (channel is not None and channel.shape != (size, size)):
                raise ChannelError(
                    f"Group {index} has {len(group)} categories, which its channel does not fit.",
                    where=f"group {index}",
                )

    @classmethod
    def from_probability(cls, groups: Sequence[Sequence[int]], p: float) -> Grouped:
        """Build with Ma's multi-category randomization, replacing with probability `p`, in each."""
        return cls(
            tuple(tuple(group) for group in groups),
            tuple(
                Symmetric.from_probability(len(group), p) if len(group) > 1 else None
                for group in groups
            ),
        )

    def _pairs(self) -> list[tuple[tuple[int, ...], Transition | None]]:
        return list(zip(self.groups, self.channels, strict=True))

    @property
    def shape(self) -> tuple[int, int]:
        size = sum(len(group) for group in self.groups)
        return size, size

    def units(self) -> Units:
        full = np.zeros(self.shape, dtype=np.int64)
        for group, channel in self._pairs():
            block = np.array([[RESOLUTION]]) if channel is None else channel.units()
            full[np.ix_(group, group)] = block
        return full

    def _each(
        self, tensor: Tensor, axis: int, act: Callable[[Transition, Tensor], Tensor]
    ) -> Tensor:
        source = np.moveaxis(tensor, axis, 0)
        result = source.astype(np.float64)
        for group, channel in self._pairs():
            if channel is not None:
                result[list(group)] = act(channel, source[list(group)])
        return np.moveaxis(result, 0, axis)

    def apply(self, tensor: Tensor, axis: int) -> Tensor:
        return self._each(tensor, axis, lambda channel, part: channel.apply(part, 0))

    def apply_adjoint(self, tensor: Tensor, axis: int) -> Tensor:
        return self._each(tensor, axis, lambda channel, part: channel.apply_adjoint(part, 0))

    def solve(self, tensor: Tensor, axis: int) -> Tensor:
        return self._each(tensor, axis, lambda channel, part: channel.solve(part, 0))

    def solve_adjoint(self, tensor: Tensor, axis: int) -> Tensor:
        return self._each(tensor, axis, lambda channel, part: channel.solve_adjoint(part, 0))

    def solve_squared(self, tensor: Tensor, axis: int) -> Tensor:
        return self._each(tensor, axis, lambda channel, part: channel.solve_squared(part, 0))

    @cached_property
    def _condition_number(self) -> float:
        return float(np.linalg.cond(self.matrix()))

    @property
    def condition_number(self) -> float:
        return self._condition_number

    def as_dict(self) -> dict[str, Any]:
        return {
            "family": "grouped",
            "groups": [list(group) for group in self.groups],
            "channels": [c.as_dict() if c is not None else None for c in self.channels],
        }


def along_axis(matrix: Tensor, tensor: Tensor, axis: int) -> Tensor:
    """Return the mode-wise product: `matrix` (m x n) times `tensor` along an axis of length n."""
    return np.moveaxis(np.tensordot(matrix, tensor, axes=(1, axis)), 0, axis)


def _mix(tensor: Tensor, axis: int, spread: float, shift: float) -> Tensor:
    """Return (spread I + shift 11') x along `axis`."""
    mixed: Tensor = spread * tensor + shift * tensor.sum(axis=axis, keepdims=True)
    return mixed


def _require_size(size: int) -> None:
    if size < 2:
        raise ChannelError(f"A channel over {size} categories is none; it needs two or more.")


def _require_rectangular(rows: Sequence[Sequence[float]]) -> None:
    lengths = {len(row) for row in rows}
    if len(rows) < 2 or len(lengths) != 1 or min(lengths) < 2:
        raise ChannelError(
            f"A transition matrix has two or more rows of one length of two or more; this one has"
            f" {len(rows)} rows of lengths {sorted(lengths)}."
        )


def _quantize_off(size: int, off: float) -> int:
    units = min(round(off * RESOLUTION), RESOLUTION // (size - 1))
    if off > 0 and units == 0:
        raise ChannelError(
            f"A probability of {off:.3g} per other category is finer than 2^-32.",
            remedy="Raise p, or use fewer categories.",
        )
    return units


def _quantize_row(row: Sequence[float], index: int) -> tuple[int, ...]:
    """Round a row to integers over 2^32 with the largest-remainder method (sum kept exactly)."""
    values = np.asarray(row, dtype=np.float64)
    total = float(values.sum())
    if not np.all(np.isfinite(values)) or values.min() < 0:
        raise NotStochastic(
            f"Row {index} of the transition matrix has a probability of {float(values.min()):.6g}.",
            where=f"row {index}",
            remedy="Probabilities lie between 0 and 1.",
        )
    if abs(total - 1) > _ROW_SUM_TOLERANCE:
        raise NotStochastic(
            f"Row {index} of the transition matrix sums to {total:.9g}, not 1.",
            where=f"row {index}",
            remedy="Each row lists the probabilities of all reports of one true category.",
        )
    scaled = values / total * RESOLUTION
    if bool(np.any((values > 0) & (scaled < 0.5))):
        raise ChannelError(
            f"Row {index} of the transition matrix has a probability below 2^-33, which cannot be"
            " published.",
            where=f"row {index}",
            remedy="Make it 0 or larger.",
        )
    units = np.floor(scaled).astype(np.int64)
    units[(values > 0) & (units == 0)] = 1
    missing = RESOLUTION - int(units.sum())
    if missing > 0:
        units[np.argsort(units - scaled, kind="stable")[:missing]] += 1
    else:
        units[int(np.argmax(units))] += missing
    return tuple(int(u) for u in units)
