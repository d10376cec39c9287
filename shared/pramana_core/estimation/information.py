"""Errors of a maximum-likelihood estimate from its inverse observed information."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.linalg import lapack

from pramana_core.channels import LISTED_ENTRIES
from pramana_core.errors import EstimationError, LimitExceeded
from pramana_core.estimation.axes import Stratum
from pramana_core.marginals.counts import Tensor

INFORMATION_CELLS = 4096
"""The maximum number of cells whose observed information is inverted."""

_CONDITION = 1e12
_EDGE = 1e-9


def inverse_information(
    strata: Sequence[Stratum], theta: Tensor, kept: int, silent: float = 0.0
) -> Tensor:
    """Return N^2 times the inverse observed information: the second moments of the ML counts.

    The information is the sum over strata of P diag(n / (P'theta)^2) P'. Cells at 0 that no report
    concerns stay at 0, without error. The matrix is over the cells of the first `kept` axes.
    `silent` is the number of records that report none of the table's variables.

    Raises LimitExceeded: there are too many cells or reports. EstimationError: the reports cannot
    separate all cells.
    """
    cells = theta.size
    reports = sum(stratum.column.size for stratum in strata)
    if cells > INFORMATION_CELLS or reports * cells > LISTED_ENTRIES:
        raise LimitExceeded(
            f"The information of {reports} reports over {cells} cells is too large to invert.",
            remedy="Request fewer variables at once.",
        )
    information: Tensor = np.full((cells, cells), silent)
    for stratum in strata:
        seen = stratum.column[:, 0] > 0
        listed = stratum.listed()[seen]
        weights = stratum.column[seen, 0] / np.square(listed @ theta.ravel())
        information += (listed.T * weights) @ listed
    identified = np.diag(information) > silent
    inner = information[np.ix_(identified, identified)]
    inverted = None if np.any(theta.ravel()[~identified] > _EDGE) else _inverted(inner)
    if inverted is None:
        raise EstimationError(
            f"The reports cannot separate all {cells} cells, so their counts have no"
            " maximum-likelihood error.",
            remedy="Request fewer variables, or use the estimator 'pooled'.",
        )
    inverse: Tensor = np.zeros((cells, cells))
    inverse[np.ix_(identified, identified)] = inverted
    left = math.prod(theta.shape[:kept])
    records = silent + sum(stratum.records for stratum in strata)
    kept_rows: Tensor = inverse.reshape(left, cells // left, left, -1).sum(axis=(1, 3))
    return records**2 * kept_rows


def _inverted(information: Tensor) -> Tensor | None:
    """Return the inverse of a symmetric matrix, or None if it is nearly singular."""
    factor, failed = lapack.dpotrf(information, lower=1)
    if failed:
        return None
    size = float(np.abs(information).sum(axis=0).max())
    share, _ = lapack.dpocon(factor, size, uplo="L")
    if share * _CONDITION < 1:
        return None
    lower, _ = lapack.dpotri(factor, lower=1)
    inverse: Tensor = np.tril(lower) + np.tril(lower, -1).T
    return inverse
