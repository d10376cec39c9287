"""Linear systems of positive definite matrices, by LAPACK itself.

Thousands of pairs have small matrices, for which checks of the arguments take longer than the sums.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from pramana_core.marginals.counts import Tensor


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
