"""Errors of the measures of rules, from the joint error of the three counts of each.

With supports X of the whole rule, Y of its antecedent and Z of its consequent, the confidence is
X / Y, the lift X / (Y Z) and the leverage X - Y Z. An interval holds the values that a test does
not reject: those whose difference, X - c Y, X - l Y Z or X - Y Z - d, lies within z standard errors
of 0 (Fieller 1954). The error is taken at the supposed value: X is what the value makes it, c Y,
l Y Z or Y Z + d, while Y and Z stay as they were estimated. With X move

* the sampling part, that of a multinomial distribution, exactly, and
* the noise of X and what it shares with that of Y and Z, along the straight lines of
  `pramana_core.marginals.score_interval`, which also has the skewness that X is corrected for.

Without randomization the interval of a confidence is Wilson's.

The product of the estimates of Y and Z has the mean Y Z + cov(Y, Z) and, these being normal, the
variance

    Y^2 var(Z) + Z^2 var(Y) + 2 Y Z cov(Y, Z) + var(Y) var(Z) + cov(Y, Z)^2.

Where the antecedent, or for lifts the product of both sides, is not sure to be positive, nothing
speaks against large values: the interval has no upper end but what the measure itself cannot
exceed. The standard errors are those of the delta method.

Also here:

* Itemsets counted some at a time, so that a long count shows progress and can be stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from pramana_core.marginals.score_interval import possible
from pramana_core.marginals.support_counts import ROUNDING, Floats, Indices, Item, RuleCounts

_STEPS, _NEAR = 100, 1e-14
"""The ends of intervals are sought in so many steps, or until none moves further than this."""


_FARTHEST = 2.0
"""So far from the estimate the ends of a leverage's interval are sought."""


@dataclass(frozen=True, eq=False)
class RuleEstimates:
    """Estimates with their standard errors and intervals, arrays of one shape."""

    estimate: Floats
    se: Floats
    low: Floats
    high: Floats


def supports(counts: RuleCounts, z: float, *, population: bool) -> RuleEstimates:
    """Return the supports of whole rules, as itemsets have them; arguments as for `confidences`."""
    wholes = counts.wholes
    low, high = wholes.interval(z, population=population)
    se = np.sqrt(wholes.variance(population=population)) / counts.records
    estimate = wholes.counts / counts.records
    return RuleEstimates(estimate, se, *possible(low, high, estimate))


def confidences(counts: RuleCounts, z: float, *, population: bool) -> RuleEstimates:
    """Return the confidences; their intervals are within [0, 1], the estimates raw.

    Args:
        counts: the three counts of each rule; antecedents positive.
        z: the normal quantile of the intervals.
        population: which error.
    """
    supposed = _AssumedErrors(counts, population=population)
    whole, antecedent, _ = supposed.shares
    estimate, nothing = whole / antecedent, np.zeros_like(whole)
    middle = supposed.middle(z)

    def excess(u: Floats, v: Floats) -> Floats:
        # The difference is multiplied by v, so that u / v may be infinite.
        error = supposed.variance(_ratio(u, v) * antecedent, v, -u, nothing, most=antecedent)
        return np.asarray(np.abs(v * middle - u * antecedent) - z * np.sqrt(error))

    ends = possible(*_accepted(excess, estimate), estimate)
    gradient = np.column_stack([np.ones_like(whole), -estimate, nothing]) / antecedent[:, None]
    return _measured(counts, estimate, gradient, ends, population=population)


def lifts(counts: RuleCounts, z: float, *, population: bool) -> RuleEstimates:
    """Return the lifts; arguments as for `confidences`, all three counts positive.

    Where nothing is known of a lift its interval is from 0 to infinity.
    """
    supposed = _AssumedErrors(counts, population=population)
    whole, antecedent, consequent = supposed.shares
    estimate, most = whole / antecedent / consequent, np.minimum(antecedent, consequent)
    shared, second = supposed.second_order
    middle, product = supposed.middle(z), antecedent * consequent - shared

    def excess(u: Floats, v: Floats) -> Floats:
        gradient = (v, -u * consequent, -u * antecedent)
        error = supposed.variance(_ratio(u, v) * product, *gradient, most=most)
        error = error + np.square(u) * second
        return np.asarray(np.abs(v * middle - u * product) - z * np.sqrt(error))

    low, high = _accepted(excess, estimate)
    gradient = estimate[:, None] / np.column_stack([whole, -antecedent, -consequent])
    known = product > 0
    ends = (np.where(known, low, 0.0), np.where(known, high, np.inf))
    return _measured(counts, estimate, gradient, ends, population=population)


