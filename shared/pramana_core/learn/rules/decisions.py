"""Decisions on whether itemsets are frequent: verdicts, tests and control of false discoveries.

The p-value of the hypothesis "the support is below the minimum" is one minus the confidence level
of the one-sided interval that ends at the minimum, so the test and the interval agree. A
support that is below the minimum only by rounding counts as reaching it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from scipy.special import ndtr

from pramana_core.marginals.support_counts import Flags, Floats, Indices
from pramana_core.ties import TIE

Verdict = Literal["frequent", "not frequent", "undecided"]

VERDICTS: tuple[Verdict, ...] = ("not frequent", "undecided", "frequent")
"""The verdicts; arrays of verdicts contain indices of this tuple."""

NOT_FREQUENT, UNDECIDED, FREQUENT = range(3)

SELECTION = 2.0
"""The factor of the p-value of an itemset that was examined only because its subsets passed. If the
support is at the minimum, the probability of passing is at least 1/2."""


def reaches(values: Floats, minimum: float) -> Flags:
    """Return whether each share is at least the minimum, up to rounding; for NaN, False."""
    return np.asarray(values >= minimum * (1 - TIE))


def verdicts(low: Floats, high: Floats, minimum: float) -> Indices:
    """Return the verdict of each interval as an index in `VERDICTS`; NaN is undecided."""
    below = ~reaches(high, minimum) & ~np.isnan(high)
    return np.where(reaches(low, minimum), FREQUENT, np.where(below, NOT_FREQUENT, UNDECIDED))


def p_values(deviates: Floats) -> Floats:
    """Return one-sided p-values of "the support is below the minimum"; 1 for a missing estimate."""
    return np.where(np.isnan(deviates), 1.0, ndtr(-deviates))


def benjamini_hochberg(p_values: Floats, false_discovery: float) -> Flags:
    """Return which hypotheses are rejected by the procedure of Benjamini and Hochberg (1995)."""
    ordered = np.sort(p_values)
    bound = false_discovery * np.arange(1, len(ordered) + 1) / max(1, len(ordered))
    below = np.flatnonzero(ordered <= bound * (1 + TIE))
    return p_values <= (ordered[below[-1]] * (1 + TIE) if len(below) else -1.0)


def adjust_for_screening(p_values: Sequence[Floats]) -> Floats:
    """Return p-values corrected for selecting the examined itemsets, in one array of all lengths.

    `p_values` has one array for each length. Single items are always examined. A longer itemset is
    examined only if the estimates of all its subsets reach the minimum.
    """
    longer = [np.minimum(1.0, SELECTION * p) for p in p_values[1:]]
    return np.concatenate([*p_values[:1], *longer])
