"""Point estimates of true counts from reported ones: by moments and by maximum likelihood.

Every operation works along the axes of the count tensor, one axis per channel; nothing iterates
over records and no Kronecker product is built.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shared.channels import CONDITION_LIMIT, Transition
from shared.errors import EstimationError, NotConverged, OptionError
from shared.marginals.counts import Tensor

NEWTON_ENTRIES = 1 << 20
"""Up to this many cells times reports, Newton steps replace EM that crawls."""

_PATIENCE = 300
_NEWTON_STEPS = 200


@dataclass(frozen=True)
class Stratum:
    """Reported counts of records that share the same channels.

    `reported` has one axis per channel, of the channel's number of reported categories.
    """

    reported: Tensor
    channels: tuple[Transition, ...]

    def __post_init__(self) -> None:
        if self.reported.shape != tuple(c.shape[1] for c in self.channels):
            raise OptionError(
                f"Reported counts of shape {self.reported.shape} do not fit channels that report"
                f" {[c.shape[1] for c in self.channels]} categories."
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the true counts."""
        return tuple(c.shape[0] for c in self.channels)

    def expected(self, true: Tensor) -> Tensor:
        """Return P' x: the expected reports of true counts or probabilities."""
        for axis, channel in enumerate(self.channels):
            true = channel.apply(true, axis)
        return true

    def adjoint(self, function: Tensor) -> Tensor:
        """Return P x: the expectation of a function of the report, per true cell."""
        for axis, channel in enumerate(self.channels):
            function = channel.apply_adjoint(function, axis)
        return function


def moment(strata: Sequence[Stratum]) -> Tensor:
    """Return the moment estimate of the true counts (Ma 2.4.1, theorem 2): unbiased, raw.

    Strata with different channels add up. Estimates may be fractional or negative.

    Raises:
        SingularChannel: a channel has no inverse.
    """
    total: Tensor | None = None
    for stratum in strata:
        estimate = stratum.reported.astype(np.float64)
        for axis, channel in enumerate(stratum.channels):
            estimate = channel.solve(estimate, axis)
        total = estimate if total is None else total + estimate
    if total is None:
        raise EstimationError("There are no reported counts to estimate from.")
    return total


@dataclass(frozen=True)
class Likelihood:
    """A maximum-likelihood estimate and its certificate.

    `gap` bounds how far the log-likelihood (in nats) is below its maximum.
    """

    probabilities: Tensor
    log_likelihood: float
    gap: float
    steps: int


def maximum_likelihood(
    strata: Sequence[Stratum],
    *,
    start: Tensor | None = None,
    tolerance: float = 1e-4,
    max_steps: int = 100_000,
) -> Likelihood:
    """Maximize the likelihood of the reported counts over true distributions (Ma 2.4.2) by EM.

    theta_j <- theta_j g_j with g_j = (1/N) sum_k n_k P[j,k] / (P'theta)_k, summed over strata,
    accelerated by squared extrapolation (SQUAREM, Varadhan and Roland 2008). Since the
    log-likelihood is concave, N (max_j g_j - 1) bounds its distance from the maximum; the
    iteration stops when that is at most `tolerance` nats. Where heavy noise makes EM crawl and the
    cells are few, Newton steps of an interior-point method finish what it began.

    Args:
        strata: reported counts; at least one record in all.
        start: a positive distribution to begin from (default: the moment estimate made positive
            where there is one, which is the answer at once if it is a distribution; else uniform).
        tolerance: the certified distance from the maximum, in nats. 1e-4 moves no estimate by more
            than about a hundredth of its standard error.
        max_steps: EM steps allowed.

    Raises:
        EstimationError: there are no records, or reports that the channels cannot make.
        NotConverged: `max_steps` did not reach `tolerance`.
    """
    small = _reports(strata) * math.prod(strata[0].shape) <= NEWTON_ENTRIES
    steps = min(max_steps, _PATIENCE) if small else max_steps
    found = climb(strata, start=start, tolerance=tolerance, steps=steps)
    if found.gap <= tolerance:
        return found
    if small and found.steps >= _PATIENCE:
        return _by_newton(strata, found.probabilities, _records(strata), tolerance, found.steps)
    raise NotConverged(
        f"Expectation maximization stopped after {found.steps} steps, at most {found.gap:.3g} nats"
        " below the maximum.",
        remedy=f"Allow more steps, or a tolerance above {tolerance:g}.",
    )


def climb(
    strata: Sequence[Stratum],
    *,
    start: Tensor | None = None,
    tolerance: float,
    steps: int,
    enough: float = math.inf,
) -> Likelihood:
    """Come near the maximum of the likelihood by EM; `gap` says how near.

    Args:
        strata: see `maximum_likelihood`.
        start: see `maximum_likelihood`.
        tolerance: stop where the maximum is certified to be no farther, in nats.
        steps: stop after about so many EM steps.
        enough: stop at this log-likelihood.

    Raises:
        EstimationError: there are no records, or reports that the channels cannot make.
    """
    records = _records(strata)
    if not records > 0:
        raise EstimationError("There are no records to estimate from.")
    theta = _start(strata, records) if start is None else start / start.sum()
    taken, step_bound = 0, 1.0
    while True:
        value, gain = _gain(strata, theta, records)
        if value == -math.inf:
            raise EstimationError(
                "Some reports have probability zero under every true category: the channel given is"
                " not the one that made them.",
                remedy="Check that the plan belongs to these reports.",
            )
        gap = records * (float(gain.max()) - 1)
        if gap <= tolerance or value >= enough or taken >= steps:
            return Likelihood(theta, value, max(gap, 0.0), taken)
        theta, step_bound = _squarem(strata, theta, gain, records, step_bound)
        taken += 3


