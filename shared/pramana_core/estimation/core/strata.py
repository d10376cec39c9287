"""Strata: reported counts of records that share the same channels, on one table of true cells.

Every operation works along the axes of the count tensor: neighbouring channels of few categories go
together, as one matrix, and a small table is one product with its listed probabilities; nothing
iterates over records.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pramana_core.channels import (
    CONDITION_LIMIT,
    Transition,
    along_axis,
)
from pramana_core.errors import EstimationError, OptionError
from pramana_core.marginals.counts import Tensor
from pramana_core.marginals.support_counts import Indices
from pramana_core.ties import first_smallest

_TOGETHER = 64
"""Neighbouring channels of up to so many categories together, true or reported, are one matrix."""


@dataclass(frozen=True)
class Stratum:
    """Reported counts of records that share the same channels.

    Args:
        reported: one axis per channel, of the channel's number of reported categories.
        channels: what randomized them.
        groups: per channel the axes of the true table whose product it randomizes, in its order;
            by default each channel has one axis, in the order of the channels. Axes in no group
            are not reported: they are summed out, which is what a withheld channel does.
        shape: the true table's; by default that of the channels.
        few: up to so many probabilities are listed, and not worked out axis by axis.
    """

    reported: Tensor
    channels: tuple[Transition, ...]
    groups: tuple[tuple[int, ...], ...] = ()
    shape: tuple[int, ...] = ()
    few: int = 1 << 13

    def __post_init__(self) -> None:
        if self.reported.shape != tuple(c.shape[1] for c in self.channels):
            raise OptionError(
                f"Reported counts of shape {self.reported.shape} do not fit channels that report"
                f" {[c.shape[1] for c in self.channels]} categories."
            )
        if bool(self.groups) != bool(self.shape):
            raise OptionError("A stratum needs both its groups and the true table's shape.")
        held = [math.prod(self.shape[axis] for axis in group) for group in self.groups]
        if self.groups and held != [c.shape[0] for c in self.channels]:
            raise OptionError(
                f"Groups of {held} true cells do not fit channels that randomize"
                f" {[c.shape[0] for c in self.channels]} categories."
            )
        if not self.groups:
            alone = tuple((axis,) for axis in range(len(self.channels)))
            object.__setattr__(self, "groups", alone)
            object.__setattr__(self, "shape", tuple(c.shape[0] for c in self.channels))

    @cached_property
    def records(self) -> float:
        """The number of records in the stratum."""
        return float(self.reported.sum())

    @cached_property
    def column(self) -> Tensor:
        """The reported counts as one column, (reports, 1)."""
        return self.reported.reshape(-1, 1)

    @property
    def solvable(self) -> bool:
        """Whether all variables are reported through channels that have an inverse."""
        return not self._absent and all(
            c.shape[0] <= c.shape[1] and c.condition_number <= CONDITION_LIMIT
            for c in self.channels
        )

    def expected(self, true: Tensor) -> Tensor:
        """Return the expected reports, (reports, sets), of true tables (cells..., sets)."""
        if self._small is not None:
            product: Tensor = self._small @ true.reshape(-1, true.shape[-1])
            return product
        return self._along_axes(true)

    def adjoint(self, function: Tensor) -> Tensor:
        """Return the expectation, per true cell, of functions of the report (reports, sets).

        Axes of the true table that are not reported have length 1.
        """
        if self._small is not None:
            product: Tensor = self._small.T @ function
            return product.reshape(*self.shape, -1)
        return self._spread(self._turned(function, adjoint=True))

    def moment(self) -> Tensor:
        """Return the moment estimate of the true counts, in their shape (see `moment`)."""
        estimate = self.reported.astype(np.float64)
        for axis, channel in enumerate(self.channels):
            estimate = channel.solve(estimate, axis)
        return self._spread(estimate[..., None])[..., 0]

    def estimator_variance(self, true: Tensor, gone: Sequence[int]) -> Tensor:
        """Return the variance, per record, of the moment estimate of a margin of the true table.

        Args:
            true: the distribution of the records, in the true table's shape.
            gone: the axes that the margin sums over; of the others each cell has a variance.
        """
        second = self.expected(true[..., None]).reshape(self.reported.shape)
        for axis, (channel, group) in enumerate(zip(self.channels, self.groups, strict=True)):
            sizes = [self.shape[part] for part in group]
            summed = [place for place, part in enumerate(group) if part in gone]
            second = second_moment(channel, second, axis, sizes, summed)
        left = [part for group in self.groups for part in group if part not in gone]
        split = second.reshape([self.shape[part] for part in left])
        variance: Tensor = split.transpose(np.argsort(left)) - np.square(true.sum(axis=tuple(gone)))
        return variance

    @cached_property
    def _absent(self) -> tuple[int, ...]:
        return tuple(axis for axis in range(len(self.shape)) if axis not in self._held)

    @cached_property
    def _order(self) -> list[int]:
        """The axes held, in the channels' order, among those that are left."""
        left = [axis for axis in range(len(self.shape)) if axis not in self._absent]
        return [left.index(axis) for axis in self._held]

    @cached_property
    def _small(self) -> Tensor | None:
        """The probabilities where they are few: then one product takes less time than several."""
        number = math.prod(self.shape) * self.reported.size
        return self._along_axes(_cells(self.shape)) if number <= self.few else None

    def listed(self) -> Tensor:
        """Return the probability of each report (rows) given each true cell (columns)."""
        return self._along_axes(_cells(self.shape)) if self._small is None else self._small

    def listed_at(self, reports: Indices, cells: Indices) -> Tensor:
        """Return the probabilities of some reports (rows) given some true cells (columns).

        Both are numbered in C order. Nothing else is listed.
        """
        if self._small is not None:
            return self._small[np.ix_(reports, cells)]
        codes = np.unravel_index(cells, self.shape)
        columns = []
        for channel, group in zip(self.channels, self.groups, strict=True):
            sizes = [self.shape[axis] for axis in group]
            unit = np.zeros((channel.shape[0], len(cells)))
            true = np.ravel_multi_index([codes[axis] for axis in group], sizes)
            unit[true, np.arange(len(cells))] = 1.0
            columns.append(channel.apply(unit, 0))
        # The axes in two parts: each is multiplied out once, and the reports pick their rows.
        half = _middle([channel.shape[1] for channel in self.channels])
        first, last = (_multiplied(part, len(cells)) for part in (columns[:half], columns[half:]))
        high, low = np.divmod(reports, len(last))
        return first[high] * last[low]

    def _along_axes(self, true: Tensor) -> Tensor:
        held = true.sum(axis=self._absent) if self._absent else true
        arranged = held.transpose([*self._order, len(self._order)])
        return self._turned(arranged.reshape(-1, true.shape[-1]), adjoint=False)

    def _turned(self, tensor: Tensor, *, adjoint: bool) -> Tensor:
        """Return P' x, or P x, of columns x (cells or reports in the channels' order, sets)."""
        before, sets = 1, tensor.shape[-1]
        for part in self._parts:
            size, made = part.shape[::-1] if adjoint else part.shape
            split = tensor.reshape(before, size, -1)
            if isinstance(part, Transition):
                tensor = part.apply_adjoint(split, 1) if adjoint else part.apply(split, 1)
            elif split.shape[2] == 1:
                tensor = split[..., 0] @ (part.T if adjoint else part)
            else:
                tensor = (part if adjoint else part.T) @ split
            before *= made
        return tensor.reshape(-1, sets)

    @cached_property
    def _parts(self) -> list[Transition | Tensor]:
        """The channels one after the other, neighbours of few categories together as a matrix P."""
        parts: list[Transition | Tensor] = []
        for channel in self.channels:
            if max(channel.shape) > _TOGETHER:
                parts.append(channel)
                continue
            matrix, last = channel.matrix(), parts[-1] if parts else channel
            joined = [a * b for a, b in zip(last.shape, matrix.shape, strict=True)]
            if isinstance(last, Transition) or max(joined) > _TOGETHER:
                parts.append(matrix)
            else:
                parts[-1] = np.asarray(np.kron(last, matrix), dtype=np.float64)
        return parts

    def _spread(self, cells: Tensor) -> Tensor:
        split = cells.reshape(*(self.shape[axis] for axis in self._held), cells.shape[-1])
        return split.transpose(self._back)[self._widened]

    @cached_property
    def _held(self) -> list[int]:
        return [axis for group in self.groups for axis in group]

    @cached_property
    def _back(self) -> list[int]:
        """Where the axes of the true table are among those of the channels, and last the sets."""
        return [*np.argsort(self._held), len(self._held)]

    @cached_property
    def _widened(self) -> tuple[slice | None, ...]:
        """An axis of length 1 for each that is not reported."""
        return tuple(
            None if axis in self._absent else slice(None) for axis in range(len(self.shape))
        )


