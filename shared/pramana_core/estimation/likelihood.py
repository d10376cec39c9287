"""Maximum likelihood of true tables given reports: unrestricted or under a model.

Sets of reports of one layout are maximized at once, so a bootstrap costs little more than one fit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import xlogy

from pramana_core.errors import EstimationError, NotConverged
from pramana_core.estimation.axes import Stratum, moment
from pramana_core.marginals.counts import Tensor
from pramana_core.progress import Tick, no_cancel
from pramana_core.ties import TIE

STEPS = 30_000
"""The most EM steps when many sets of reports are maximized at once."""

_FLOOR = 0.05
_QUIET, _FEW = 3, 8


Axes = tuple[int, ...]


@dataclass(frozen=True)
class FactoredModel:
    """Distributions that factor like a Bayesian network: some axes given others.

    `factors` are disjoint sets of axes, each with the axes on which it depends. Axes in no factor
    have an unrestricted distribution given all others.
    """

    shape: tuple[int, ...]
    factors: tuple[tuple[Axes, Axes], ...] = ()

    @cached_property
    def rest(self) -> Axes:
        """The axes that are in no factor."""
        return self._others(tuple(axis for own, _ in self.factors for axis in own))

    @property
    def every(self) -> tuple[tuple[Axes, Axes], ...]:
        """The factors, then one more factor with the axes that are in no factor."""
        rest = ((self.rest, self._others(self.rest)),) if self.rest else ()
        return (*self.factors, *rest)

    def fit(self, counts: Tensor) -> Tensor:
        """Return the most likely distributions for expected true counts (cells..., sets)."""
        product: Tensor | float = 1.0 if self.factors else counts
        for over, under, even in self._margins if self.factors else ():
            if over is not None:
                factor = counts.sum(axis=over, keepdims=True)
                if under is not None:
                    factor = _share(factor, counts.sum(axis=under, keepdims=True), even)
                product = product * factor
            elif under is not None:
                margin = counts.sum(axis=under, keepdims=True)
                product = _share(product * np.ones_like(margin), margin, even)
        distribution: Tensor = product / np.sum(product, axis=tuple(range(counts.ndim - 1)))
        return distribution

    @cached_property
    def _margins(self) -> list[tuple[Axes | None, Axes | None, float]]:
        above: list[Axes | None] = [self._others((*own, *given)) for own, given in self.every]
        below = [self._others(given) if given else None for _, given in self.every]
        for place, gone in enumerate(above):
            if gone in below:
                below[below.index(gone)] = None
                above[place] = None
        sizes = [math.prod(self.shape[axis] for axis in own) for own, _ in self.every]
        even = [0.0 if gone is None else 1 / size for gone, size in zip(above, sizes, strict=True)]
        return list(zip(above, below, even, strict=True))

    def _others(self, axes: Axes) -> Axes:
        return tuple(axis for axis in range(len(self.shape)) if axis not in axes)


def _share(part: Tensor, whole: Tensor, otherwise: float) -> Tensor:
    """Return part / whole, and `otherwise` where the whole is 0."""
    share: Tensor = np.full(part.shape, otherwise)
    np.divide(part, whole, out=share, where=whole > 0)
    return share


@dataclass(frozen=True)
class Maximum:
    """The most likely true tables (cells..., sets) and their log-likelihoods (sets) in nats.

    `gap` is a bound on the gain of further steps: estimated from the last steps or, without a
    model, N (max_j g_j - 1). `late` is the gain of the last half of the steps.
    """

    probabilities: Tensor
    log_likelihood: Tensor
    gap: float
    steps: int
    late: float = 0.0

    @property
    def table(self) -> Tensor:
        """The most likely true table of the first set."""
        first: Tensor = self.probabilities[..., 0]
        return first


def saturated(strata: Sequence[Stratum]) -> float:
    """Return the reports' log-likelihood under their own shares, an upper bound for any model."""
    return sum(float(xlogy(s.column, s.column / max(s.records, 1.0)).sum()) for s in strata)


def start(strata: Sequence[Stratum]) -> tuple[Tensor, bool]:
    """Return a positive moment estimate or a uniform table, and whether it is the maximum."""
    shape = strata[0].shape
    cells = math.prod(shape)
    if not all(stratum.solvable for stratum in strata):
        return np.full(shape, 1 / cells), False
    estimate = moment(strata) / _records(strata)
    if len(strata) == 1 and strata[0].square and estimate.min() >= -TIE * estimate.max():
        # A value that is negative only by rounding counts as 0.
        estimate = np.maximum(estimate, 0.0)
        return estimate / estimate.sum(), True
    positive = np.maximum(estimate, _FLOOR / cells)
    return positive / positive.sum(), False


def likelihood(
    strata: Sequence[Stratum], theta: Tensor, reports: Sequence[Tensor] | None = None
) -> tuple[Tensor, Tensor]:
    """Return the log-likelihoods (sets) at `theta`, and the factors by which EM multiplies `theta`.

    theta_j <- theta_j g_j with g_j = (1/N) sum_k n_k P[j,k] / (P'theta)_k, summed over strata (Ma
    2.4.2). Arguments are as for `climb`. Raises EstimationError for reports of probability zero.
    """
    value: Tensor = np.zeros(theta.shape[-1])
    gain: Tensor = np.zeros(1)
    records: Tensor = np.zeros(1)
    columns = [stratum.column for stratum in strata] if reports is None else reports
    for stratum, reported in zip(strata, columns, strict=True):
        expected = stratum.expected(theta)
        if expected.min() <= 0:
            if np.any((expected <= 0) & (reported > 0)):
                raise EstimationError(
                    "Some reports have probability zero under every true category: they do not come"
                    " from the given channel.",
                    remedy="Check that the plan belongs to these reports.",
                )
            expected = np.where(expected > 0, expected, 1.0)
        value = value + (reported * np.log(expected)).sum(axis=0)
        gain = gain + stratum.adjoint(reported / expected)
        records = records + reported.sum(axis=0)
    return value, gain / records


