"""Score intervals: of a share whose variance is taken at what it is supposed to be.

An estimate s of a share w of N records is the mean of a function W of the report. Its variance is

    (m(w) - w^2) / N    against the population,    (m(w) - w) / N    given the records,

m(w) the mean square of W if the share is w. With the variance at the supposed w an interval covers
where one with the variance at the estimate does not: of rare cells and few records, whose estimate
and variance are too low at once. Without randomization it is Wilson's (1927).

A straight line stands for m; it passes through the mean square that was found at s. Its slope is
that of the regression of W^2 on W (`Tilt`), the slope of m under exponential tilting of the reports
by W: of all laws with mean w the nearest to that of the reports (the least favourable family of
Stein 1956; Efron 1981). Where W takes two values the line is exact.

The slope is taken as if the variables were independent, with their estimated distributions. It
moves an end by a share of 1 / N of the records: the noise of third moments of few reports, which
are heavy in the tails, would do more harm than what dependence adds.

Of rare cells under strong noise s is skewed too: few reports with a large W make it. The slope also
says how much: the third central moment of W is (slope - 2 w) times its variance, exactly where W
takes two values. To the next order in 1 / sqrt(N) that moves the quantiles of s by (z^2 - 1) / 6
times it over the variance and N (Cornish and Fisher 1938; Hall, "The bootstrap and Edgeworth
expansion", 2.5). An interval is moved back by the part of the noise, slope - 1, so that
Wilson's interval stays as it is.

Also here:

* How many standard errors wide an interval is on either side.
* What a reader must know of a table that was taken from a model, in numbers and in words.
* Fieller's intervals of cells' shares of a margin, their variance at the supposed share.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from pramana_core.errors import OptionError

Floats = npt.NDArray[np.float64]

MORE = 1.959963984540054**2
"""So many reports of records that have the cell are added where a slope is taken.

