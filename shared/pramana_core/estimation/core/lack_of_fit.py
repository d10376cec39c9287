"""Whether reports show interactions that a log-linear model leaves out.

The model without interactions of more than k variables is tested against those of k + 1. With U
the derivatives of the log-likelihood by the effects f of all sets of k + 1 variables, at f = 0 and
free of what the model's own parameters explain (the efficient score: Neyman's C(alpha) test), the
statistic is

    T = |U|^2 / E|U|^2.

It is the locally best test against effects of equal variance (Goeman, van de Geer and van
Houwelingen, JRSS B 68, 2006, 477-493), needs no fit of the larger model and inverts no information
of the effects tested. What noise hides hardly counts, which keeps its distribution under the model,
a sum of chi-squares with the eigenvalues of U's covariance as weights, near that limit where
records are few. Its tail is Imhof's (1961) three-moment approximation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.special import gammaincc

from pramana_core.estimation.core.loglinear import design, parameters
from pramana_core.estimation.core.penalized import Penalized, Points
from pramana_core.marginals.counts import Tensor

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
