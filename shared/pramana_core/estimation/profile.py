"""Profile-likelihood intervals of shares of cells under a log-linear model.

A share is psi = (the probability of some cells) / (the probability of more). Its interval holds
all values that it takes at parameters whose log-likelihood is at most z^2 / 2 below the highest
(Venzon and Moolgavkar, Applied Statistics 37, 1988, 87-94): the likelihood ratio test, inverted.
Standard errors carried over from parameters to cells by derivatives fail twice where records are
few: cells are not nearly linear in the parameters over so wide a range, and a cell that comes out
too small has too small an error as well. The likelihood knows of neither scale nor derivative; an
interval is as long to each side as the reports allow and ends within [0, 1]. Where the truth lies
near an end of the scale it covers more often than it says.

Each end maximizes (or minimizes) the log odds of psi where the log-likelihood stays above its
bound. With G the gradient of the log-likelihood, I its information and h the gradient of the log
odds, a step is

    I^-1 (G + k h),    k^2 = (2 (l - bound) + G' I^-1 G) / (h' I^-1 h),

the solution for a quadratic log-likelihood and linear log odds, shortened until it improves the
two together (the exact penalty function of sequential quadratic programming; Nocedal and Wright,
Numerical Optimization, 2006, 18.3). Many ends are looked for at once.

Also here:

* Whether reports show interactions that a log-linear model leaves out.
* The most likely true table, free of any model, by Newton steps on its support alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg
from scipy.special import expit, gammaincc

from pramana_core.estimation.axes import Stratum
from pramana_core.estimation.curvature import LISTED_SHARES, Curvature, HeldCells, SeenReports
from pramana_core.estimation.loglinear import Penalized, Points, design, inverse, parameters
from pramana_core.marginals.counts import Tensor
from pramana_core.marginals.support_counts import Flags, Indices
from pramana_core.progress import Tick
from pramana_core.ties import descending

PROFILE_COST = 1 << 29
"""Operations of one step of all ends: their number, times cells and reports, times the square of
the parameters. Above it intervals are the estimate's log odds +- z standard errors."""

_AT_ONCE = 1 << 22
_SCORING_STEPS, _LEAST_GAIN = 1000, 1e-5
_STEPS, _HALVINGS = 60, 10
_STRIDE = 3.0
"""How far a step may move the logarithm of a cell's probability."""

_NEAR, _SLACK = 1e-2, 1e-2
_NOTHING = 1e-9
"""A share that comes so near 0 or 1 is taken to reach it."""


