"""Findings that more than one experiment makes: estimates against truth and against theory."""

from __future__ import annotations

import numpy as np
from scipy import stats

from benchmarks.reproduce.experiment import Finding
from pramana_core.marginals.counts import Tensor

ACCURATE = 0.10
"""What we call accurate: at most a tenth of the records would have to move."""


def as_theory_says(error: Tensor, covariance: Tensor) -> Finding:
    """Hold the errors of all counts at once against the covariance of Ma's theorem 2.

    Args:
        error: estimate less truth, of all k cells.
        covariance: k x k, given the records. The counts sum to a known number, so its rank is
            k - 1 and the last cell is left out.
    """
    free = error.ravel()[:-1]
    statistic = float(free @ np.linalg.solve(covariance[:-1, :-1], free))
    low, high = (float(stats.chi2.ppf(q, free.size)) for q in (0.0005, 0.9995))
    return Finding(
        low <= statistic <= high,
        f"The moment estimate's errors are as large as theorem 2 says: chi-square {statistic:.1f}"
        f" with {free.size} degrees of freedom (between {low:.1f} and {high:.1f} in 999 of 1,000"
        " runs).",
    )


def accurate(title: str, estimate: Tensor, truth: Tensor) -> Finding:
    """Check the paper's word "accurate" by the share of records counted in a wrong cell."""
    moved = float(np.abs(estimate - truth).sum() / truth.sum()) / 2
    return Finding(
        moved <= ACCURATE,
        f"The paper calls the estimates accurate. The {title} estimate misplaces"
        f" {100 * moved:.1f} % of the records (total variation; we call up to"
        f" {100 * ACCURATE:.0f} % accurate).",
    )
