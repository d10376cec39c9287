"""Equivalence tests: what is shown is that two models agree, not merely that no difference is seen.

The hypothesis is that they differ by more than a region allows; two one-sided t-tests reject it
(TOST; Robinson and Froese 2004; with regression, Robinson, Duursma and Marshall 2005; AlAhmadi
V.3). Both reject at level alpha exactly if the 1 - 2 alpha confidence interval lies inside the
region, so the smallest region that passes is known without a search.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from pramana_core.errors import OptionError
from pramana_core.mixed.table import Floats

ALPHA = 0.05
"""The level of the thesis's tests."""

ROUNDING = 1e-9
"""A mean that is a smaller share of the values' size is 0: nothing can be per cent of it."""


@dataclass(frozen=True)
class Equivalence:
    """Two one-sided t-tests that a quantity is near zero.

    Attributes:
        difference: the estimate: 0 if both are the same.
        error: its standard error.
        freedom: the degrees of freedom of t.
        whole: what 100 per cent of a region is: the mean (0 if it is only rounding), or the
            slope 1.
        alpha: the level of each of the two tests.
    """

    difference: float
    error: float
    freedom: int
    whole: float
    alpha: float

    @property
    def percent(self) -> float:
        """The smallest region that passes at level alpha, +- per cent; NaN of a mean of 0."""
        if self.whole == 0:
            return math.nan
        quantile = float(stats.t.ppf(1 - self.alpha, self.freedom))
        return 100 * (abs(self.difference) + quantile * self.error) / abs(self.whole)

    def p(self, percent: float) -> float:
        """Return the p-value of equivalence within a region: the larger of both tests."""
        margin = abs(self.whole) * percent / 100
        if self.error == 0:
            return 0.0 if abs(self.difference) < margin else 1.0
        return float(stats.t.sf((margin - abs(self.difference)) / self.error, self.freedom))

    def passes(self, percent: float) -> bool:
        """Return whether equivalence within a region is shown at level alpha."""
        return self.p(percent) <= self.alpha


def paired(original: Floats, masked: Floats, alpha: float = ALPHA) -> Equivalence:
    """Return the paired t-test for equivalence of means of n fitted values.

    Regions are in per cent of the mean of `original`.

    Raises:
        OptionError: alpha is not between 0 and 1/2.
    """
    _require_alpha(alpha)
    gap = masked - original
    n = len(gap)
    error = float(gap.std(ddof=1) / np.sqrt(n))
    return Equivalence(float(gap.mean()), error, n - 1, _whole(original), alpha)


def by_regression(
    original: Floats, masked: Floats, alpha: float = ALPHA
) -> tuple[Equivalence, Equivalence]:
    """Return the tests of intercept and slope of masked fitted values on the original ones.

    The originals are centred at their mean, where intercept and slope are independent. The
    intercept is equivalent if it is near that mean (regions in per cent of it), the slope if it is
    near 1 (in per cent of 1).

    Raises:
        OptionError: alpha is not between 0 and 1/2.
    """
    _require_alpha(alpha)
    n = len(original)
    mean = float(original.mean())
    centred = original - mean
    size = float(centred @ centred)
    level = Equivalence(float(masked.mean()) - mean, math.nan, n - 2, _whole(original), alpha)
    if size == 0:
        return level, Equivalence(math.nan, math.nan, n - 2, 1.0, alpha)
    slope = float(centred @ masked) / size
    rest = masked - masked.mean() - slope * centred
    spread = math.sqrt(float(rest @ rest) / (n - 2))
    return (
        Equivalence(level.difference, spread / math.sqrt(n), n - 2, level.whole, alpha),
        Equivalence(slope - 1, spread / math.sqrt(size), n - 2, 1.0, alpha),
    )


def _whole(original: Floats) -> float:
    """Return the mean that regions are per cent of; 0 if the values were centred at 0."""
    mean, size = float(original.mean()), float(np.max(np.abs(original)))
    return mean if abs(mean) > ROUNDING * size else 0.0


def _require_alpha(alpha: float) -> None:
    if not 0 < alpha < 0.5:
        raise OptionError(f"alpha must be above 0 and below 0.5, not {alpha}.", where="alpha")
