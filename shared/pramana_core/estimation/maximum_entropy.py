"""Tables of largest entropy for given margins, and how they follow these.

Iterative proportional fitting (Deming and Stephan 1940) on the product of the few variables asked,
never of all. Margins that noise made contradict each other have no such table: then the fitting
circles, and the table taken is that from which the margins' laws differ least in sum (the sum of
the divergences is lowered by each step of the expectation-maximization algorithm; Csiszar and
Shields 2004, 5), scaled at last to the single margins, which always agree.

Also here:

* Linear systems of positive definite matrices, by LAPACK itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from pramana_core.marginals.counts import Tensor

# Linear systems of positive definite matrices, by LAPACK itself.
#
# Thousands of pairs have small matrices, for which checks of the arguments take longer than the
# sums.


def solved(matrix: Tensor, right: Tensor) -> Tensor:
    """Return matrix^-1 right, for a symmetric positive definite matrix.

    Raises:
        LinAlgError: it is not positive definite.
    """
    _, found, info = lapack.dposv(matrix, right, lower=1)
    if info != 0:
        raise np.linalg.LinAlgError("The matrix is not positive definite.")
    return np.asarray(found, dtype=np.float64)


def divided(root: Tensor, right: Tensor) -> Tensor:
    """Return root^-1 right, for a lower triangular matrix, as a Cholesky factor is."""
    found, info = lapack.dtrtrs(root, right, lower=1)
    if info != 0:
        raise np.linalg.LinAlgError("The triangular matrix is singular.")
    return np.asarray(found, dtype=np.float64)


Margins = Mapping[tuple[int, ...], Tensor]

CLOSE = 1e-10
"""Margins are met if they are off by no more than this, as a probability."""

_ROUNDS, _PARALLEL, _TINY = 500, 200, 1e-300


@dataclass(frozen=True, eq=False)
class FittedTable:
    """A table with given margins; `off` is the most that a margin's cell is off."""

    table: Tensor
    off: float


def fitted(start: Tensor, margins: Margins, rounds: int = _ROUNDS) -> FittedTable:
    """Return the table nearest to `start` (in divergence) that has given margins.

    Args:
        start: positive, sum 1.
        margins: by axes, ascending; positive, sum 1.
        rounds: how often all are met in turn, at most.
    """
    table, off, last = start, np.inf, np.inf
    for turn in range(rounds):
        table = _scaled(table, margins)
        off = _off(table, margins)
        if off <= CLOSE:
            return FittedTable(table, off)
        if turn % 50 == 49:
            if off > 0.5 * last:
                break
            last = off
    if off > 1e-7:
        for _ in range(_PARALLEL):
            parts = [_scaled(table, {axes: margin}) for axes, margin in margins.items()]
            table = np.mean(parts, axis=0)
        singles: dict[tuple[int, ...], Tensor] = {}
        for axes, margin in margins.items():
            for place, axis in enumerate(axes):
                gone = tuple(p for p in range(len(axes)) if p != place)
                singles[axis,] = margin.sum(axis=gone)
        for _ in range(rounds):
            table = _scaled(table, singles)
            if _off(table, singles) <= CLOSE:
                break
    return FittedTable(table, _off(table, margins))


def _scaled(table: Tensor, margins: Margins) -> Tensor:
    for axes, margin in margins.items():
        gone = tuple(a for a in range(table.ndim) if a not in axes)
        now = table.sum(axis=gone, keepdims=True)
        # Every cell to start from is positive; rounding may make one 0, which then stays so.
        table = table * (margin.reshape(now.shape) / np.maximum(now, _TINY))
    return table


def _off(table: Tensor, margins: Margins) -> float:
    return max(
        float(
            np.abs(table.sum(axis=tuple(a for a in range(table.ndim) if a not in axes)) - m).max()
        )
        for axes, m in margins.items()
    )


def slopes(table: Tensor, functions: Tensor) -> Tensor:
    """Return how the cells of an exponential family follow its mean parameters.

    Args:
        table: the probabilities of the cells.
        functions: the statistics, cells x parameters, linearly independent with the constant.

    Returns:
        cells x parameters: diag(m) X (X' diag(m) X)^-1, X centred.
    """
    cells = table.ravel()
    centred = functions - cells @ functions
    weighted = cells[:, None] * centred
    information = centred.T @ weighted
    try:
        found: Tensor = solved(information, weighted.T).T
    except np.linalg.LinAlgError:
        # Cells that are all but empty leave a direction without information.
        found = np.asarray(np.linalg.lstsq(information, weighted.T, rcond=1e-12)[0].T, np.float64)
    return found


def product(factors: Sequence[Tensor]) -> Tensor:
    """Return the Kronecker product of vectors, or of matrices, the last changing fastest."""
    first, *others = factors
    for other in others:
        if first.ndim == 1:
            first = np.multiply.outer(first, other).ravel()
        else:
            rows, columns = len(first) * len(other), first.shape[1] * other.shape[1]
            first = (first[:, None, :, None] * other[None, :, None, :]).reshape(rows, columns)
    return first
