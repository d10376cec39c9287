"""The errors that theory gives the estimated parameters, computed the long way.

The covariance of theorem 5.2 is formed of Kronecker products and of the true counts, which only an
experiment knows. The product itself never lists them, so that the two can be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from pramana_core.marginals.counts import Tensor


def covariance(counts: Tensor, matrices: Sequence[Tensor]) -> Tensor:
    """Return Cov(N^ | D) = P'^-1 diag(P'N) P^-1 - diag(N) (Ma theorems 2 and 5.2).

    Args:
        counts: the true counts, one axis per variable.
        matrices: each axis's transition matrix, rows the truth.
    """
    joint = reduce(_kron, matrices)
    inverse = np.linalg.inv(joint)
    cells = counts.ravel()
    full: Tensor = (inverse.T * (joint.T @ cells)) @ inverse - np.diag(cells)
    return full


def _kron(left: Tensor, right: Tensor) -> Tensor:
    product: Tensor = np.kron(left, right).astype(np.float64)
    return product


def parameter_errors(counts: Tensor, matrices: Sequence[Tensor]) -> Tensor:
    """Return the standard errors of N^_jk / N^_j given the records (Ma 5.4.2), by the delta method.

    Args:
        counts: the true counts, the node's own axis last.
        matrices: as for `covariance`.
    """
    rows = counts.reshape(-1, counts.shape[-1])
    size = rows.shape[1]
    margin = np.repeat(rows.sum(axis=1), size)
    share = counts.ravel() / margin
    same_row = np.kron(np.eye(len(rows)), np.ones((size, size)))
    slope = (np.eye(counts.size) - share[:, None] * same_row) / margin[:, None]
    variance = np.einsum("ij,jk,ik->i", slope, covariance(counts, matrices), slope)
    errors: Tensor = np.sqrt(np.maximum(variance, 0.0)).reshape(counts.shape)
    return errors