def leverages(counts: RuleCounts, z: float, *, population: bool) -> RuleEstimates:
    """Return the leverages; arguments as for `confidences`."""
    supposed = _AssumedErrors(counts, population=population)
    whole, antecedent, consequent = supposed.shares
    estimate, most = whole - antecedent * consequent, np.minimum(antecedent, consequent)
    shared, second = supposed.second_order
    product = antecedent * consequent - shared
    middle, farthest = supposed.middle(z) - product, np.full_like(whole, _FARTHEST)
    gradient = (np.ones_like(whole), -consequent, -antecedent)

    def excess(value: Floats) -> Floats:
        error = supposed.variance(value + product, *gradient, most=most) + second
        return np.asarray(np.abs(middle - value) - z * np.sqrt(error))

    low = estimate - farthest + _least(lambda part: excess(estimate - farthest + part), farthest)
    high = estimate + farthest - _least(lambda part: excess(estimate + farthest - part), farthest)
    return _measured(
        counts, estimate, np.column_stack(gradient), (low, high), population=population
    )


class _AssumedErrors:
    """The error of differences between the supports of rules, if those of the wholes were others.

    Attributes:
        shares: the estimated supports of wholes, antecedents and consequents, shape (3, n).
    """

    def __init__(self, counts: RuleCounts, *, population: bool) -> None:
        self.shares: Floats = (counts.counts / counts.records).T
        self._records = counts.records
        self._population = population
        self._noise = np.moveaxis(counts.covariance(population=False), 0, 2) / counts.records**2
        self._slopes = (counts.tilt.slope - 1.0).T / counts.records

    def middle(self, z: float) -> Floats:
        """Return the supports of the wholes, moved by the skewness of their noise."""
        return np.asarray(self.shares[0] - (z**2 - 1.0) / 6.0 * self._slopes[0])

    @property
    def second_order(self) -> tuple[Floats, Floats]:
        """The covariance of both sides, and the second-order part of their product's variance."""
        _, antecedent, consequent = self.shares
        whole = np.clip(self.shares[0], 0.0, np.minimum(antecedent, consequent))
        one, other, both = self._noise[1, 1], self._noise[2, 2], self._noise[1, 2]
        if self._population:
            one = one + antecedent * (1.0 - antecedent) / self._records
            other = other + consequent * (1.0 - consequent) / self._records
            both = both + (whole - antecedent * consequent) / self._records
        return both, np.maximum(one * other, 0.0) + np.square(both)

    def variance(self, whole: Floats, *gradient: Floats, most: Floats) -> Floats:
        """Return the variance of linear functions of the three supports.

        Args:
            whole: the supposed supports of the whole rules, cut to what can be.
            gradient: the functions' factors of whole, antecedent and consequent.
            most: the largest that `whole` can be.
        """
        whole = np.clip(whole, 0.0, most)
        move = 2.0 * (whole - self.shares[0]) * gradient[0]
        found: Floats = -move * gradient[0] * self._slopes[0] / 2.0
        for i, one in enumerate(gradient):
            found = found + move * one * self._slopes[i]
            for j, other in enumerate(gradient):
                found = found + one * other * self._noise[i, j]
        if self._population:
            x, y, z = gradient
            mean = x * whole + y * self.shares[1] + z * self.shares[2]
            square = np.square(x) * whole + np.square(y) * self.shares[1]
            square = square + np.square(z) * self.shares[2] + 2.0 * whole * (x * y + x * z + y * z)
            found = found + (square - np.square(mean)) / self._records
        return np.maximum(found, 0.0)


