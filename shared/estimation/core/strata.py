"""Maximum likelihood over strata that need not share a layout, under a model of the true table.

A stratum's channels act on groups of the true table's variables; a variable that a stratum does not
report is summed out, which is what a withheld channel does. Several sets of reported counts of one
layout are maximized at once: they are the last axis, so that a bootstrap costs little more than one
fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import xlogy

from shared.channels import (
    CONDITION_LIMIT,
    Transition,
    along_axis,
)
from shared.errors import EstimationError, NotConverged
from shared.estimation.core.inversion import Stratum
from shared.marginals.counts import Tensor

Restrict = Callable[[Tensor], Tensor]
"""Returns, of expected true counts (cells..., sets), the most likely distributions of a model."""

_LISTED = 1 << 16
_FLOOR = 0.05
_QUIET = 3
_MAX_STEPS = 30_000


@dataclass(frozen=True)
class View:
    """A stratum, and which axes of the true table each of its channels acts on.

    Args:
        stratum: reported counts, an axis per channel.
        groups: per channel the axes of the true table whose product it randomizes, in its order.
        shape: the true table.
    """

    stratum: Stratum
    groups: tuple[tuple[int, ...], ...]
    shape: tuple[int, ...]

    @cached_property
    def records(self) -> float:
        """The number of records in the stratum."""
        return float(self.stratum.reported.sum())

    @cached_property
    def _absent(self) -> tuple[int, ...]:
        held = {axis for group in self.groups for axis in group}
        return tuple(axis for axis in range(len(self.shape)) if axis not in held)

    @cached_property
    def _order(self) -> list[int]:
        """The axes held, in the channels' order, among those that are left."""
        left = [axis for axis in range(len(self.shape)) if axis not in self._absent]
        return [left.index(axis) for group in self.groups for axis in group]

    @cached_property
    def reports(self) -> Tensor:
        """The reported counts as one column, (reports, 1)."""
        return self.stratum.reported.reshape(-1, 1)

    def expected(self, true: Tensor) -> Tensor:
        """Return the expected reports, (reports, sets), of true tables (cells..., sets)."""
        if self._listed is not None:
            product: Tensor = self._listed @ true.reshape(-1, true.shape[-1])
            return product
        return self._along_axes(true)

    def adjoint(self, function: Tensor) -> Tensor:
        """Return the expectation, per true cell, of functions of the report (reports, sets)."""
        if self._listed is not None:
            product: Tensor = self._listed.T @ function
            return product.reshape(*self.shape, -1)
        shape = [c.shape[1] for c in self.stratum.channels]
        return self._spread(self.stratum.adjoint(function.reshape(*shape, -1)))

    @cached_property
    def _listed(self) -> Tensor | None:
        """The probability of each report given each cell, where that is small.

        Then two products of matrices take less time than a handful of calls along axes.
        """
        cells = math.prod(self.shape)
        if cells * self.reports.size > _LISTED:
            return None
        return self._along_axes(np.eye(cells).reshape(*self.shape, cells))

    def _along_axes(self, true: Tensor) -> Tensor:
        held = true.sum(axis=self._absent) if self._absent else true
        arranged = held.transpose([*self._order, len(self._order)])
        shape = [c.shape[0] for c in self.stratum.channels]
        expected = self.stratum.expected(arranged.reshape(*shape, true.shape[-1]))
        return expected.reshape(-1, true.shape[-1])

    def moment(self) -> Tensor:
        """Return the moment estimate of the true counts, with one set as last axis."""
        estimate = self.stratum.reported.astype(np.float64)
        for axis, channel in enumerate(self.stratum.channels):
            estimate = channel.solve(estimate, axis)
        return self._spread(estimate[..., None])

    @property
    def solvable(self) -> bool:
        """Whether all variables are reported through channels that have an inverse."""
        return not self._absent and all(
            c.shape[0] <= c.shape[1] and c.condition_number <= CONDITION_LIMIT
            for c in self.stratum.channels
        )

    def estimator_variance(self, true: Tensor, gone: Sequence[int]) -> Tensor:
        """Return the variance, per record, of the moment estimate of a margin of the true table.

        Args:
            true: the distribution of the records, (cells..., 1).
            gone: the axes that the margin sums over; of the others each cell has a variance.
        """
        second = self.expected(true).reshape(self.stratum.reported.shape)
        for axis, (channel, group) in enumerate(
            zip(self.stratum.channels, self.groups, strict=True)
        ):
            sizes = [self.shape[part] for part in group]
            summed = tuple(place for place, part in enumerate(group) if part in gone)
            second = _second_moment(channel, second, axis, sizes, summed)
        left = [part for group in self.groups for part in group if part not in gone]
        split = second.reshape([self.shape[part] for part in left])
        variance: Tensor = split.transpose(np.argsort(left)) - np.square(
            true.sum(axis=tuple(gone))[..., 0]
        )
        return variance

    def _spread(self, cells: Tensor) -> Tensor:
        axes = [axis for group in self.groups for axis in group]
        split = cells.reshape(*(self.shape[axis] for axis in axes), cells.shape[-1])
        ordered = split.transpose([*np.argsort(axes), len(axes)])
        for axis in self._absent:
            ordered = np.expand_dims(ordered, axis)
        return ordered


@dataclass(frozen=True)
class Maximum:
    """The most likely true tables (cells..., sets) and their log-likelihoods (sets) in nats."""

    probabilities: Tensor
    log_likelihood: Tensor
    steps: int


