"""Is an itemset frequent? Verdicts, tests and controlled false discovery.

The p-value of "below the minimum" is one less the confidence of the one-sided interval that ends at
the minimum, so that test and interval agree. What is below a minimum by rounding alone reaches it.
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
"""Verdicts as arrays of them hold them: by place."""

NOT_FREQUENT, UNDECIDED, FREQUENT = range(3)

SELECTION = 2.0
"""An itemset at the minimum is examined with a probability of one half or more: the factor of the
p-value of one that was."""


def reaches(values: Floats, minimum: float) -> Flags:
    """Return which shares are a minimum or more, rounding aside; those not known are not."""
    return np.asarray(values >= minimum * (1 - TIE))


def verdicts(low: Floats, high: Floats, minimum: float) -> Indices:
    """Return the place in `VERDICTS` of each interval's verdict; undecided where it has no ends."""
    below = ~reaches(high, minimum) & ~np.isnan(high)
    return np.where(reaches(low, minimum), FREQUENT, np.where(below, NOT_FREQUENT, UNDECIDED))


def p_values(deviates: Floats) -> Floats:
    """Return one-sided p-values of "the support is below the minimum"; 1 without an estimate."""
    return np.where(np.isnan(deviates), 1.0, ndtr(-deviates))


def benjamini_hochberg(p_values: Floats, false_discovery: float) -> Flags:
    """Return which hypotheses Benjamini and Hochberg's procedure rejects (1995)."""
    ordered = np.sort(p_values)
    bound = false_discovery * np.arange(1, len(ordered) + 1) / max(1, len(ordered))
    below = np.flatnonzero(ordered <= bound * (1 + TIE))
    return p_values <= (ordered[below[-1]] * (1 + TIE) if len(below) else -1.0)


def adjust_for_screening(p_values: Sequence[Floats]) -> Floats:
    """Return p-values given that the itemsets were examined, all lengths in one array.

    Single items always are; a longer itemset only where its subsets' estimates reach the minimum.
    """
    longer = [np.minimum(1.0, SELECTION * p) for p in p_values[1:]]
    return np.concatenate([*p_values[:1], *longer])
