"""The most likely true table, free of any model, by Newton steps on its support alone.

Under noise most cells of the most likely table are zero (Lindsay 1983: a mixture of few
components is as likely as any). So cells are taken in where the likelihood rises towards them, a
quadratic model of the log-likelihood is maximized over the shares of those held, and those that
become zero are let go: the constrained Newton method for mixtures (Wang 2007, On fast computation
of the non-parametric maximum likelihood estimate of a mixing distribution, section 3; the
quadratic problem as in Kim, Carbonetto, Stephens and Anitescu 2020, section 4). The slopes
towards all cells cost one product along the axes, and certify the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pramana_core.estimation.axes import Stratum
from pramana_core.estimation.curvature import MOST_SHARES, Curvature, HeldCells, SeenReports
from pramana_core.marginals.counts import Tensor
from pramana_core.marginals.support_counts import Indices
from pramana_core.progress import Tick
from pramana_core.ties import descending

_WHOLE = 1 << 7
"""Tables of so few cells are held whole from the beginning."""

_TAKEN, _SHARE = 64, 0.5
"""So many cells are taken in at once, or this share of those held where that is more."""

_NEIGHBOUR = 0.5
"""Of cells along an axis only those are taken in that rise at least so much as the steepest."""

_SOLVED = 40
_EXACT = 1e-2
_SHORT, _TRIED = 1e-3, 20
_RISE, _LEAST_STRIDE = 1e-4, 2.0**-40


@dataclass(frozen=True)
class Peak:
    """A table (cells...) and its log-likelihood in nats, up to `gap` nats below the maximum."""

    table: Tensor
    log_likelihood: float
    gap: float
    steps: int


def climb_on_support(
    strata: Sequence[Stratum], begin: Tensor, *, tolerance: float, steps: int, tick: Tick
) -> Peak:
    """Come within `tolerance` of the maximum, or as near as the steps allowed and rounding let.

    With slopes s_j = sum_k n_k P[j,k] / (P'theta)_k, no table is more likely by more than
    max_j s_j - N: the log-likelihood is concave, and theta's own slope is N.

    Args:
        strata: reported counts; at least one record in all.
        begin: a distribution under which all reports seen can be, in the strata's shape.
        tolerance: how far below the maximum to stop, in nats.
        steps: Newton steps allowed.
        tick: called often; what it raises stops the work.
    """
    seen = SeenReports(strata)
    held = HeldCells.of(begin.ravel(), _WHOLE)
    for step in range(steps + 1):
        theta = held.spread(held.shares)
        expected = seen.expected(theta)
        slope = seen.adjoint(seen.counts / expected) - seen.records
        value, gap = float(seen.counts @ np.log(expected)), max(float(slope.max()), 0.0)
        peak = Peak(theta.reshape(begin.shape), value, gap, step)
        tick()
        if gap <= tolerance or step == steps or len(held.shares) > MOST_SHARES:
            break
        held = held.joined(_promising(slope, begin.shape, held))
        curvature = seen.curvature(held, expected, tick)
        aim = _aim(curvature, held.gathered(slope), held.shares, tolerance)
        promised = float(held.gathered(slope) @ (aim - held.shares))
        moved = _moved(seen, held, expected, aim, promised) if promised > 0 else None
        if moved is None:
            # Rounding hides what is left to gain.
            break
        held = moved
    return peak


def _promising(slope: Tensor, shape: tuple[int, ...], held: HeldCells) -> Indices:
    """Return the cells to take in.

    Under heavy noise neighbours tell nearly the same: of them only the best are taken.
    """
    rise = slope.reshape(shape)
    steep = rise > 0
    for axis in range(len(shape)):
        steep &= rise >= _NEIGHBOUR * rise.max(axis=axis, keepdims=True)
    flat = steep.ravel()
    flat[held.cells] = False
    cells = np.flatnonzero(flat)
    most = max(_TAKEN, int(_SHARE * len(held.cells)))
    best: Indices = cells[descending(slope[cells])[:most]]
    return best


def _moved(
    seen: SeenReports, held: HeldCells, expected: Tensor, aim: Tensor, promised: float
) -> HeldCells | None:
    """Go to new shares, or as far towards them as the likelihood rises; None if it does not."""
    move = aim - held.shares
    change = seen.expected(held.spread(move)) / expected
    mass = seen.records * float(move.sum())
    stride = 1.0
    while stride > _LEAST_STRIDE:
        with np.errstate(divide="ignore", invalid="ignore"):
            risen = float(seen.counts @ np.log1p(stride * change)) - stride * mass
        if risen >= _RISE * stride * promised:
            return held.moved(aim if stride == 1.0 else held.shares + stride * move)
        stride /= 2
    return None


def _aim(curvature: Curvature, slope: Tensor, begin: Tensor, tolerance: float) -> Tensor:
    """Return x >= 0 with about the most slope'd - d' curvature d / 2, d = x - begin.

    Projected Newton steps (Bertsekas 1982), until slopes are a hundredth of what they were: far
    from the maximum the quadratic model itself is no better.
    """
    x = begin
    tolerance = max(tolerance / 10, _EXACT * _unsettled(x, slope))
    for _ in range(_SOLVED):
        free = np.flatnonzero((x > 0) | (slope > tolerance))
        move = curvature.solved(slope, free)
        if move is None:
            break
        for stride in _strides(x[free], move):
            trial = x.copy()
            trial[free] = np.maximum(x[free] + stride * move, 0.0)
            step = trial - x
            bent = curvature.times(step)
            if slope @ step > step @ bent / 2:
                break
        else:
            break
        x, slope = trial, slope - bent
        if _unsettled(x, slope) <= tolerance:
            break
    return x


def _strides(x: Tensor, move: Tensor) -> Iterator[float]:
    """Return the strides to try: bent at x >= 0, then up to where a first share becomes zero.

    Where directions are flat, a move is so long that only the latter serve.
    """
    falling = (x > 0) & (move < 0)
    first = float((-x[falling] / move[falling]).min(initial=1.0))
    stride = 1.0
    while stride > first:
        yield stride
        stride /= 2 if stride > _SHORT else 8
    for _ in range(_TRIED):
        yield first
        first /= 4


def _unsettled(x: Tensor, slope: Tensor) -> float:
    """Return the steepest slope along which x >= 0 can still move."""
    return float(np.abs(np.where(x > 0, slope, np.maximum(slope, 0.0))).max())
