"""Maximum likelihood of true tables given reports: free, or under a model, of one set or many.

One maximizer serves all: expectation maximization with squared extrapolation, which takes many sets
of reports of one layout at once (a bootstrap costs little more than one fit), and Newton steps that
finish what heavy noise makes it crawl to.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.special import xlogy

from shared.errors import EstimationError, NotConverged
from shared.estimation.core.models import Effects, FactoredModel
from shared.estimation.core.strata import Stratum, moment
from shared.marginals.counts import Tensor
from shared.marginals.support_counts import Flags

NEWTON_ENTRIES = 1 << 21
"""Up to this many true cells times reports seen, Newton steps replace EM that crawls."""

_FREE_ENTRIES, _MODEL_ENTRIES = 1 << 24, 1 << 20
"""They do up to so many true cells times parameters: without a model, and under one."""

STEPS = 30_000
"""EM steps allowed where many sets of reports are maximized at once."""

_TINY = 1 << 12
"""Up to so many a Newton step takes about as long as an extrapolation."""

_FLOOR = 0.05
_QUIET = 3
_DAMPING, _NEARLY, _MOST_DAMPING = 1e-6, 1e-4, 1e3
_LEAST_MASS = 1e-12
_ROUNDING = 1e-13


@dataclass(frozen=True)
class Maximum:
    """The most likely true tables (cells..., sets) and their log-likelihoods (sets) in nats.

    Without a model `gap` bounds how far the log-likelihood of any is below its maximum; under one
    it is what the last Newton step promised to gain, or infinite where none was taken.
    """

    probabilities: Tensor
    log_likelihood: Tensor
    gap: float
    steps: int

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
    if len(strata) == 1 and square and estimate.min() >= 0:
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
) -> Maximum:
    """Maximize the likelihood of the reported counts over the true tables of a model.

    EM goes first (see `climb`). Where it crawls and the table is small, Newton steps finish what it
    began. Without a model the log-likelihood is concave, and N (max_j g_j - 1) bounds its distance
    from the maximum: that certifies the result.

    Args:
        strata: reported counts; at least one record in all.
        model: None is every distribution.
        begin: a positive table of the model to begin from; default that of `start`.
        tolerance: how far below the maximum to stop, in nats. 1e-4 moves no estimate by more than
            about a hundredth of its standard error.
        max_steps: EM steps allowed; after `patience` (on larger tables, and one per cell) of them
            Newton steps take over, of which `newton_steps` are allowed.
        certified: go on until the distance is certified (only without a model). Otherwise a table
            too large for Newton steps is done when three extrapolations in a row gain less than
            `tolerance`: under heavy noise many small gains add up, and at 1e-5 half a nat may miss.

    Raises:
        EstimationError: there are no records, or reports that no true table of the model can make.
        NotConverged: neither `max_steps` nor Newton steps reached `tolerance`.
    """
    model = model or FactoredModel(strata[0].shape)
    cells, reports = math.prod(model.shape), sum(s.reported.size for s in strata)
    tiny = cells * max(reports, model.probabilities) <= min(_TINY, NEWTON_ENTRIES)
    usual = patience + (0 if tiny else cells)
    patience = min(max_steps, usual) if newton_serves(strata, model) else max_steps
    certified = certified and not model.factors
    found = climb(
        strata,
        model,
        _start_in(model, strata) if begin is None else begin,
        tolerance=tolerance,
        steps=patience,
        quiet=0.0 if certified and not tiny else tolerance,
        times=1 if tiny else _QUIET,
    )
    if found.gap <= tolerance or not (certified or tiny or found.steps >= patience):
        return found
    if patience < max_steps:
        found = _by_newton(strata, model, found, tolerance, newton_steps)
    if found.gap > tolerance and (certified or patience == max_steps):
        raise not_converged(found, tolerance)
    return found


def _start_in(model: FactoredModel, strata: Sequence[Stratum]) -> Tensor:
    begin = start(strata)[0]
    return model.fit(begin[..., None])[..., 0] if model.factors else begin


def newton_serves(strata: Sequence[Stratum], model: FactoredModel | None = None) -> bool:
    """Return whether the matrices of Newton steps are small enough."""
    model = model or FactoredModel(strata[0].shape)
    cells, seen = math.prod(model.shape), sum(int((s.reported > 0).sum()) for s in strata)
    room = _MODEL_ENTRIES if model.factors else _FREE_ENTRIES
    return cells * seen <= NEWTON_ENTRIES and cells * model.probabilities <= room


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
) -> Maximum:
    """Come near the maximum by EM with squared extrapolation (SQUAREM, Varadhan and Roland 2008).

    Args:
        strata: reported counts; at least one record in all.
        model: what the true tables are of.
        begin: a positive table of the model to begin from, in its shape.
        reports: reported counts per stratum, (reports, sets), that take the place of the strata's.
        tolerance: stop where the maximum is certified to be no farther, in nats.
        steps: stop after about so many EM steps.
        quiet: stop also when some extrapolations in a row gained less than this, in nats.
        times: how many of these.
        enough: stop when all log-likelihoods are at least this.

    Raises:
        EstimationError: there are no records, or reports that no true table of the model can make.
    """
    records = _records(strata)
    sets = 1 if reports is None else max(r.shape[-1] for r in reports)
    theta: Tensor = np.broadcast_to(begin[..., None], (*begin.shape, sets))
    bound: Tensor = np.ones(sets)
    still, taken = 0, 0
    value, gain = likelihood(strata, theta, reports)
    while True:
        gap = math.inf if model.factors else max(records * (float(gain.max()) - 1), 0.0)
        done = gap <= tolerance or value.min() >= enough or taken >= steps
        if done or still == times:
            return Maximum(theta, value, gap, taken)
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
) -> Maximum:
    """Finish a maximization by damped Newton steps in the logarithms of a model's factors.

    The damping is a share of what complete records would tell, so that a step is between Newton's
    and EM's (Levenberg and Marquardt).

    Raises:
        NotConverged: the steps allowed did not reach `tolerance`, though there is more to gain.
    """
    matrix, counts = _seen(strata)
    records = float(counts.sum())
    theta, value = near.table.ravel(), float(near.log_likelihood[0])
    parameters = Effects(model)
    damping, gap, steps, higher = _DAMPING, near.gap, near.steps, True
    for _ in range(most):
        steps += 1
        effects, mass = parameters.at(theta)
        score, information = _curvature(
            matrix, counts, theta, effects, parameters.apart, free=not model.factors
        )
        complete = records * np.maximum(mass, _LEAST_MASS)
        higher = False
        while not higher and damping < _MOST_DAMPING:
            solved = _solved(information + np.diag(damping * complete), score)
            if solved is None:
                damping *= 10
                continue
            move = solved
            moved = model.fit(parameters.moved(theta, effects, move)[..., None]).ravel()
            high = float(counts @ np.log(np.maximum(matrix @ moved, np.finfo(float).tiny)))
            higher = high >= value - _ROUNDING * abs(value)
            damping *= 1 if higher else 10
        if not higher:
            # Rounding hides what is left to gain.
            break
        promised = float(score @ move - move @ information @ move / 2)
        kept = (high - value) / promised if promised > 0 else 1.0
        theta, value = moved, high
        gap = promised if damping < _NEARLY else math.inf
        if not model.factors:
            gap = max(float((matrix.T @ (counts / (matrix @ theta))).max()) - records, 0.0)
        if gap <= tolerance:
            break
        damping = max(damping * (0.1 if kept > 0.75 else 0.3 if kept > 0.25 else 3), _ROUNDING)
    found = Maximum(theta.reshape(*model.shape, 1), np.array([value]), gap, steps)
    if higher and gap > tolerance:
        raise not_converged(found, tolerance)
    return found


def _curvature(
    matrix: Tensor, counts: Tensor, theta: Tensor, effects: Tensor, apart: Flags, *, free: bool
) -> tuple[Tensor, Tensor]:
    """Return the slope of the log-likelihood by a model's parameters, and its information.

    That is of complete records less what is missing of them (Louis 1982), but for parts that
    vanish at the maximum; of these only the slope of cells on their way to the edge is kept.
    """
    expected = matrix @ theta
    posterior = theta * (matrix.T @ (counts / expected))
    score = effects.T @ posterior
    weighted = matrix * (np.sqrt(counts) / expected)[:, None]
    if free:
        slopes = (weighted - np.sqrt(counts)[:, None]) * theta
    else:
        slopes = weighted @ (theta[:, None] * effects)
    information = slopes.T @ slopes
    if apart.any():
        information -= np.where(apart, (effects.T * posterior) @ effects, 0.0)
    information[np.diag_indices_from(information)] += np.maximum(-score, 0.0)
    return score, information


def _solved(matrix: Tensor, score: Tensor) -> Tensor | None:
    """Return a Newton step; None where the matrix is not positive definite."""
    try:
        factor = linalg.cho_factor(matrix, check_finite=False)
    except linalg.LinAlgError:
        return None
    move: Tensor = linalg.cho_solve(factor, score, check_finite=False)
    return move if np.isfinite(move).all() else None


def _seen(strata: Sequence[Stratum]) -> tuple[Tensor, Tensor]:
    """Return the probabilities of the reports that were seen, given each cell, and their counts."""
    seen = [stratum.column[:, 0] > 0 for stratum in strata]
    rows = [stratum.listed()[own] for stratum, own in zip(strata, seen, strict=True)]
    counts = [stratum.column[own, 0] for stratum, own in zip(strata, seen, strict=True)]
    return np.concatenate(rows), np.concatenate(counts)


def _records(strata: Sequence[Stratum]) -> float:
    records = sum(stratum.records for stratum in strata)
    if not records > 0:
        raise EstimationError("There are no records to estimate from.")
    return records


def _columns(strata: Sequence[Stratum], reports: Sequence[Tensor] | None) -> Sequence[Tensor]:
    if reports is not None:
        return reports
    return [stratum.column for stratum in strata]
