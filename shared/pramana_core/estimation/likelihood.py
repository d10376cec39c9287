"""Maximum likelihood of true tables given reports: free, or under a model, of one set or many.

Expectation maximization with squared extrapolation comes near, and takes many sets of reports of
one layout at once (a bootstrap costs little more than one fit). Newton steps finish what heavy
noise makes it crawl to: on the support of the free maximum (`profile`), or in a model's parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from pramana_core.errors import EstimationError, NotConverged
from pramana_core.estimation.axes import Stratum, moment
from pramana_core.estimation.curvature import SeenReports, by_gradients
from pramana_core.estimation.loglinear import Effects, FactoredModel
from pramana_core.estimation.profile import climb_on_support
from pramana_core.marginals.counts import Tensor
from pramana_core.progress import Tick, no_cancel
from pramana_core.ties import TIE

NEWTON_ENTRIES = 1 << 22
"""Up to so many true cells times factors of a model, Newton steps replace EM that crawls."""

STEPS = 30_000
"""EM steps allowed where many sets of reports are maximized at once."""

_TINY = 1 << 6
"""Up to so many cells a Newton step takes about as long as an extrapolation."""

_FLOOR = 0.05
_QUIET, _FEW = 3, 8
_DAMPING, _NEARLY, _MOST_DAMPING = 1e-6, 1e-4, 1e3
_LEAST_MASS = 1e-12
_TRUNCATED, _SOLVED = 0.1, 1e-10
_ROUNDING = 1e-13


@dataclass(frozen=True)
class Maximum:
    """The most likely true tables (cells..., sets) and their log-likelihoods (sets) in nats.

    Without a model `gap` bounds how far the log-likelihood of any is below its maximum. Under one
    there is no such bound: it is what the last Newton step promised to gain, or where none was
    taken what more EM steps would gain, going by what the last ones did. `late` is what the last
    half of these gained.
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
    """Return the log-likelihood that no true table can exceed: that of the reports themselves."""
    return sum(float(xlogy(s.column, s.column / max(s.records, 1.0)).sum()) for s in strata)


def start(strata: Sequence[Stratum]) -> tuple[Tensor, bool]:
    """Return a positive table to begin from, and whether it is the maximum already.

    It is the moment estimate made positive where there is one, else uniform.
    """
    shape = strata[0].shape
    cells = math.prod(shape)
    if not all(stratum.solvable for stratum in strata):
        return np.full(shape, 1 / cells), False
    estimate = moment(strata) / _records(strata)
    square = all(c.shape[0] == c.shape[1] for stratum in strata for c in stratum.channels)
    if len(strata) == 1 and square and estimate.min() >= -TIE * estimate.max():
        # What is negative by rounding alone is none.
        estimate = np.maximum(estimate, 0.0)
        return estimate / estimate.sum(), True
    positive = np.maximum(estimate, _FLOOR / cells)
    return positive / positive.sum(), False


def likelihood(
    strata: Sequence[Stratum], theta: Tensor, reports: Sequence[Tensor] | None = None
) -> tuple[Tensor, Tensor]:
    """Return the log-likelihoods (sets) at `theta`, and the factors by which EM multiplies it.

    theta_j <- theta_j g_j with g_j = (1/N) sum_k n_k P[j,k] / (P'theta)_k, summed over strata
    (Ma 2.4.2). Arguments as of `climb`.

    Raises:
        EstimationError: reports of probability zero.
    """
    value: Tensor = np.zeros(theta.shape[-1])
    gain: Tensor = np.zeros(1)
    records: Tensor = np.zeros(1)
    for stratum, reported in zip(strata, _columns(strata, reports), strict=True):
        expected = stratum.expected(theta)
        if expected.min() <= 0:
            if np.any((expected <= 0) & (reported > 0)):
                raise EstimationError(
                    "Some reports have probability zero under every true category: the channel"
                    " given is not the one that made them.",
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
    patience: int = 30,
    newton_steps: int = 200,
    certified: bool = True,
    tick: Tick = no_cancel,
) -> Maximum:
    """Maximize the likelihood of the reported counts over the true tables of a model.

    EM goes first (see `climb`), and Newton steps finish what it began. Without a model the
    log-likelihood is concave, and N (max_j g_j - 1) bounds its distance from the maximum: that
    certifies the result.

    Args:
        strata: reported counts; at least one record in all.
        model: None is every distribution.
        begin: a positive table of the model to begin from; default that of `start`.
        tolerance: how far below the maximum to stop, in nats. 1e-4 moves no estimate by more than
            about a hundredth of its standard error.
        max_steps: EM steps allowed under a model too large for Newton steps.
        patience: EM steps after which Newton steps take over, of which `newton_steps` are allowed.
        certified: whether a distance above `tolerance` is an error; else `gap` tells of it.
        tick: called after each piece of work; what it raises stops the work.

    Raises:
        EstimationError: there are no records, or reports that no true table of the model can make.
        NotConverged: neither EM nor Newton steps reached `tolerance`.
    """
    model = model or FactoredModel(strata[0].shape)
    begin = _start_in(model, strata) if begin is None else begin
    if model.factors:
        return _under_model(
            strata, model, begin, (tolerance, max_steps, patience, newton_steps), tick
        )
    found = climb(strata, model, begin, tolerance=tolerance, steps=patience, tick=tick)
    if found.gap > tolerance:
        peak = climb_on_support(
            strata, found.table, tolerance=tolerance, steps=newton_steps, tick=tick
        )
        value, steps = np.array([peak.log_likelihood]), found.steps + peak.steps
        found = Maximum(peak.table[..., None], value, peak.gap, steps)
    if found.gap > tolerance and certified:
        raise not_converged(found, tolerance)
    return found