def _ratio(u: Floats, v: Floats) -> Floats:
    return np.divide(u, v, where=v > 0, out=np.full_like(u, np.inf))


def _accepted(
    excess: Callable[[Floats, Floats], Floats], estimate: Floats
) -> tuple[Floats, Floats]:
    """Return the ends of the ratios u / v >= 0 that are not rejected, the estimate being one."""
    positive, ones = np.maximum(estimate, 0.0), np.ones_like(estimate)
    below = _least(lambda part: excess(positive * part, ones), ones)
    above = _least(lambda part: excess(positive, part), ones)
    with np.errstate(divide="ignore", invalid="ignore"):
        return positive * below, np.where(above > 0, positive / above, np.inf)


def _least(excess: Callable[[Floats], Floats], accepted: Floats) -> Floats:
    """Return the least of the numbers from 0 to those accepted that is accepted too.

    Numbers of positive excess are rejected. The end is sought by false position, as in Illinois
    (Dowell and Jarratt 1971): the excess at an end that stays a second time is halved.
    """
    outside, inside = np.zeros_like(accepted), accepted
    above, below = excess(outside), np.minimum(excess(inside), 0.0)
    every, last, before = above <= 0, accepted, above > 0
    for _ in range(_STEPS):
        gap = above - below
        share = np.divide(above, gap, where=gap > 0, out=np.full_like(gap, 0.5))
        found = outside + (inside - outside) * share
        value = excess(found)
        out = value > 0
        half = np.where(out == before, 0.5, 1.0)
        above, below = np.where(out, value, above * half), np.where(out, below * half, value)
        outside, inside = np.where(out, found, outside), np.where(out, inside, found)
        if not np.any(np.abs(found - last)[~every] > _NEAR):
            break
        last, before = found, out
    return np.where(every, 0.0, found)


def _measured(
    counts: RuleCounts,
    estimate: Floats,
    gradient: Floats,
    ends: Iterable[Floats],
    *,
    population: bool,
) -> RuleEstimates:
    """Return ratios with their errors; where there is no error they are their own intervals."""
    se = np.sqrt(_variance(counts, gradient, population=population))
    exact = (se == 0) & (not population)
    low, high = (np.where(exact, estimate, end) for end in ends)
    return RuleEstimates(estimate, se, low, high)


def _variance(counts: RuleCounts, gradient: Floats, *, population: bool) -> Floats:
    """Return the variance of a linear function of the three supports; 0 where it is rounding."""
    covariance = counts.covariance(population=population) / counts.records**2
    variance = np.einsum("ni,nij,nj->n", gradient, covariance, gradient)
    largest = np.abs(counts.counts).max(axis=1, initial=1.0) / counts.records**2
    scale = ROUNDING * np.square(gradient).max(axis=1, initial=0.0) * largest
    return np.asarray(np.where(variance > scale, variance, 0.0))


# Itemsets counted some at a time, so that a long count shows progress and can be stopped.

PIECE = 20_000
"""About so many itemsets are counted at once."""


def variables_of(items: tuple[Item, ...]) -> Indices:
    """Return a number per item, the same for items of one variable."""
    numbers = {name: number for number, (name, _) in enumerate(items)}
    return np.array([numbers[name] for name, _ in items], dtype=np.int64)


def pieces(itemsets: Indices, variables: Indices) -> list[Indices]:
    """Return the rows of itemsets in pieces; those over one set of variables stay together.

    Where supports are told from tables, these share one.

    Args:
        itemsets: shape (n, k).
        variables: of `variables_of`.
    """
    if len(itemsets) <= PIECE:
        return [np.arange(len(itemsets), dtype=np.int64)]
    _, kind = np.unique(variables[itemsets], axis=0, return_inverse=True)
    order = np.argsort(kind.ravel(), kind="stable")
    starts = np.append(0, np.flatnonzero(np.diff(kind.ravel()[order])) + 1)
    # A set of variables is begun in the piece in which its first itemset falls.
    firsts = np.append(True, np.diff(starts // PIECE) > 0)
    return np.split(order, starts[firsts][1:])