def _middle(sizes: Sequence[int]) -> int:
    """Return where to cut a list of sizes so that the products of both parts are about equal."""
    logs = np.log(sizes)
    whole = logs.sum()
    return first_smallest(np.abs(np.cumsum([0.0, *logs]) - whole / 2), scale=whole)


def _multiplied(columns: Sequence[Tensor], cells: int) -> Tensor:
    """Return the products of columns along all axes: (rows in C order, cells)."""
    product: Tensor = np.ones((1, cells))
    for column in columns:
        product = (product[:, None] * column).reshape(-1, cells)
    return product


def _cells(shape: tuple[int, ...]) -> Tensor:
    return np.eye(math.prod(shape)).reshape(*shape, -1)


def merged(strata: Sequence[Stratum]) -> tuple[Stratum, ...]:
    """Return strata of one true table with those of equal channels added up: as likely, fewer."""
    first: dict[tuple[object, ...], Stratum] = {}
    for stratum in strata:
        layout = (stratum.channels, stratum.groups)
        known = first.get(layout)
        total = stratum.reported if known is None else known.reported + stratum.reported
        first[layout] = replace(stratum, reported=total)
    return tuple(first.values())


def moment(strata: Sequence[Stratum]) -> Tensor:
    """Return the moment estimate of the true counts (Ma 2.4.1, theorem 2): unbiased, raw.

    Strata with different channels add up. Estimates may be fractional or negative.

    Raises:
        SingularChannel: a channel has no inverse.
    """
    if not strata:
        raise EstimationError("There are no reported counts to estimate from.")
    return np.asarray(sum(stratum.moment() for stratum in strata), dtype=np.float64)