def _under_model(
    strata: Sequence[Stratum],
    model: FactoredModel,
    begin: Tensor,
    limits: tuple[float, int, int, int],
    tick: Tick,
) -> Maximum:
    tolerance, max_steps, patience, newton_steps = limits
    cells = math.prod(model.shape)
    serves = cells * len(model.every) <= NEWTON_ENTRIES
    tiny = serves and cells <= _TINY
    found = climb(
        strata,
        model,
        begin,
        tolerance=-1.0 if tiny else tolerance,
        steps=min(max_steps, patience) if serves else max_steps,
        quiet=tolerance if tiny else 0.0,
        times=1,
        tick=tick,
    )
    if serves and (tiny or found.gap > tolerance):
        return _by_newton(strata, model, found, tolerance, newton_steps, tick)
    if found.gap > tolerance:
        raise not_converged(found, tolerance)
    return found


def _start_in(model: FactoredModel, strata: Sequence[Stratum]) -> Tensor:
    begin = start(strata)[0]
    return model.fit(begin[..., None])[..., 0] if model.factors else begin


def not_converged(found: Maximum, tolerance: float) -> NotConverged:
    """Return the error that says how far a maximization came."""
    return NotConverged(
        f"Maximization stopped after {found.steps} steps, up to {found.gap:.3g} nats too low.",
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
    times: int = _QUIET,
    enough: float = math.inf,
    tick: Tick = no_cancel,
) -> Maximum:
    """Come near the maximum by EM with squared extrapolation (SQUAREM, Varadhan and Roland 2008).

    Args:
        strata: reported counts; at least one record in all.
        model: what the true tables are of.
        begin: a positive table of the model to begin from, in its shape.
        reports: reported counts per stratum, (reports, sets), that take the place of the strata's.
        tolerance: stop where `gap` is no more, in nats.
        steps: stop after about so many EM steps.
        quiet: stop also when some extrapolations in a row gained less than this, in nats.
        times: how many of these.
        enough: stop when all log-likelihoods are at least this.
        tick: called after each extrapolation; what it raises stops the work.

    Raises:
        EstimationError: there are no records, or reports that no true table of the model can make.
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
        gap = _left_to_gain(reached) if model.factors else above
        done = gap <= tolerance or value.min() >= enough or taken >= steps
        if done or still == times:
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
    """Return about how much more than the last of some values the next will come to.

    The last half of them gained b, the quarter before that a: b^2 / (a - b) is left where the
    distance falls as 1 / steps, which is EM at its slowest, and less where it falls faster
    (Aitken's extrapolation, of values at doubled steps). Infinite before there are a few.
    """
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
    """Return where two EM steps point to, a stride of at most `bound` away."""
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


def _by_newton(
    strata: Sequence[Stratum],
    model: FactoredModel,
    near: Maximum,
    tolerance: float,
    most: int,
    tick: Tick,
) -> Maximum:
    """Finish a maximization by damped Newton steps in the logarithms of a model's factors.

    A step is solved for by conjugate gradients, scaled by what complete records would tell: the
    first of them is an EM step. The damping is a share of that too, so that a step is between
    Newton's and EM's (Levenberg and Marquardt).

    Raises:
        NotConverged: the steps allowed did not reach `tolerance`, though there is more to gain.
    """
    seen = SeenReports(strata)
    theta, value = near.table.ravel(), float(near.log_likelihood[0])
    effects = Effects(model)
    damping, gap, steps, higher = _DAMPING, near.gap, near.steps, True
    for _ in range(most):
        steps += 1
        here = _ModelSlopes.at(seen, effects, theta)
        higher = False
        while not higher and damping < _MOST_DAMPING:
            tick()
            found = here.step(damping, tick)
            if found is None:
                damping *= 10
                continue
            step, promised = found
            moved = model.fit(effects.moved(theta, here.share, step)[..., None]).ravel()
            expected = np.maximum(seen.expected(moved), np.finfo(float).tiny)
            high = float(seen.counts @ np.log(expected))
            higher = high >= value - _ROUNDING * abs(value)
            damping *= 1 if higher else 10
        if not higher:
            # Rounding hides what is left to gain.
            break
        kept = (high - value) / promised if promised > 0 else 1.0
        theta, value = moved, high
        gap = promised if damping < _NEARLY else math.inf
        if gap <= tolerance:
            break
        damping = max(damping * (0.1 if kept > 0.75 else 0.3 if kept > 0.25 else 3), _ROUNDING)
    peak = Maximum(theta.reshape(*model.shape, 1), np.array([value]), gap, steps)
    if higher and gap > tolerance:
        raise not_converged(peak, tolerance)
    return peak


@dataclass(frozen=True)
class _ModelSlopes:
    """The slope of the log-likelihood by a model's parameters at a distribution, and its bend.

    `bend` multiplies with the information: that of complete records less what is missing of them
    (Louis 1982), but for parts that vanish at the maximum; of these only the slope of cells on
    their way to the edge is kept.
    """

    score: Tensor
    complete: Tensor
    share: Tensor
    bend: Callable[[Tensor], Tensor]

    @classmethod
    def at(cls, seen: SeenReports, effects: Effects, theta: Tensor) -> _ModelSlopes:
        expected = seen.expected(theta)
        posterior = theta * seen.adjoint(seen.counts / expected)
        weights = seen.counts / np.square(expected)
        share, mass = effects.shares(theta)
        whole = np.broadcast_to(posterior, (effects.factors, len(theta)))
        score = effects.slopes(share, whole)
        vanishing = np.maximum(-score, 0.0)

        def bend(move: Tensor) -> Tensor:
            each = effects.along(share, move)
            every = each.sum(axis=0)
            updated = theta * seen.adjoint(weights * seen.expected(theta * every))
            # Effects of different factors are of one cell; those of one factor exclude each other.
            return effects.slopes(share, updated - posterior * (every - each)) + vanishing * move

        complete = seen.records * np.maximum(mass, _LEAST_MASS) + vanishing
        return cls(score, complete, share, bend)

    def step(self, damping: float, tick: Tick) -> tuple[Tensor, float] | None:
        """Return a damped step and what it promises to gain; None where the slopes bend upwards."""
        more = damping * self.complete
        # Of few parameters a step is solved whole: that costs no more products than there are.
        least = _SOLVED if len(self.score) <= 2 * _TINY else _TRUNCATED

        def enough(_left: Tensor, gained: list[float]) -> bool:
            # More products would lengthen the step no further (Nash and Sofer 1990).
            return bool(gained) and len(gained) * gained[-1] <= least * sum(gained)

        solved = by_gradients(
            lambda move: self.bend(move) + more * move,
            self.score,
            (1 + damping) * self.complete,
            enough,
            tick,
        )
        if not solved.convex:
            return None
        bent = self.score - solved.left - more * solved.move
        return solved.move, float(self.score @ solved.move - solved.move @ bent / 2)


def _records(strata: Sequence[Stratum]) -> float:
    records = sum(stratum.records for stratum in strata)
    if not records > 0:
        raise EstimationError("There are no records to estimate from.")
    return records


def _columns(strata: Sequence[Stratum], reports: Sequence[Tensor] | None) -> Sequence[Tensor]:
    if reports is not None:
        return reports
    return [stratum.column for stratum in strata]