def _records(strata: Sequence[Stratum]) -> float:
    return float(sum(stratum.reported.sum() for stratum in strata))


def _reports(strata: Sequence[Stratum]) -> int:
    return sum(stratum.reported.size for stratum in strata)


def _by_newton(
    strata: Sequence[Stratum], theta: Tensor, records: float, tolerance: float, steps: int
) -> Likelihood:
    """Finish a maximization by a primal-dual interior-point method.

    Because the log-likelihood of reports is homogeneous but for a constant, maximizing it less
    N sum(theta) over theta >= 0 has the same answer without the constraint that theta sums to 1.
    The conditions N - gradient = z, theta z = mu are solved by Newton steps while mu goes to 0.
    """
    matrix, seen = _listed(strata, theta.shape)
    # Well inside: a cell at the edge could not leave it.
    inner = np.maximum(theta.ravel(), 1e-3 / theta.size)
    inner /= inner.sum()
    slack = np.full(inner.size, records)
    for step in range(1, _NEWTON_STEPS + 1):
        expected = matrix @ inner
        gradient = matrix.T @ (seen / expected)
        mu = 0.1 * float(inner @ slack) / inner.size
        hessian = (matrix.T * (seen / np.square(expected))) @ matrix
        hessian[np.diag_indices_from(hessian)] += slack / inner
        move = np.asarray(
            np.linalg.solve(hessian, gradient - records + mu / inner), dtype=np.float64
        )
        relax: Tensor = mu / inner - slack - slack / inner * move
        inner = inner + _inside(inner, move) * move
        slack = slack + _inside(slack, relax) * relax
        found = (inner / inner.sum()).reshape(theta.shape)
        value, gain = _gain(strata, found, records)
        gap = records * (float(gain.max()) - 1)
        if gap <= tolerance:
            return Likelihood(found, value, max(gap, 0.0), steps + step)
    raise NotConverged(
        f"Newton steps stopped at most {gap:.3g} nats below the maximum.",
        remedy=f"Allow a tolerance above {tolerance:g}.",
    )


def _inside(values: Tensor, move: Tensor) -> float:
    """Return how much of a move keeps positive values positive, at most all of it."""
    falling = move < 0
    if not falling.any():
        return 1.0
    return min(1.0, 0.99 * float(np.min(-values[falling] / move[falling])))


def _listed(strata: Sequence[Stratum], shape: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """Return the probabilities of the reports that were seen, given each cell, and their counts."""
    cells = math.prod(shape)
    every = np.eye(cells).reshape(*shape, cells)
    rows, counts = [], []
    for stratum in strata:
        listed = stratum.expected(every.reshape(*stratum.shape, cells)).reshape(-1, cells)
        seen = stratum.reported.ravel() > 0
        rows.append(listed[seen])
        counts.append(stratum.reported.ravel()[seen])
    return np.concatenate(rows), np.concatenate(counts)


def _start(strata: Sequence[Stratum], records: float) -> Tensor:
    shape = strata[0].shape
    uniform = np.full(shape, 1 / math.prod(shape))
    if any(
        c.shape[0] != c.shape[1] or c.condition_number > CONDITION_LIMIT
        for stratum in strata
        for c in stratum.channels
    ):
        return uniform
    estimate = moment(strata) / records
    if len(strata) == 1 and estimate.min() >= 0:
        valid: Tensor = estimate / estimate.sum()
        return valid
    positive = np.maximum(estimate, 0.05 / estimate.size)
    started: Tensor = positive / positive.sum()
    return started


def _gain(strata: Sequence[Stratum], theta: Tensor, records: float) -> tuple[float, Tensor]:
    """Return the log-likelihood at theta and the factors g by which EM multiplies it."""
    value = 0.0
    total = np.zeros_like(theta)
    for stratum in strata:
        expected = stratum.expected(theta)
        seen = stratum.reported > 0
        if np.any(expected[seen] <= 0):
            return -math.inf, total
        value += float(np.sum(stratum.reported[seen] * np.log(expected[seen])))
        ratio = np.divide(stratum.reported, expected, out=np.zeros(seen.shape), where=seen)
        total += stratum.adjoint(ratio)
    return value, total / records


def _squarem(
    strata: Sequence[Stratum], theta: Tensor, gain: Tensor, records: float, bound: float
) -> tuple[Tensor, float]:
    """Take two EM steps, extrapolate along them, and keep the better of both results."""
    first = theta * gain
    value, gain = _gain(strata, first, records)
    second = first * gain
    change, curvature = first - theta, (second - first) - (first - theta)
    norm = float(np.linalg.norm(curvature))
    if norm == 0:
        return second, bound
    length = float(np.linalg.norm(change)) / norm
    stride = min(max(length, 1.0), bound)
    if stride == bound:
        bound *= 4
    jump = theta + 2 * stride * change + stride**2 * curvature
    # A cell thrown out of the simplex is put well inside its last value, never at zero: EM could
    # not bring it back from there.
    jump = np.where(jump > 0, jump, 0.1 * second)
    jump /= jump.sum()
    reached, jump_gain = _gain(strata, jump, records)
    if reached >= value:
        return jump * jump_gain, bound
    return second, max(1.0, bound / 4)
