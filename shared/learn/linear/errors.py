"""Standard errors of fitted weights and of the accuracy, from the covariance of the counts.

The weights solve an equation that is linear in the counts (see `solving`). Hence, to first order,
their error is the inverse slope of the equation applied to the error of a linear function of the
counts, whose covariance the table of counts knows exactly: the sandwich estimator. On records that
were not randomized it is the one robust to heteroskedasticity (White's HC0).
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from shared.learn.linear.cells import CellGrid
from shared.learn.linear.columns import DesignMatrix
from shared.learn.linear.model import Accuracy
from shared.learn.linear.options import Loss
from shared.learn.linear.solving import Solution
from shared.marginals.counts import Codes, MarginalTable, Tensor

SCORE_NUMBERS = 1 << 24
"""Up to this many numbers (cells times weights) errors are computed."""


def covariances(
    table: MarginalTable, design: DesignMatrix, solution: Solution, positive: int, loss: Loss
) -> tuple[Tensor, Tensor] | None:
    """Return the covariance of scaled weights, against the population and given the records.

    Args:
        table: the raw counts, class last.
        design: the scaled columns.
        solution: what solves the equation of the loss.
        positive: the class on the positive side.
        loss: `least-squares` or `logistic`.

    Returns:
        Two matrices (size, size); None if the table has too many cells.
    """
    if design.size * table.counts.size > SCORE_NUMBERS:
        return None
    classes = table.counts.shape[-1]
    scores = design.scores(CellGrid(table.counts.shape[:-1]), solution.weights)
    target = (np.arange(classes) == positive).astype(np.float64)
    if loss == "logistic":
        residual = target - expit(scores)[:, None]
    else:
        residual = (2 * target - 1) - scores[:, None]
    functions = _rows(design, table.counts.shape[:-1])[..., None] * residual
    functions = functions.reshape(design.size, *table.counts.shape)
    inverse = np.linalg.inv(solution.slope)
    population, records = (
        inverse @ table.covariance_of(functions, population=which) @ inverse
        for which in (True, False)
    )
    return population, records


def accuracy_of(table: MarginalTable, predicted: Codes) -> Accuracy:
    """Return the share of the true records whose class is predicted right.

    `predicted` has shape (cells,): the class code predicted in each cell of the features.
    """
    classes = table.counts.shape[-1]
    right = (predicted[:, None] == np.arange(classes)).astype(np.float64)
    right = right.reshape(1, *table.counts.shape)
    number = float((right[0] * table.counts).sum())
    variances = (
        float(table.covariance_of(right, population=which)[0, 0]) for which in (True, False)
    )
    se, se_records = (float(np.sqrt(max(v, 0.0))) / table.records for v in variances)
    return Accuracy(number / table.records, se, se_records)


def _rows(design: DesignMatrix, shape: tuple[int, ...]) -> Tensor:
    """Return each column's value in each cell, intercept first, shape (size, cells)."""
    rows = [np.ones(shape)]
    for axis, block in enumerate(design.blocks):
        spread = [size if at == axis else 1 for at, size in enumerate(shape)]
        rows += [np.broadcast_to(column.reshape(spread), shape) for column in block.T]
    return np.stack(rows).reshape(design.size, -1)