@dataclass(frozen=True)
class Profile:
    """What reports tell of shares of cells, by the likelihood of a model with weak priors.

    `start` are parameters to look for the highest likelihood from.
    """

    model: Penalized
    start: Tensor

    @cached_property
    def best(self) -> Points:
        """The model at the highest likelihood.

        Raises EstimationError: see `Penalized.improve`.
        """
        here = self.model.at(self.start[None])
        for _ in range(_SCORING_STEPS):
            before, (here, _covariance) = here, self.model.improve(here)
            if here.likelihood[0] - before.likelihood[0] < _LEAST_GAIN:
                break
        return here

    def limits(self, parts: Tensor, wholes: Tensor, z: float, of: int = 0) -> tuple[Tensor, Tensor]:
        """Return the ends of the intervals of the shares `parts` have in `wholes`.

        Args:
            parts: 1 of each cell in the numerator, (shares, cells).
            wholes: 1 of each cell in the denominator, all of the numerator's among them.
            z: the normal quantile.
            of: how many shares are asked for in all, where these are some of them: it decides how
                they are worked out.

        Returns:
            The lower and the upper ends, within [0, 1]. Both are 0 of a share none of whose cells
            can occur, and 1 where no others of the whole can; they are 0 and 1 where nothing of the
            whole can occur, and for an end that is not found.
        """
        cells, count = self.model.matrix.shape
        tables = cells + sum(stratum.column.size for stratum in self.model.strata)
        rests = wholes - parts
        some, others = ((one @ self.model.base) > 0 for one in (parts, rests))
        low, high = np.where(some & ~others, 1.0, 0.0), np.where(others & ~some, 0.0, 1.0)
        places = np.flatnonzero(some & others)
        if 2 * (of or len(places)) * tables * count**2 > PROFILE_COST:
            low[places], high[places] = self._by_slopes(
                _Shares.both(parts[places], rests[places]), z
            )
            return low, high
        size = max(1, _AT_ONCE // (2 * tables * count))
        for first in range(0, len(places), size):
            here = places[first : first + size]
            low[here], high[here] = self._ends(_Shares.both(parts[here], rests[here]), z)
        return low, high

    def _by_slopes(self, shares: _Shares, z: float) -> tuple[Tensor, Tensor]:
        cells, covariance = self._at_best
        slope = shares.slope(self.best.theta, cells)
        error = np.sqrt(np.einsum("sd,sd->s", slope @ covariance, slope))
        return shares.told(shares.odds(self.best.theta) + z * error)

    @cached_property
    def _at_best(self) -> tuple[Tensor, Tensor]:
        """The cells' derivatives at the highest likelihood, and the parameters' covariance."""
        slopes = self.model.slopes(self.best)
        return slopes.cells, inverse(slopes.information[0])

    def _ends(self, shares: _Shares, z: float) -> tuple[Tensor, Tensor]:
        all_of_them = shares
        here = self.model.at(np.repeat(self.best.values, len(shares.signs), axis=0))
        bound = here.likelihood - z**2 / 2
        first = odds = shares.odds(here.theta)
        # An end that is not found in time is put where nothing is claimed.
        found = np.full(len(odds), np.inf)
        left = np.arange(len(odds))
        for _ in range(_STEPS):
            here, moved = self._outwards(shares, here, odds, bound)
            width = np.abs(moved - first)
            settled = np.abs(moved - odds) < _NEAR * width
            settled &= np.abs(here.likelihood - bound) < _SLACK * z**2
            edge = expit(-moved) < _NOTHING
            found[left[settled]] = moved[settled]
            stay = ~(settled | edge)
            if not stay.any():
                break
            left, odds, here, shares = left[stay], moved[stay], here.of(stay), shares.of(stay)
            first, bound = first[stay], bound[stay]
        return all_of_them.told(found)

    def _outwards(
        self, shares: _Shares, here: Points, odds: Tensor, bound: Tensor
    ) -> tuple[Points, Tensor]:
        """Take a step of every end; return where it leads and the log odds there."""
        slopes = self.model.slopes(here)
        slope = shares.slope(here.theta, slopes.cells)
        both = np.stack([slopes.gradient, slope], axis=2)
        solved = np.linalg.solve(slopes.information, both)
        up, along = solved[:, :, 0], solved[:, :, 1]
        room = 2 * (here.likelihood - bound) + np.einsum("sd,sd->s", slopes.gradient, up)
        tiny = np.finfo(np.float64).tiny
        k = np.sqrt(np.maximum(room, 0.0) / np.maximum(np.einsum("sd,sd->s", slope, along), tiny))
        step = up + k[:, None] * along
        change = np.abs(step @ self.model.matrix.T).max(axis=1)
        share = np.minimum(1.0, _STRIDE / np.maximum(change, tiny))
        price = 2 / np.maximum(k, _NOTHING)

        def merit(odds: Tensor, points: Points) -> Tensor:
            return np.asarray(odds - price * np.maximum(bound - points.likelihood, 0.0))

        least, there = merit(odds, here), here
        taken = np.zeros(len(odds), dtype=bool)
        for _ in range(_HALVINGS):
            tried = self.model.at(here.values + share[:, None] * step)
            better = ~taken & (merit(shares.odds(tried.theta), tried) > least)
            there = there.replaced(better, tried)
            taken |= better
            if taken.all():
                break
            share = share / 2
        return there, shares.odds(there.theta)


@dataclass(frozen=True)
class _Shares:
    """Shares whose log odds, or those negated where the sign is -1, are to be made large."""

    parts: Tensor
    rests: Tensor
    signs: Tensor

    @classmethod
    def both(cls, parts: Tensor, rests: Tensor) -> _Shares:
        """Return each share twice: for its lower end and for its upper."""
        signs = np.repeat([-1.0, 1.0], len(parts))
        return cls(np.tile(parts, (2, 1)), np.tile(rests, (2, 1)), signs)

    def told(self, odds: Tensor) -> tuple[Tensor, Tensor]:
        """Return the lower and the upper ends of what `both` made."""
        low, high = np.split(expit(self.signs * odds), 2)
        return low, high

    def of(self, chosen: Flags) -> _Shares:
        return _Shares(self.parts[chosen], self.rests[chosen], self.signs[chosen])

    def odds(self, theta: Tensor) -> Tensor:
        part, rest = self._sums(theta)
        return np.asarray(self.signs * np.log(part / rest), dtype=np.float64)

    def slope(self, theta: Tensor, cells: Tensor) -> Tensor:
        part, rest = self._sums(theta)
        weights = self.signs[:, None] * (self.parts / part[:, None] - self.rests / rest[:, None])
        if len(cells) == 1:
            return np.asarray(weights @ cells[0], dtype=np.float64)
        return np.asarray(np.einsum("sc,scd->sd", weights, cells))

    def _sums(self, theta: Tensor) -> tuple[Tensor, Tensor]:
        tiny = np.finfo(np.float64).tiny ** 0.5
        part, rest = ((one * theta).sum(axis=1) for one in (self.parts, self.rests))
        return np.maximum(part, tiny), np.maximum(rest, tiny)


# Whether reports show interactions that a log-linear model leaves out.
#
# The model without interactions of more than k variables is tested against those of k + 1. With U
# the derivatives of the log-likelihood by the effects f of all sets of k + 1 variables, at f = 0
# and free of what the model's own parameters explain (the efficient score: Neyman's C(alpha) test),
# the statistic is
#
#     T = |U|^2 / E|U|^2.
#
# It is the locally best test against effects of equal variance (Goeman, van de Geer and van
# Houwelingen, JRSS B 68, 2006, 477-493), needs no fit of the larger model and inverts no
# information of the effects tested. What noise hides hardly counts, which keeps its distribution
# under the model, a sum of chi-squares with the eigenvalues of U's covariance as weights, near that
# limit where records are few. Its tail is Imhof's (1961) three-moment approximation.

TEST_ENTRIES = 1 << 22
"""Cells, or reports, times parameters of the model with one order more: a few seconds at most."""

_SILENT = 1e-9
_RANK = 1e-10


@dataclass(frozen=True)
class ScoreTest:
    """A test of a model against interactions of `order` variables.

    `statistic` is how many times as large as under the model the derivatives' sum of squares is;
    times `degrees_of_freedom` it is near a chi-square of so many, a number with a fraction.
    """

    order: int
    statistic: float
    degrees_of_freedom: float
    p_value: float


def why_untested(shape: Sequence[int], order: int, reports: int) -> str:
    """Return why a model of this order cannot be tested, or nothing."""
    if order >= len(shape):
        return "The model has all interactions; there are none to leave out."
    if max(math.prod(shape), reports) * parameters(shape, order + 1) > TEST_ENTRIES:
        return f"Interactions of {order + 1} variables have too many parameters to test."
    return ""


def score_test(
    model: Penalized, best: Points, shape: Sequence[int], order: int
) -> ScoreTest | None:
    """Test a fitted model; None where the reports tell nothing of higher interactions.

    Args:
        model: the model, priors weak.
        best: the model at its highest likelihood.
        shape: the number of categories of each variable.
        order: the most variables that interact in it.

    Raises:
        LimitExceeded: see `design`; ask `why_untested` first.
    """
    own = model.matrix.shape[1]
    larger = design(shape, order + 1).matrix
    theta = best.theta[0]
    by = theta[:, None] * (larger - theta @ larger)
    rows, counts = [], []
    for stratum, law in zip(model.strata, best.laws, strict=True):
        seen = law[0] > 0
        moved = stratum.expected(by.reshape(*stratum.shape, -1))[seen]
        root = np.sqrt(stratum.records * law[0, seen])
        rows.append(stratum.records * moved / root[:, None])
        counts.append((stratum.column[seen, 0] - np.square(root)) / root)
    scores, off = np.vstack(rows), np.concatenate(counts)
    tested = _unexplained(scores[:, :own], scores[:, own:])
    kept, whole = float(np.square(tested).sum()), float(np.square(scores[:, own:]).sum())
    if kept <= _SILENT * whole:
        return None
    values: Tensor = np.asarray(np.linalg.eigvalsh(_smaller_square(tested))) / kept
    statistic = float(np.square(off @ tested).sum() / kept)
    return ScoreTest(
        order + 1, statistic, 1 / float(np.square(values).sum()), _tail(statistic, values)
    )


def _unexplained(own: Tensor, tested: Tensor) -> Tensor:
    """Return what is left of the second columns when the first have explained what they can."""
    basis, triangle, _ = linalg.qr(own, mode="economic", pivoting=True)
    size = np.abs(np.diag(triangle))
    basis = basis[:, size > _RANK * size.max()]
    left = tested - basis @ (basis.T @ tested)
    return np.asarray(left - basis @ (basis.T @ left), dtype=np.float64)


def _smaller_square(matrix: Tensor) -> Tensor:
    product = matrix.T @ matrix if matrix.shape[0] > matrix.shape[1] else matrix @ matrix.T
    return np.asarray(product, dtype=np.float64)


def _tail(statistic: float, weights: Tensor) -> float:
    """Return the chance that a sum of chi-squares with these weights, of sum 1, is as large."""
    squares, cubes = float((weights**2).sum()), float((weights**3).sum())
    freedom = squares**3 / cubes**2
    shifted = (statistic - 1.0) * np.sqrt(freedom / squares) + freedom
    return float(gammaincc(freedom / 2, max(shifted, 0.0) / 2))


# The most likely true table, free of any model, by Newton steps on its support alone.
#
# Under noise most cells of the most likely table are zero (Lindsay 1983: a mixture of few
# components is as likely as any). So cells are taken in where the likelihood rises towards them, a
# quadratic model of the log-likelihood is maximized over the shares of those held, and those that
# become zero are let go: the constrained Newton method for mixtures (Wang 2007, On fast computation
# of the non-parametric maximum likelihood estimate of a mixing distribution, section 3; the
# quadratic problem as in Kim, Carbonetto, Stephens and Anitescu 2020, section 4). The slopes
# towards all cells cost one product along the axes, and certify the result.

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
        if gap <= tolerance or step == steps:
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

    Under heavy noise neighbours tell nearly the same: of them only the best are taken. Where so
    many cells are held that their matrix is not listed, all are taken that are of use.
    """
    rise = slope.reshape(shape)
    steep = rise > 0
    few = (1 + _SHARE) * len(held.cells) <= LISTED_SHARES
    for axis in range(len(shape)) if few else ():
        steep &= rise >= _NEIGHBOUR * rise.max(axis=axis, keepdims=True)
    flat = steep.ravel()
    flat[held.cells] = False
    cells = np.flatnonzero(flat)
    most = max(_TAKEN, int(_SHARE * len(held.cells))) if few else len(cells)
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
        move = curvature.solved(slope, free, tolerance / 2)
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
