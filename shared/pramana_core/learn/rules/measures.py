"""Measures of rules with their errors, from the joint error of each rule's three counts.

The three supports are X of the rule, Y of its antecedent and Z of its consequent. Confidence is X /
Y, lift is X / (Y Z) and leverage is X - Y Z. Errors come from the delta method, and the interval of
a confidence is Fieller's (1954). If a denominator may be 0, the interval extends to the ends of the
possible range.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pramana_core.marginals.score_interval import possible
from pramana_core.marginals.support_counts import ROUNDING, Floats, RuleCounts


@dataclass(frozen=True, eq=False)
class RuleEstimates:
    """Estimates with standard errors and interval ends, as arrays of equal shape."""

    estimate: Floats
    se: Floats
    low: Floats
    high: Floats


def supports(counts: RuleCounts, z: float, *, population: bool) -> RuleEstimates:
    """Return the supports of rules with both sides; the arguments are as for `confidences`."""
    wholes = counts.wholes
    low, high = wholes.interval(z, population=population)
    se = np.sqrt(wholes.variance(population=population)) / counts.records
    estimate = wholes.counts / counts.records
    return RuleEstimates(estimate, se, *possible(low, high, estimate))


def confidences(counts: RuleCounts, z: float, *, population: bool) -> RuleEstimates:
    """Return the raw confidences of rules whose antecedents have positive counts.

    The intervals are within [0, 1]. `z` is their normal quantile. With `population`, errors are
    against the population, otherwise given the records.
    """
    whole, antecedent, _ = (counts.counts / counts.records).T
    noise = counts.covariance(population=population) / counts.records**2
    drawn = antecedent / counts.records if population else np.zeros_like(antecedent)
    if population:
        noise = noise - _sampling(counts) / counts.records
    square = np.square(antecedent) - z**2 * (noise[:, 1, 1] - drawn)
    linear = 2 * whole * antecedent + z**2 * (drawn - 2 * noise[:, 0, 1])
    level = np.square(whole) - z**2 * noise[:, 0, 0]
    root = np.sqrt(np.maximum(np.square(linear) - 4 * square * level, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        estimate = whole / antecedent
        gradient = np.column_stack([np.ones_like(whole), -estimate, np.zeros_like(whole)])
        gradient /= antecedent[:, None]
        ends = (linear - root) / (2 * square), (linear + root) / (2 * square)
    sure = (square > 0) & (antecedent > 0)
    low, high = np.where(sure, ends[0], 0.0), np.where(sure, ends[1], 1.0)
    return _estimates(counts, estimate, gradient, possible(low, high, estimate), population)


def lifts(counts: RuleCounts, z: float, *, population: bool) -> RuleEstimates:
    """Return the lifts of rules (see `confidences`), an unknown one with interval 0 to infinity."""
    whole, antecedent, consequent = (counts.counts / counts.records).T
    with np.errstate(divide="ignore", invalid="ignore"):
        estimate = whole / antecedent / consequent
        of_product = np.column_stack([np.zeros_like(whole), 1 / antecedent, 1 / consequent])
        gradient = -estimate[:, None] * of_product
        gradient[:, 0] = 1 / (antecedent * consequent)
        half = z * np.sqrt(_variance(counts, gradient, population=population))
    known = (antecedent > 0) & (consequent > 0)
    sure = known & (z * np.sqrt(_variance(counts, of_product, population=population)) < 1)
    low = np.where(known, np.maximum(estimate - half, 0.0), 0.0)
    high = np.where(sure, estimate + half, np.inf)
    return _estimates(counts, estimate, gradient, (low, high), population)


def leverages(counts: RuleCounts, z: float, *, population: bool) -> RuleEstimates:
    """Return the leverages of rules, with arguments as for `confidences`."""
    whole, antecedent, consequent = (counts.counts / counts.records).T
    estimate = whole - antecedent * consequent
    gradient = np.column_stack([np.ones_like(whole), -consequent, -antecedent])
    half = z * np.sqrt(_variance(counts, gradient, population=population))
    return _estimates(counts, estimate, gradient, (estimate - half, estimate + half), population)


def _sampling(counts: RuleCounts) -> Floats:
    share = counts.counts / counts.records
    both = np.broadcast_to(share[:, :1, None], (len(share), 3, 3)).copy()
    both[:, [1, 2], [1, 2]] = share[:, 1:]
    return np.asarray(both - share[:, :, None] * share[:, None, :])


def _estimates(
    counts: RuleCounts,
    estimate: Floats,
    gradient: Floats,
    ends: tuple[Floats, Floats],
    population: bool,
) -> RuleEstimates:
    se = np.sqrt(_variance(counts, gradient, population=population))
    exact = (se == 0) & (not population)
    low, high = (np.where(exact, estimate, end) for end in ends)
    return RuleEstimates(estimate, se, low, high)


def _variance(counts: RuleCounts, gradient: Floats, *, population: bool) -> Floats:
    """Return the variance of a linear function of the supports; 0 if it is rounding only."""
    covariance = counts.covariance(population=population) / counts.records**2
    variance = np.einsum("ni,nij,nj->n", gradient, covariance, gradient)
    largest = np.abs(counts.counts).max(axis=1, initial=1.0) / counts.records**2
    scale = ROUNDING * np.square(gradient).max(axis=1, initial=0.0) * largest
    return np.asarray(np.where(variance > scale, variance, 0.0))


def measured(counts: RuleCounts, z: float, *, population: bool) -> tuple[RuleEstimates, ...]:
    """Return the supports, confidences, lifts and leverages of rules; see `confidences`.

    For shrunk counts, intervals are those before shrinkage, widened to contain the estimates.
    """
    measures = []
    for measure in (supports, confidences, lifts, leverages):
        own, raw = (measure(c, z, population=population) for c in (counts, counts.unshrunk))
        low, high = np.minimum(raw.low, own.estimate), np.maximum(raw.high, own.estimate)
        measures.append(replace(own, low=low, high=high) if counts.before else own)
    return tuple(measures)