def maximize(
    strata: Sequence[Stratum],
    model: FactoredModel | None = None,
    *,
    begin: Tensor | None = None,
    tolerance: float = 1e-4,
    max_steps: int = 100_000,
    certified: bool = True,
    tick: Tick = no_cancel,
) -> Maximum:
    """Maximize the likelihood of the reported counts over the true tables of a model.

    The search starts at the positive table `begin` and stops within `tolerance` nats of the
    maximum; 1e-4 changes no estimate by more than a hundredth of its standard error. `tick` is
    called after each extrapolation. Raises EstimationError: there are no records, or no true table
    of the model can produce the reports. NotConverged: EM did not reach `tolerance` in `max_steps`.
    """
    model = model or FactoredModel(strata[0].shape)
    if begin is None:
        begin = start(strata)[0]
        begin = model.fit(begin[..., None])[..., 0] if model.factors else begin
    found = climb(
        strata, model, begin, tolerance=tolerance, steps=max_steps, certified=certified, tick=tick
    )
    if found.gap > tolerance:
        raise not_converged(found, tolerance)
    return found


def not_converged(found: Maximum, tolerance: float) -> NotConverged:
    """Return the error that states the progress of a maximization."""
    return NotConverged(
        f"Maximization stopped after {found.steps} steps, up to {found.gap:.3g} nats below the"
        " maximum.",
        remedy=f"Allow more steps, or a tolerance above {tolerance:g}.",
    )


def climb(
    strata: Sequence[Stratum],
    model: FactoredModel,
    begin: Tensor,
    *,
    reports: Sequence[Tensor] | None = None,
    tolerance: float,
    steps: int = STEPS,
    quiet: float = 0.0,
    enough: float = math.inf,
    certified: bool = True,
    tick: Tick = no_cancel,
) -> Maximum:
    """Approach the maximum by EM with squared extrapolation (SQUAREM, Varadhan and Roland 2008).

    Args:
        strata, model, begin, tick: as for `maximize`.
        reports: reported counts per stratum, (reports, sets), instead of the strata's.
        tolerance: stop when `gap` is at most this, in nats.
        steps: stop after about this number of EM steps.
        quiet: also stop when three extrapolations in a row gained less than this, in nats.
        enough: stop when all log-likelihoods are at least this.
        certified: without a model, ignore the last gains before a third of the steps is done.
    """
    records = _records(strata)
    sets = 1 if reports is None else max(r.shape[-1] for r in reports)
    theta: Tensor = np.broadcast_to(begin[..., None], (*begin.shape, sets))
    bound: Tensor = np.ones(sets)
    still, taken = 0, 0
    value, gain = likelihood(strata, theta, reports)
    reached: list[Tensor] = []
    while True:
        tick()
        reached.append(value)
        above = max(records * (float(gain.max()) - 1), 0.0)
        gap = math.inf if certified and taken < steps / 3 else _left_to_gain(reached)
        gap = _left_to_gain(reached) if model.factors else min(above, gap)
        done = gap <= tolerance or value.min() >= enough or taken >= steps
        if done or still == _QUIET:
            late = float((value - reached[len(reached) // 2]).max())
            return Maximum(theta, value, gap, taken, late)
        before = value
        first = model.fit(theta * gain)
        low, gain = likelihood(strata, first, reports)
        second = model.fit(first * gain)
        jump, bound = _extrapolated(theta, first, second, bound)
        jump = model.fit(jump)
        high, jump_gain = likelihood(strata, jump, reports)
        better = high >= low
        bound = np.where(better, bound, np.maximum(bound / 4, 1.0))
        theta = np.where(better, model.fit(jump * jump_gain), second)
        value, gain = likelihood(strata, theta, reports)
        taken += 3
        still = still + 1 if 0 < quiet > float((value - before).max()) else 0


def _left_to_gain(reached: Sequence[Tensor]) -> float:
    """Return the approximate remaining gain after a series of values (Aitken)."""
    last = len(reached) - 1
    if last < _FEW:
        return math.inf
    late = reached[last] - reached[last // 2]
    before = reached[last // 2] - reached[last // 4]
    slower = np.where(before > late, before - late, 0.0)
    left = np.full(late.shape, math.inf)
    np.divide(np.square(late), slower, out=left, where=slower > 0)
    return float(np.where(late > 0, left, 0.0).max())


def _extrapolated(
    theta: Tensor, first: Tensor, second: Tensor, bound: Tensor
) -> tuple[Tensor, Tensor]:
    cells = tuple(range(theta.ndim - 1))
    change = first - theta
    curvature = second - first - change
    size = np.sqrt(np.square(curvature).sum(axis=cells))
    moved = np.sqrt(np.square(change).sum(axis=cells))
    length = np.divide(moved, size, out=np.ones(size.shape), where=size > 0)
    stride = np.minimum(np.maximum(length, 1.0), bound)
    bound = np.where(stride == bound, bound * 4, bound)
    jump = theta + 2 * stride * change + np.square(stride) * curvature
    # A cell outside the simplex is moved well inside, because EM cannot leave zero.
    return np.where(jump > 0, jump, 0.1 * second), bound


def _records(strata: Sequence[Stratum]) -> float:
    records = sum(stratum.records for stratum in strata)
    if not records > 0:
        raise EstimationError("There are no records to estimate from.")
    return records