As many as Agresti and Coull (1998) add, z^2 at 95 %. They are as many for intervals of any level: a
test and an interval, and intervals of several levels, are of one line.
"""

FEW = 4
"""Fewer records than this are often all alike, and their spread says nothing of the population's:
the error against it is that of the interval."""

_ROUNDING = 1e-12


@dataclass(frozen=True)
class Tilt:
    """The regression of W^2 on W, over the reports and some more of records that have the cell.

    Attributes:
        covariance: the sum over the reports of the covariance of W^2 and W.
        variance: that of the variance of W.
        own: the mean square of W for a record that has the cell.
    """

    covariance: Floats
    variance: Floats
    own: Floats

    @classmethod
    def of(
        cls,
        sums: tuple[Floats, Floats, Floats],
        own: tuple[Floats, Floats],
        records: float,
        more: float = MORE,
    ) -> Tilt:
        """Return the regression from moments.

        Args:
            sums: the sums of W, W^2 and W^3 over the reports.
            own: the means of W^2 and W^3 for a record that has the cell; that of W is 1.
            records: the number of reports.
            more: how many reports of such a record are added; they decide where the reports say
                little of the cell. Of a part of the reports, its share of `MORE`.
        """
        first = sums[0] + more
        second, third = (sums[place] + more * own[place - 1] for place in (1, 2))
        total = records + more
        return cls(third - second * first / total, second - np.square(first) / total, own[0])

    @classmethod
    def flat(cls, shape: tuple[int, ...]) -> Tilt:
        """Return that of noise that is the same whatever the share is: its slope is 1."""
        return cls(np.ones(shape), np.ones(shape), np.ones(shape))

    @classmethod
    def pooled(
        cls, parts: list[tuple[Tilt, float]], factors: Floats, support: Floats | float
    ) -> Tilt:
        """Return that of several sets of reports, each with its share of the records.

        The shares of what was added to each have to be the same (see `of`).

        Args:
            parts: one for each set.
            factors: what each set's W is multiplied by, one entry for each set.
            support: the estimated shares, in the shape of the tilts; where the factors differ, the
                mean square is less the excess of their squares times the share's (`excess_of`).
        """
        covariance, variance, own, excess = (np.zeros(()) for _ in range(4))
        for (part, share), factor in zip(parts, factors, strict=True):
            covariance = covariance + factor**3 * part.covariance
            variance = variance + factor**2 * part.variance
            own = own + share * factor**2 * part.own
            excess = excess + share * (factor - 1.0) ** 2
        return cls(covariance - 2.0 * excess * support * variance, variance, own)

    @property
    def numbers(self) -> tuple[Floats, Floats, Floats]:
        """The three numbers, in the order in which a tilt is made of them."""
        return self.covariance, self.variance, self.own

    @property
    def slope(self) -> Floats:
        """The slope of m; where W does not vary, that of the line from nothing to `own`."""
        varies = self.variance > _ROUNDING * np.maximum(self.own, 1.0)
        divisor = np.where(varies, self.variance, 1.0)
        slope: Floats = np.where(varies, self.covariance / divisor, self.own)
        return slope


def score_interval(
    share: Floats,
    square: Floats,
    slope: Floats,
    records: float,
    z: float,
    *,
    population: bool,
) -> tuple[Floats, Floats]:
    """Return the ends of the intervals that hold the w with (s - w)^2 <= z^2 variance(w).

    They are moved for the skewness of the noise, but hold s.

    Args:
        share: the estimates s, of any shape, not cut to [0, 1].
        square: the mean square m of W over the reports, in that shape.
        slope: that of m by the share, in that shape (see `Tilt`); 1 if the noise is the same
            whatever the share is.
        records: their number N.
        z: the normal quantile.
        population: which error (see `MarginalTable`).

    Returns:
        The lower and the upper ends, not cut to [0, 1].
    """
    middle = share - (z**2 - 1.0) / records * skew(slope)
    low, high = _ends(middle, _line(share, square, slope, population=population), records, z)
    return np.minimum(low, share), np.maximum(high, share)


def _ends(
    middle: Floats, line: tuple[Floats, Floats, float], records: float, z: float
) -> tuple[Floats, Floats]:
    """Solve (s - w)^2 = z^2 (level + linear w + bend w^2) / N; `line` is these three."""
    level, linear, bend = line
    factor = z**2 / records
    lead = 1.0 - factor * bend
    half = middle + factor * linear / 2
    root = np.sqrt(np.maximum(half**2 - lead * (middle**2 - factor * level), 0.0))
    return (half - root) / lead, (half + root) / lead


def possible(low: Floats, high: Floats, estimate: Floats) -> tuple[Floats, Floats]:
    """Return the ends of intervals of shares, cut to [0, 1].

    Of an interval that lies wholly outside only the edge would be left, which would claim to be
    certain. It is put there as wide as it was on that side of the estimate.
    """
    least = np.where(low >= 1.0, np.maximum(1.0 - np.maximum(estimate - low, 0.0), 0.0), low)
    most = np.where(high <= 0.0, np.minimum(np.maximum(high - estimate, 0.0), 1.0), high)
    return np.clip(least, 0.0, 1.0), np.clip(most, 0.0, 1.0)


def deviates(
    supposed: float,
    share: Floats,
    square: Floats,
    slope: Floats,
    records: float,
    *,
    population: bool,
) -> Floats:
    """Return the z for which `supposed` is an end of such intervals: the lower if z > 0.

    Infinite where there is no error. Arguments as for `score_interval`.
    """
    level, linear, bend = _line(share, square, slope, population=population)
    error = np.sqrt(np.maximum(level + linear * supposed + bend * supposed**2, 0.0) / records)
    with np.errstate(divide="ignore", invalid="ignore"):
        # z solves z + (z^2 - 1) g = t.
        t, g = (share - supposed) / error, skew(slope) / (records * error)
        root = np.sqrt(np.maximum(1.0 + 4.0 * g * (t + g), 0.0))
        found = 2.0 * (t + g) / (1.0 + root)
    return np.where(error > 0, found, np.where(share >= supposed, np.inf, -np.inf))


def skew(slope: Floats) -> Floats:
    """Return a sixth of the third central moment of W over its variance, as far as noise makes it.

    Args:
        slope: that of m, the mean square of W by the share.
    """
    return (slope - 1.0) / 6.0


def _line(
    share: Floats, square: Floats, slope: Floats, *, population: bool
) -> tuple[Floats, Floats, float]:
    """Return what the variance is made of: (level + linear w + bend w^2) / N."""
    level = np.maximum(square - slope * share, 0.0)
    return (level, slope, -1.0) if population else (level, slope - 1.0, 0.0)


# How many standard errors wide an interval is on either side.


def variance_of(ends: tuple[Floats, Floats], estimate: Floats, level: float) -> Floats:
    """Return the variance whose interval is as wide as the longer side of an interval."""
    longer = np.maximum(ends[1] - estimate, estimate - ends[0])
    return np.asarray(np.square(longer / normal_quantile(level)))


def normal_quantile(confidence: float) -> float:
    """Return the normal quantile of a two-sided interval of that confidence.

    Raises:
        OptionError: a confidence that is not between 0 and 1; of 1 an interval has no ends.
    """
    if not 0 < confidence < 1:
        raise OptionError(
            f"The level of an interval must be between 0 and 1, not {confidence}.", where="level"
        )
    return float(ndtri(0.5 + confidence / 2))


# What a reader must know of a table that was taken from a model, in numbers and in words.
#
# Whether the reports contradict the model, and whether the table was made of smaller ones.

LACK_OF_FIT_RATE = 0.01
"""A model is said not to fit at a p-value of so much or less; of models that hold, as many are."""


@dataclass(frozen=True)
class LackOfFit:
    """A test of pooled tables against the interactions they leave out.

    Attributes:
        variables: those of the model.
        order: the most variables that interact in it; interactions of one more are tested.
        statistic: how many times as large as under the model the reports' deviation from it in the
            direction of such interactions is; None with `p_value`.
        degrees_of_freedom: of the chi-square that the statistic, times them, is near under it.
        p_value: the chance of so large a statistic if the model holds; None where nothing can be
            tested.
        reason: why nothing can be tested; empty otherwise.
    """

    variables: tuple[str, ...]
    order: int
    statistic: float | None
    degrees_of_freedom: float | None
    p_value: float | None
    reason: str = ""

    @classmethod
    def untested(cls, variables: tuple[str, ...], order: int, reason: str) -> LackOfFit:
        """Return what is said of a model that cannot be tested."""
        return cls(variables, order, None, None, None, reason)

    @property
    def warning(self) -> str:
        """What a reader must know, as a sentence or two; empty where the reports fit."""
        return next(iter(warnings_of([self])), "")

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self) | {"variables": list(self.variables)}


def warnings_of(tests: Collection[LackOfFit], of: int = 0) -> list[str]:
    """Return what a reader must know of the models that the reports contradict.

    Of several models, `of` or as many as there are, none is warned of if all hold, but for a chance
    of `LACK_OF_FIT_RATE` (Bonferroni).
    """
    known = [(test, test.p_value) for test in tests if test.p_value is not None]
    return [_words(test, p) for test, p in known if p * (of or len(known)) <= LACK_OF_FIT_RATE]


def filled_in_words(sets: Sequence[Sequence[str]]) -> str:
    """Return what a reader must know of tables that were made of smaller ones; empty if of none.

    Args:
        sets: the variables of each.
    """
    if not sets:
        return ""
    others = len(sets) - 1
    more = f" and of {others:,} other set{'s' if others > 1 else ''} of variables" if others else ""
    return (
        f"Counts of {', '.join(sets[0])} together{more} are filled in from those of fewer"
        " variables, and hold if no more of them interact."
    )


def _words(test: LackOfFit, p_value: float) -> str:
    return (
        f"The reports of {', '.join(test.variables)} do not fit tables with"
        f" interactions of at most {test.order} variables (p = {p_value:.2g}): more variables"
        " interact, so that counts are biased and intervals miss the truth. Raise the order to"
        f" {test.order + 1} or more, or use the estimator 'ml' or 'moment'."
    )


def ratio_interval(
    cell: Floats, margin: Floats, moments: tuple[Floats, Floats, Floats], z: float
) -> tuple[Floats, Floats]:
    """Return the interval of all w for which cell - w * margin is within z standard errors of 0.

    That is Fieller's interval, the exact counterpart of Hinkley's ratio of normals (Ma 5.4.1),
    with the sampling part of the variance taken at the supposed w: margin * w (1 - w). Without
    randomization it is Wilson's interval. Where the margin itself is not sure to be positive the
    interval is everything, 0 to 1.

    Args:
        cell: the estimated counts.
        margin: those of the margins, of a shape that broadcasts with the cells'.
        moments: see `MarginalTable.second_moments`.
        z: the normal quantile.

    Returns:
        The lower and the upper ends, not cut to [0, 1].
    """
    ww, wv, vv = moments
    z2 = z**2
    a = np.square(margin) - z2 * (vv - 2 * margin)
    b = -2 * cell * margin - z2 * (margin + 2 * cell - 2 * wv)
    c = np.square(cell) - z2 * (ww - cell)
    sure = np.broadcast_to((a > 0) & (margin > 0), cell.shape)
    divisor = np.where(sure, 2 * a, 1.0)
    root = np.sqrt(np.maximum(np.square(b) - 4 * a * c, 0.0))
    return (
        np.where(sure, (-b - root) / divisor, 0.0),
        np.where(sure, (-b + root) / divisor, 1.0),
    )
