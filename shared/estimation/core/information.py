"""The errors of a maximum-likelihood estimate: its observed information, inverted."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from shared.channels import LISTED_ENTRIES
from shared.errors import EstimationError, LimitExceeded
from shared.estimation.core.strata import Stratum
from shared.marginals.counts import Tensor

INFORMATION_CELLS = 4096
"""Up to this many cells the observed information of a channel without inverse is inverted."""

_CONDITION = 1e12
_EDGE = 1e-9


def inverse_information(
    strata: Sequence[Stratum], theta: Tensor, kept: int, silent: float = 0.0
) -> Tensor:
    """Return N^2 times the inverse observed information: the second moments of the ML counts.

    The information of theta is the sum over strata of P diag(n / (P'theta)^2) P'. Its constrained
    inverse (the cells sum to 1) is the unconstrained one less theta theta' / N, exactly the
    multinomial term that `EstimatedTable.variance` subtracts. Cells at the edge of which no report
    tells (none seen is possible there) stay at zero, without error.

    Args:
        strata: the reports.
        theta: the most likely true table, in the strata's shape.
        kept: how many of the table's first axes to keep; the others are summed out.
        silent: records, counted in N, that report none of the table's variables. All they say is
            that the cells sum to 1.

    Returns:
        A matrix over the cells kept.

    Raises:
        LimitExceeded: too many cells or reports.
        EstimationError: the reports cannot tell all cells apart.
    """
    cells = theta.size
    reports = sum(stratum.column.size for stratum in strata)
    if cells > INFORMATION_CELLS or reports * cells > LISTED_ENTRIES:
        raise LimitExceeded(
            f"The information of {reports} reports over {cells} cells is too large to invert.",
            remedy="Ask for fewer variables at once.",
        )
    information: Tensor = np.full((cells, cells), silent)
    for stratum in strata:
        seen = stratum.column[:, 0] > 0
        listed = stratum.listed()[seen]
        weights = stratum.column[seen, 0] / np.square(listed @ theta.ravel())
        information += (listed.T * weights) @ listed
    told = np.diag(information) > silent
    inner = information[np.ix_(told, told)]
    if np.any(theta.ravel()[~told] > _EDGE) or np.linalg.cond(inner) > _CONDITION:
        raise EstimationError(
            f"The reports cannot tell all {cells} cells apart; their counts have no"
            " maximum-likelihood error.",
            remedy="Ask for fewer variables, or use the estimator 'log-linear'.",
        )
    records = silent + sum(stratum.records for stratum in strata)
    inverse: Tensor = np.zeros((cells, cells))
    inverse[np.ix_(told, told)] = records**2 * np.linalg.inv(inner)
    left = math.prod(theta.shape[:kept])
    over: Tensor = inverse.reshape(left, cells // left, left, cells // left).sum(axis=(1, 3))
    return over
