"""Fitting by leave-one-out errors, exactly or through landmarks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from shared.mixed.table import Floats


@dataclass(frozen=True, eq=False)
class KernelFit:
    """A fitted kernel regression of q targets on k features.

    Attributes:
        fitted: the fitted targets of the n records, n x q.
        left_out: the same of each record by a fit without it, n x q.
        leverages: how much each record's own target weighs in its fitted one: n numbers, 0 to 1.
        basis: the leading eigenvectors of the smoother, orthonormal: n x m.
        bandwidth: the Gaussian kernel's.
        penalty: the ridge's.
        freedom: the effective number of parameters.
        approximation: the share of the kernel's trace that the landmarks lose; 0 without them.
    """

    fitted: Floats
    left_out: Floats
    leverages: Floats
    basis: Floats
    bandwidth: float
    penalty: float
    freedom: float
    approximation: float
    inner: Any = field(default=None, repr=False)
