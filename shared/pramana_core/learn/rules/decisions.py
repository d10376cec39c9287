"""Decisions on whether an itemset is frequent: verdicts, tests and false discovery control.

The p-value of "below the minimum" is one minus the confidence of the one-sided interval that ends
at the minimum, so test and interval agree. A value below the minimum only by rounding reaches it.
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
"""The verdicts; arrays contain their indices."""

NOT_FREQUENT, UNDECIDED, FREQUENT = range(3)

SELECTION = 2.0
"""The factor of a screened itemset's p-value: at the minimum, at least half pass the screening."""


def reaches(values: Floats, minimum: float) -> Flags:
    """Return whether each share is at least the minimum, up to rounding; NaN is not."""
    return np.asarray(values >= minimum * (1 - TIE))


def verdicts(low: Floats, high: Floats, minimum: float) -> Indices:
    """Return the index in `VERDICTS` of each interval's verdict; NaN ends are undecided."""
    below = ~reaches(high, minimum) & ~np.isnan(high)
    return np.where(reaches(low, minimum), FREQUENT, np.where(below, NOT_FREQUENT, UNDECIDED))


def p_values(deviates: Floats) -> Floats:
    """Return one-sided p-values of "the support is below the minimum"; 1 for a missing estimate."""
    return np.where(np.isnan(deviates), 1.0, ndtr(-deviates))


def benjamini_hochberg(p_values: Floats, false_discovery: float) -> Flags:
    """Return which hypotheses the procedure of Benjamini and Hochberg (1995) rejects."""
    ordered = np.sort(p_values)
    bound = false_discovery * np.arange(1, len(ordered) + 1) / max(1, len(ordered))
    below = np.flatnonzero(ordered <= bound * (1 + TIE))
    return p_values <= (ordered[below[-1]] * (1 + TIE) if len(below) else -1.0)


def adjust_for_screening(p_values: Sequence[Floats]) -> Floats:
    """Return p-values corrected for the choice of examined itemsets, all lengths in one array.

    Single items are always examined, longer itemsets if all subsets' estimates reach the minimum.
    """
    longer = [np.minimum(1.0, SELECTION * p) for p in p_values[1:]]
    return np.concatenate([*p_values[:1], *longer])
