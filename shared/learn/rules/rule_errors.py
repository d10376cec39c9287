"""Errors of the measures of rules, from the joint error of the three counts of each.

With X records that have the whole rule, Y its antecedent and Z its consequent, the confidence is
X / Y and the lift N X / (Y Z).

*Confidence*: Fieller's interval, all w with X - w Y within z standard errors of 0. Against the
population the sampling part of that variance is taken at the supposed w, Y w (1 - w); without
randomization this is Wilson's interval. Where the antecedent itself is not sure to be positive the
interval is everything. The standard error is that of X - w Y at the estimate, divided by Y.

*Lift*: the delta method on its logarithm, whose gradient is (1/X, -1/Y, -1/Z).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shared.learn.rules.decisions import interval
from shared.marginals.support_counts import Floats, RuleCounts


@dataclass(frozen=True, eq=False)
class Measured:
    """Estimates with their standard errors and intervals, arrays of one shape."""

    estimate: Floats
    se: Floats
    low: Floats
    high: Floats


def supports(counts: RuleCounts, z: float, *, population: bool) -> Measured:
    """Return the supports of whole rules, as itemsets have them; arguments as for `confidences`."""
    records = counts.records
    estimate = counts.counts[:, 0] / records
    gradient = np.broadcast_to([1 / records, 0.0, 0.0], counts.counts.shape)
    noise = _variance(counts, gradient, population=False)
    low, high = interval(estimate, noise, z, 1 / records if population else 0.0)
    se = np.sqrt(_variance(counts, gradient, population=population))
    return Measured(estimate, se, np.clip(low, 0, 1), np.clip(high, 0, 1))


def confidences(counts: RuleCounts, z: float, *, population: bool) -> Measured:
    """Return the confidences; their intervals are within [0, 1], the estimates raw.

    Args:
        counts: the three counts of each rule; antecedents positive.
        z: the normal quantile of the intervals.
        population: which error.
    """
    whole, antecedent = counts.counts[:, 0], counts.counts[:, 1]
    estimate = (whole / counts.records) / (antecedent / counts.records)
    noise = counts.covariance(population=False)
    xx, xy, yy = noise[:, 0, 0], noise[:, 0, 1], noise[:, 1, 1]
    sampled = antecedent if population else 0.0
    variance = xx - 2 * estimate * xy + np.square(estimate) * yy
    variance = variance + sampled * estimate * (1 - estimate)
    a = np.square(antecedent) - z**2 * (yy - sampled)
    half = whole * antecedent - z**2 * (xy - sampled / 2)
    c = np.square(whole) - z**2 * xx
    sure = a > 0
    root = np.sqrt(np.maximum(np.square(half) - a * c, 0.0))
    divisor = np.where(sure, a, 1.0)
    exact = sure & (variance <= _rounding(counts)) & (not population)
    low = np.where(exact, estimate, (half - root) / divisor)
    high = np.where(exact, estimate, (half + root) / divisor)
    return Measured(
        estimate,
        np.where(exact, 0.0, np.sqrt(np.maximum(variance, 0.0))) / antecedent,
        np.where(sure, np.clip(low, 0, 1), 0.0),
        np.where(sure, np.clip(high, 0, 1), 1.0),
    )


def lifts(counts: RuleCounts, z: float, *, population: bool) -> Measured:
    """Return the lifts; arguments as for `confidences`, all three counts positive."""
    whole, antecedent, consequent = (counts.counts / counts.records).T
    estimate = whole / antecedent / consequent
    gradient = np.array([1.0, -1.0, -1.0]) / counts.counts
    relative = np.sqrt(_variance(counts, gradient, population=population))
    # Where nothing is known of the lift its interval is from 0 to infinity.
    with np.errstate(over="ignore"):
        spread = np.exp(z * relative)
        high = estimate * spread
    return Measured(estimate, estimate * relative, estimate / spread, high)


def leverages(counts: RuleCounts, z: float, *, population: bool) -> Measured:
    """Return the leverages by the delta method; arguments as for `confidences`."""
    whole, antecedent, consequent = (counts.counts / counts.records).T
    estimate = whole - antecedent * consequent
    gradient = np.column_stack([np.ones_like(whole), -consequent, -antecedent]) / counts.records
    se = np.sqrt(_variance(counts, gradient, population=population))
    return Measured(estimate, se, estimate - z * se, estimate + z * se)


def _variance(counts: RuleCounts, gradient: Floats, *, population: bool) -> Floats:
    """Return the variance of a linear function of the three counts; 0 where it is rounding."""
    covariance = counts.covariance(population=population)
    variance = np.einsum("ni,nij,nj->n", gradient, covariance, gradient)
    scale = np.square(gradient).max(axis=1, initial=0.0)
    return np.asarray(np.where(variance > _rounding(counts) * scale, variance, 0.0))


def _rounding(counts: RuleCounts) -> Floats:
    """Return the variance below which counts of that size differ by rounding only."""
    return np.asarray(1e-12 * np.abs(counts.counts).max(axis=1, initial=1.0))
