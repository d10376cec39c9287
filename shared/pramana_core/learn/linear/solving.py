"""Weights that minimize squared error or logistic loss on counts, with the errors of the weights.

Both losses lead to an equation that is linear in the counts T of cells x and classes k,

    sum T(x, k) (y_k - f(w'z)) z = N l2 w,

where z are the columns. Squared error has f(s) = s and y = -1, +1; logistic loss has logistic f and
y = 0, 1. The equation is unbiased if the counts are (Ma 4.2, 8). Errors come from the sandwich
estimator (White's HC0).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import expit

from pramana_core.errors import EstimationError, NotConverged
from pramana_core.learn.common.options import Loss
from pramana_core.learn.linear.columns import Cells, ClassCounts, DesignMatrix
from pramana_core.marginals.counts import Tensor
from pramana_core.marginals.tables import MarginalTable
from pramana_core.progress import Tick

SCORE_NUMBERS = 1 << 24
"""The maximum product of cells and weights for which errors are computed."""

SINGULAR = 1e-9
"""Scaled columns are dependent if their moment matrix per record has an eigenvalue below this."""

_SEPARATED = 1e-10
_TOLERANCE, _ROUNDED, _ITERATIONS, _HALVINGS = 1e-15, 1e-9, 100, 40


@dataclass(frozen=True, eq=False)
class Solution:
    """Scaled weights, intercept first, and the negative slope of their equation, (size, size)."""

    weights: Tensor
    slope: Tensor


def least_squares(
    design: DesignMatrix, source: ClassCounts, positive: int, l2: float
) -> Solution | None:
    """Return the least-squares fit to targets +1 for a class and -1 for others, or None."""
    records = float(source.totals.sum())
    slope = design.second(source.cells, source.totals) + records * penalty(design.size, l2)
    if not definite(slope / records):
        return None
    towards = design.first(source.cells, 2 * source.of_class(positive) - source.totals)
    return Solution(cho_solve(cho_factor(slope), towards), slope)


def logistic(
    design: DesignMatrix, source: ClassCounts, positive: int, l2: float, tick: Tick
) -> Solution | None:
    """Return the maximum-likelihood weights of a class against all others, by Newton's method.

    Return None if the moment matrix is not positive definite, or if negative counts leave no
    solution. Raises EstimationError: no count is negative, and the columns separate the classes.
    NotConverged: the iteration limit is reached.
    """
    cells, totals = source.cells, source.totals
    records, ones = totals.sum(), source.of_class(positive)
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


def weight_covariances(
    table: MarginalTable, design: DesignMatrix, positive: int, loss: Loss, solution: Solution
) -> tuple[Tensor, Tensor] | None:
    """Return the covariances of scaled weights, against the population and given the records.

    `table` has raw counts, class last. Both results are (size, size). Return None if the table is
    too large.
    """
    if design.size * table.counts.size > SCORE_NUMBERS:
        return None
    shape = table.counts.shape
    cells = Cells.grid(shape[:-1])
    scores = design.scores(cells, solution.weights)
    targets = (np.arange(shape[-1]) == positive).astype(np.float64)
    fitted = expit(scores) if loss == "logistic" else scores
    targets = targets if loss == "logistic" else 2 * targets - 1
    rows = design.rows(cells)
    functions = rows[..., None] * (targets - fitted[:, None])
    functions = functions.reshape(design.size, *shape)
    inverse = np.linalg.inv(solution.slope)
    population, records = (
        inverse @ table.covariance_of(functions, population=which) @ inverse
        for which in (True, False)
    )
    return population, records


def require_independent(design: DesignMatrix, source: ClassCounts, l2: float) -> None:
    """Raise EstimationError if columns depend on each other over nonnegative counts."""
    second = design.second(source.cells, source.totals) / source.totals.sum()
    if not definite(second + penalty(design.size, l2)):
        raise EstimationError(
            "Some columns are linear functions of other columns, so their weights are not unique.",
            remedy="Leave such features out, or give an l2 above 0.",
        )


def _newton(slope: Tensor, gradient: Tensor, *, valid: bool) -> Tensor | None:
    try:
        step: Tensor = cho_solve(cho_factor(slope), gradient)
    except LinAlgError:
        if valid:
            # Without negative counts, only unbounded weights flatten the loss.
            raise _separated() from None
        return None
    return step


def _length(
    loss: Callable[[Tensor], float], weights: Tensor, step: Tensor, decrement: float
) -> float:
    if decrement < _ROUNDED:
        return 1.0
    before, length = loss(weights), 1.0
    for _ in range(_HALVINGS):
        if loss(weights + length * step) <= before - 1e-4 * length * decrement:
            break
        length /= 2
    return length


def penalty(size: int, l2: float) -> Tensor:
    """Return the second derivative of the l2 penalty per record, (size, size)."""
    return np.diag([0.0, *[l2] * (size - 1)])


def definite(matrix: Tensor) -> bool:
    """Return whether a per-record matrix is finite and positive definite, up to rounding."""
    return bool(np.isfinite(matrix).all() and np.linalg.eigvalsh(matrix)[0] > SINGULAR)


def _separated() -> EstimationError:
    return EstimationError(
        "A plane separates the classes, so no finite weights minimize the logistic loss.",
        remedy="Give an l2 above 0, or choose the loss 'perceptron' or 'least-squares'.",
    )
