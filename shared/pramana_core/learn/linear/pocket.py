"""The pocket algorithm on expected counts (Ma 6.2).

Ma minimizes sum over reports i and cells l of J(v_l, w) p(V = v_l | report i), and runs the
pocket algorithm on N L weighted samples. J does not depend on the report, so the sum over i can be
taken first: what remains is sum_l J(v_l, w) T*_l with T*_l = sum_i p(v_l | report i), the expected
counts. Drawing one of the N L samples with probability in proportion to its weight draws each cell
in proportion to T*_l. So L weighted cells, which do not grow with the records, give the same
algorithm.

Between two updates the weights stand still, and only a draw that is classified wrong changes
them. That draw is taken at once, from the cells classified wrong; the number of correct ones before
it, the run of the weights, is geometric. By the paper's rule the pocket holds the weights with the
longest run. Gallant's ratchet also asks that they classify more right than those in the pocket,
which he counts only after a longer run because counting is dear. Here the counts are at hand at
each update, so by default the pocket holds the best of all weights met; these start from those of
least squares, and so are never worse than they are.

The paper draws all N L samples alike, and a right one adds its weight to the run. But of each cell
and the same cell of the other class every plane has one wrong: such runs end after one draw on
average, whatever the weights. Drawn by weight, with 1 added, each sample has the same part in the
mean, and a run is as long as on records that were not randomized.

Also here:

* The weights that minimize squared error or the logistic loss on counts, by scaled columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import expit

from pramana_core.errors import EstimationError, NotConverged
from pramana_core.learn.linear.columns import Cells, DesignMatrix
from pramana_core.learn.linear.options import Keep
from pramana_core.learn.linear.sources import Classed, Moments
from pramana_core.marginals.counts import Tensor
from pramana_core.progress import Tick
from pramana_core.ties import TIE, exceeds

_NONE = 1e-12
_TICKS = 64


def pocket(
    design: DesignMatrix,
    source: Classed,
    positive: int,
    start: Tensor,
    steps: int,
    rng: np.random.Generator,
    tick: Tick,
    keep: Keep = "fewest-wrong",
) -> Tensor:
    """Return the weights that stay in the pocket, of those met.

    Args:
        design: the scaled columns.
        source: counts by class, none negative.
        positive: the class on the positive side.
        start: the first weights.
        steps: the most updates; fewer are made where all cells are classified right.
        rng: draws the cells.
        tick: called now and then.
        keep: which weights stay, as in `LinearOptions`.

    Returns:
        Weights of shape (size,), those without the intercept of length 1 unless they are all 0.
    """
    ones = source.of(positive)
    others = source.totals - ones
    records = float(source.totals.sum())
    weights = start.copy()
    # All records in one class is what any weights have to surpass, where the fewest wrong count.
    best = np.zeros(design.size)
    best[0] = 1.0 if exceeds(ones.sum(), others.sum()) else -1.0
    least = float(min(ones.sum(), others.sum())) if keep == "fewest-wrong" else np.inf
    longest = -1.0
    for step in range(steps + 1):
        if step % _TICKS == 0:
            tick()
        # A cell on the plane is on the negative side, whatever rounding says of it. Weights may
        # have come back to 0: scores round as those of one row do, which are of size 1.
        scores = design.scores(source.cells, weights)
        above = scores > TIE * max(float(np.abs(scores).max()), 1.0)
        wrong = np.cumsum(np.where(above, others, ones))
        perfect = wrong[-1] <= _NONE * records
        run = np.inf
        if keep != "fewest-wrong" and not perfect:
            run = rng.geometric(min(wrong[-1] / records, 1.0)) - 1.0
        if run > longest and (keep == "longest-run" or wrong[-1] < least - TIE * records):
            best, least = weights.copy(), float(wrong[-1])
            longest = run if keep != "fewest-wrong" else longest
        if perfect or step == steps:
            break
        cell = int(np.searchsorted(wrong, rng.random() * wrong[-1], side="right"))
        row = design.row(source.cells.codes(min(cell, len(wrong) - 1)))
        weights += -row if above[cell] else row
    length = float(np.linalg.norm(best[1:]))
    return best / length if length > 0 else best


# The weights that minimize squared error or the logistic loss on counts, by scaled columns.
#
# Both solve an estimating equation that is linear in the counts T of the cells,
#
#     sum over cells x and classes k of  T(x, k) (y_k - f(w'z)) z  =  N l2 w,
#
# with z the row of columns, f(s) = s and y = -1, +1 for squared error, f the logistic function and
# y = 0, 1 for the logistic loss. Unbiased counts make the equation unbiased, whether or not some
# are negative; but only if the matrix of its derivatives is positive definite does it have the one
# solution wanted (Ma 4.2, 8).

SINGULAR = 1e-9
"""Scaled columns whose moment matrix has a smaller eigenvalue per record are dependent."""

_SEPARATED = 1e-10
_TOLERANCE, _ROUNDED, _ITERATIONS, _HALVINGS = 1e-15, 1e-9, 100, 40


@dataclass(frozen=True, eq=False)
class Solution:
    """Scaled weights with the derivatives of the equation they solve, for one plane.

    Attributes:
        weights: shape (size,), intercept first.
        slope: minus the derivative of the equation by the weights, (size, size).
    """

    weights: Tensor
    slope: Tensor


def least_squares(moments: Moments, positive: int, l2: float) -> Solution | None:
    """Return the least squares solution for targets +1 of a class and -1 of all others.

    None if the moment matrix is not positive definite: by noise, or because columns depend on
    each other (see `require_independent`).
    """
    records = moments.second[0, 0]
    slope = moments.second + records * penalty(len(moments.second), l2)
    if not definite(slope / records):
        return None
    others = moments.by_class.sum(axis=1) - moments.by_class[:, positive]
    towards = moments.by_class[:, positive] - others
    return Solution(cho_solve(cho_factor(slope), towards), slope)


def logistic(
    design: DesignMatrix, source: Classed, positive: int, l2: float, tick: Tick
) -> Solution | None:
    """Return the most likely weights of a class against all others, by Newton's method.

    None if the moment matrix is not positive definite, or negative counts leave no solution.

    Raises:
        EstimationError: no count is negative and the columns separate the classes: the larger the
            weights the likelier they are.
        NotConverged: no count is negative and Newton's method did not end.
    """
    cells, totals = source.cells, source.totals
    records, ones = totals.sum(), source.of(positive)
    shrinking = penalty(design.size, l2)
    if not definite(design.second(cells, totals) / records + shrinking):
        return None
    valid = source.valid

    def loss(weights: Tensor) -> float:
        scores = design.scores(cells, weights)
        data = totals @ np.logaddexp(0.0, scores) - ones @ scores
        return float(data / records + weights @ shrinking @ weights / 2)

    weights = np.zeros(design.size)
    for _ in range(_ITERATIONS):
        tick()
        fitted = expit(design.scores(cells, weights))
        gradient = design.first(cells, ones - totals * fitted) / records - shrinking @ weights
        slope = design.second(cells, totals * fitted * (1 - fitted)) / records + shrinking
        step = _newton(slope, gradient, valid=valid)
        if step is None:
            return None
        decrement = float(gradient @ step)
        if decrement <= _TOLERANCE:
            if valid and np.linalg.eigvalsh(slope)[0] < _SEPARATED:
                raise _separated()
            return Solution(weights + step, slope * records)
        weights = weights + _length(loss, weights, step, decrement) * step
    if valid:
        raise NotConverged(
            f"The logistic loss was not minimized in {_ITERATIONS} steps of Newton's method.",
            remedy="Give an l2 above 0.",
        )
    return None


def require_independent(design: DesignMatrix, cells: Cells, totals: Tensor, l2: float) -> None:
    """Raise EstimationError if non-negative counts leave columns that depend on each other."""
    second = design.second(cells, totals) / totals.sum()
    if not definite(second + penalty(design.size, l2)):
        raise EstimationError(
            "Some columns are linear functions of others, so that their weights cannot be told"
            " apart.",
            remedy="Leave such features out, or give an l2 above 0.",
        )


def _newton(slope: Tensor, gradient: Tensor, *, valid: bool) -> Tensor | None:
    try:
        step: Tensor = cho_solve(cho_factor(slope), gradient)
    except LinAlgError:
        if valid:
            # Where no count is negative only weights without bound flatten the loss.
            raise _separated() from None
        return None
    return step


def _length(
    loss: Callable[[Tensor], float], weights: Tensor, step: Tensor, decrement: float
) -> float:
    """Return how far to go along Newton's step so that the loss falls by enough."""
    if decrement < _ROUNDED:
        return 1.0
    before, length = loss(weights), 1.0
    for _ in range(_HALVINGS):
        if loss(weights + length * step) <= before - 1e-4 * length * decrement:
            break
        length /= 2
    return length


def penalty(size: int, l2: float) -> Tensor:
    """Return the second derivative of the penalty per record, (size, size)."""
    return np.diag([0.0, *[l2] * (size - 1)])


def definite(matrix: Tensor) -> bool:
    """Whether a matrix per record is finite and positive definite, rounding aside."""
    return bool(np.isfinite(matrix).all() and np.linalg.eigvalsh(matrix)[0] > SINGULAR)


def _separated() -> EstimationError:
    return EstimationError(
        "A plane separates the classes, so the logistic loss has no finite weights of least loss.",
        remedy="Give an l2 above 0, or choose the loss 'perceptron' or 'least-squares'.",
    )