def second_moment(
    channel: Transition, reports: Tensor, axis: int, sizes: Sequence[int], summed: Sequence[int]
) -> Tensor:
    """Return the sum over reports of the squared estimator of each cell of a margin, on one axis.

    Args:
        channel: the axis's channel.
        reports: what each report's square is counted with.
        axis: the axis of the reports; that of the margin's cells takes its place.
        sizes: the categories of the variables that the channel randomizes.
        summed: which of those the margin sums over.
    """
    if (mixture := channel.inverse_mixture) is not None:
        # The estimator of a margin of s cells is a [report in it] + b s (P^-1 = a I + b 11').
        a, b = mixture
        s = math.prod(sizes[place] for place in summed)
        split = reports.reshape(*reports.shape[:axis], *sizes, *reports.shape[axis + 1 :])
        margin = split.sum(axis=tuple(axis + place for place in summed))
        margin = margin.reshape(*reports.shape[:axis], -1, *reports.shape[axis + 1 :])
        everything = reports.sum(axis=axis, keepdims=True)
        moment: Tensor = a * (a + 2 * b * s) * margin + (b * s) ** 2 * everything
        return moment
    decoder = channel.decoder().reshape(*sizes, -1)
    weights: Tensor = decoder.sum(axis=tuple(summed)).reshape(-1, decoder.shape[-1])
    return along_axis(np.square(weights), reports, axis)