def _second_moment(
    channel: Transition, reports: Tensor, axis: int, sizes: Sequence[int], summed: Sequence[int]
) -> Tensor:
    """Return the sum over reports of the squared estimator of each cell of a margin, on one axis.

    `sizes` are the variables of the axis, `summed` those that the margin sums over.
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


def saturated(views: Sequence[View]) -> float:
    """Return the log-likelihood that no true table can exceed: that of the reports themselves."""
    return sum(
        float(xlogy(view.reports, view.reports / max(view.records, 1.0)).sum()) for view in views
    )


def start(views: Sequence[View]) -> tuple[Tensor, bool]:
    """Return a positive table to begin from, and whether it is the maximum already.

    It is the moment estimate made positive where there is one, else uniform.
    """
    shape = views[0].shape
    cells = math.prod(shape)
    if not all(view.solvable for view in views):
        return np.full((*shape, 1), 1 / cells), False
    estimate: Tensor = sum((view.moment() for view in views), np.zeros((*shape, 1)))
    estimate = estimate / sum(view.records for view in views)
    square = all(c.shape[0] == c.shape[1] for view in views for c in view.stratum.channels)
    if len(views) == 1 and square and estimate.min() >= 0:
        return estimate / estimate.sum(), True
    positive = np.maximum(estimate, _FLOOR / cells)
    return positive / positive.sum(), False


def likelihood(
    views: Sequence[View], theta: Tensor, reports: Sequence[Tensor] | None = None
) -> tuple[Tensor, Tensor]:
    """Return the log-likelihoods (sets) at `theta`, and the factors by which EM multiplies it.

    Raises:
        EstimationError: reports of probability zero.
    """
    value: Tensor = np.zeros(theta.shape[-1])
    gain: Tensor = np.zeros(1)
    records: Tensor = np.zeros(1)
    for view, reported in zip(views, _reports(views, reports), strict=True):
        expected = view.expected(theta)
        if expected.min() <= 0:
            if np.any((expected <= 0) & (reported > 0)):
                raise EstimationError(
                    "Some reports have probability zero under every true table considered.",
                    remedy="Check that the plan belongs to these reports.",
                )
            expected = np.where(expected > 0, expected, 1.0)
        value = value + (reported * np.log(expected)).sum(axis=0)
        gain = gain + view.adjoint(reported / expected)
        records = records + reported.sum(axis=0)
    return value, gain / records


def maximize(
    views: Sequence[View],
    theta: Tensor,
    restrict: Restrict | None = None,
    *,
    reports: Sequence[Tensor] | None = None,
    tolerance: float = 1e-5,
) -> Maximum:
    """Maximize the likelihood of the reports by EM with squared extrapolation (SQUAREM).

    Args:
        views: the strata.
        theta: positive tables of the model to begin from, (cells..., sets or 1).
        restrict: the model; None is every distribution.
        reports: reported counts per stratum, (reports, sets); None is the strata's own.
        tolerance: stop when three extrapolations in a row gained less, in nats, or when without a
            restriction the maximum is certified to be no farther. Under heavy noise many small
            gains add up: at 1e-3 the result can be more than ten nats low, at 1e-5 half a nat.

    Raises:
        EstimationError: reports that no true table of the model can make.
        NotConverged: after 30,000 steps.
    """
    model = restrict or normalized
    sets = 1 if reports is None else max(r.shape[-1] for r in reports)
    theta = np.broadcast_to(theta, (*theta.shape[:-1], sets))
    records = sum(view.records for view in views)
    bound: Tensor = np.ones(sets)
    value, gain = likelihood(views, theta, reports)
    quiet, steps = 0, 0
    while quiet < _QUIET:
        if restrict is None and records * float(gain.max() - 1) <= tolerance:
            break
        if steps > _MAX_STEPS:
            raise NotConverged(f"Expectation maximization did not converge in {steps} steps.")
        before = value
        first = model(theta * gain)
        low, gain = likelihood(views, first, reports)
        second = model(first * gain)
        jump, bound = _extrapolated(theta, first, second, bound)
        jump = model(jump)
        high, jump_gain = likelihood(views, jump, reports)
        better = high >= low
        bound = np.where(better, bound, np.maximum(bound / 4, 1.0))
        theta = np.where(better, model(jump * jump_gain), second)
        value, gain = likelihood(views, theta, reports)
        steps += 3
        quiet = quiet + 1 if float((value - before).max()) < tolerance else 0
    return Maximum(theta, value, steps)


def normalized(counts: Tensor) -> Tensor:
    """Return the distributions that positive tables (cells..., sets) are proportional to."""
    distribution: Tensor = counts / counts.sum(axis=tuple(range(counts.ndim - 1)))
    return distribution


def _extrapolated(
    theta: Tensor, first: Tensor, second: Tensor, bound: Tensor
) -> tuple[Tensor, Tensor]:
    """Return where two EM steps point to, a stride of at most `bound` away (Varadhan 2008)."""
    cells = tuple(range(theta.ndim - 1))
    change = first - theta
    curvature = second - first - change
    size = np.sqrt(np.square(curvature).sum(axis=cells))
    moved = np.sqrt(np.square(change).sum(axis=cells))
    length = np.divide(moved, size, out=np.ones(size.shape), where=size > 0)
    stride = np.minimum(np.maximum(length, 1.0), bound)
    bound = np.where(stride == bound, bound * 4, bound)
    jump = theta + 2 * stride * change + np.square(stride) * curvature
    # A cell thrown out of the simplex is put well inside: EM could not bring it back from zero.
    return np.where(jump > 0, jump, 0.1 * second), bound


def _reports(views: Sequence[View], reports: Sequence[Tensor] | None) -> Sequence[Tensor]:
    if reports is not None:
        return reports
    return [view.reports for view in views]
