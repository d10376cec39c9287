"""Is an itemset frequent? Intervals, tests and controlled false discovery.

The error of an estimated support s is the noise of randomization, of variance v, alone (`records`:
the minimum is compared with the support among these very records), or with the sampling of the N
records from their population added. The sampling part is taken at the supposed support w, so that
an interval holds the w with

    (s - w)^2 <= z^2 (v + w (1 - w) / N),

which is s +- z sqrt(v) against the records and, without randomization, Wilson's interval against
the population. Test and interval agree.

The noise v is estimated at the estimate s, not at w. It grows with the support, and where s is by
chance too low, so is v: the interval of a rare itemset ends too early above and covers less there
than it says. Of 2,000 records with variables of 10 categories, each changed with probability 0.5,
the verdict on itemsets of length 3 and support 2 % is wrongly "not frequent" in 8.3 % of the cases
instead of 2.5 %. Below, and so for the verdict "frequent" and the p-values, the error is on the
safe side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from scipy.special import ndtr

from shared.learn.rules.options import Against
from shared.marginals.support_counts import Flags, Floats, Indices

Verdict = Literal["frequent", "not frequent", "undecided"]

VERDICTS: tuple[Verdict, ...] = ("not frequent", "undecided", "frequent")
"""Verdicts as arrays of them hold them: by place."""

NOT_FREQUENT, UNDECIDED, FREQUENT = range(3)

SELECTION = 2.0
"""Estimates of all subsets at or above the minimum have a probability of about one half at least
where an itemset is at the minimum; the p-value of one that was examined for that is divided by
it."""


def sampled_share(against: Against, records: int) -> float:
    """Return what multiplies w (1 - w) in the variance of a support: 1/N, or 0."""
    return 1 / records if against == "population" else 0.0


def interval(support: Floats, noise: Floats, z: float, share: float) -> tuple[Floats, Floats]:
    """Return the ends of the interval of supports (see the module), not cut to [0, 1].

    Args:
        support: estimated supports.
        noise: the variances of randomization of the supports.
        z: the normal quantile.
        share: of `sampled_share`.
    """
    half = share * z**2 / 2
    middle = (support + half) / (1 + 2 * half)
    square = z**2 * noise * (1 + 2 * half) + half**2 + 2 * half * support * (1 - support)
    width = np.sqrt(np.maximum(square, 0.0)) / (1 + 2 * half)
    return middle - width, middle + width


def verdicts(low: Floats, high: Floats, minimum: float) -> Indices:
    """Return the place in `VERDICTS` of each interval's verdict; undecided where it has no ends."""
    return np.where(low >= minimum, FREQUENT, np.where(high < minimum, NOT_FREQUENT, UNDECIDED))


def p_values(support: Floats, noise: Floats, minimum: float, share: float) -> Floats:
    """Return the one-sided p-values of "the support is below the minimum".

    They are 0 or 1 where there is no error, and 1 where there is no estimate.
    """
    error = np.sqrt(noise + share * minimum * (1 - minimum))
    with np.errstate(divide="ignore", invalid="ignore"):
        by_error: Floats = ndtr((minimum - support) / error)
    exact = np.where(support >= minimum, 0.0, 1.0)
    return np.where(np.isnan(support), 1.0, np.where(error > 0, by_error, exact))


def discovered(p_values: Floats, false_discovery: float) -> Flags:
    """Return which hypotheses Benjamini and Hochberg's procedure rejects (1995)."""
    ordered = np.sort(p_values)
    bound = false_discovery * np.arange(1, len(ordered) + 1) / max(1, len(ordered))
    below = np.flatnonzero(ordered <= bound)
    return p_values <= (ordered[below[-1]] if len(below) else -1.0)


def of_the_examined(p_values: Sequence[Floats]) -> Floats:
    """Return p-values given that the itemsets were examined, of all lengths one after another.

    Single items always are; a longer itemset only where its subsets' estimates reach the minimum.
    """
    longer = [np.minimum(1.0, SELECTION * p) for p in p_values[1:]]
    return np.concatenate([*p_values[:1], *longer])
