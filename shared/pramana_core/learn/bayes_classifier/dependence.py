"""Which attributes depend on which, given the class: links by conditional mutual information.

Also here:

* Conditional distributions from estimated counts: proper, and as bold as their noise allows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from scipy.special import log_ndtr

from pramana_core.errors import LimitExceeded, SingularChannel
from pramana_core.learn.bayes_classifier.options import BayesClassifierOptions
from pramana_core.learn.common.documents import project_to_simplex
from pramana_core.learn.networks.bayes_net import LearnedFamily
from pramana_core.learn.networks.search.chow_liu import outward, spanning_forest
from pramana_core.marginals.counts import Marginals, MarginalTable, Tensor
from pramana_core.progress import Progress
from pramana_core.ties import descending, exceeds

# Conditional distributions from estimated counts: proper, and as bold as their noise allows.
#
# Raw counts of randomized records are right on average, may be negative, and may be mostly noise.
# They are moved towards what is surer (an attribute's own shares, or those given the class alone)
# by as much as noise would show of itself: the positive-part estimator of James and Stein for the
# deviations from (conditional) independence, but half as far: a classifier adds up what many tables
# tell, of which noise is the smaller part the more of them agree. (On public tables at gamma 19
# half was right more often than all or nothing.) Counts that come shrunk are moved half way back.
# What then is near 0 against its error is raised: the logarithm of a probability that is 0 by
# chance would decide alone. Without randomization nothing is moved or raised.

_RAISED = 0.25
"""The share of its standard error by which an uncertain probability is kept from 0.

More protects rare categories better, and makes less of categories that a class never has.
"""

_MOST_CONTRASTS = 600
"""Deviations of larger tables are taken as they are: their covariance is too large to invert."""

_ROUNDING = 1e-9


def is_raw(table: MarginalTable, unbiased: MarginalTable | None) -> bool:
    """Whether a table's counts are the unbiased ones, with all their noise: not shrunk already."""
    return unbiased is not None and np.array_equal(unbiased.counts, table.counts)


def half_kept(kept: float) -> float:
    """Return the share kept where a table is moved half as far as it would be by itself."""
    return (1 + kept) / 2


def half_way(shrunk: LearnedFamily, unbiased: LearnedFamily) -> LearnedFamily:
    """Return parameters between those of shrunk and of unbiased counts, with the latter's errors.

    Where either are not known they are the shrunk ones.
    """
    both = ~np.isnan(shrunk.estimate) & ~np.isnan(unbiased.estimate)
    middle = np.where(both, (shrunk.estimate + unbiased.estimate) / 2, shrunk.probability)
    return replace(
        shrunk,
        probability=project_to_simplex(middle),
        se_records=np.where(both, unbiased.se_records, shrunk.se_records),
    )


def share_kept(table: MarginalTable, strata: int) -> float:
    """Return the share of its deviations from independence that a raw table keeps.

    Args:
        table: counts with the axes (strata..., parents..., node); the deviations are those from
            the independence of parents and node in each stratum.
        strata: the number of axes of the strata.
    """
    shape = table.counts.shape
    rows, size = math.prod(shape[strata:-1]), shape[-1]
    counts = table.counts.reshape(-1, rows, size)
    if len(counts) * (rows - 1) * (size - 1) > _MOST_CONTRASTS:
        return 1.0
    total = np.maximum(counts.sum(axis=(1, 2), keepdims=True), 1.0)
    margins = counts.sum(axis=1, keepdims=True) * counts.sum(axis=2, keepdims=True)
    contrasts = np.kron(np.eye(len(counts)), np.kron(_contrasts(rows), _contrasts(size)))
    apart = contrasts @ (counts - margins / total).ravel()
    noise = table.covariance_of(contrasts.reshape(-1, *shape), population=False)
    scale = _ROUNDING * max(float(np.abs(noise).max()), table.records)
    values, vectors = np.linalg.eigh((noise + noise.T) / 2)
    if values.max() <= scale:
        return 1.0
    statistic = float((np.square(vectors.T @ apart) / np.maximum(values, scale)).sum())
    return max(0.0, 1.0 - len(apart) / statistic) if statistic > 0 else 0.0


def _contrasts(size: int) -> Tensor:
    """Return orthonormal rows that are orthogonal to the constant, (size - 1, size)."""
    whole = np.concatenate([np.ones((size, 1)), np.eye(size)[:, : size - 1]], axis=1)
    return np.linalg.qr(whole)[0][:, 1:].T


def conditional(
    family: LearnedFamily, margin: Tensor, towards: Tensor, kept: float, alpha: float
) -> Tensor:
    """Return the distributions that predict, in the shape of the family's.

    Args:
        family: the parameters as they are estimated.
        margin: the counts of the parents, (parents' sizes...).
        towards: what noisy rows are moved to.
        kept: the share of the way from there that is kept.
        alpha: added to the count of every cell.
    """
    known = ~np.isnan(family.estimate)
    moved = towards + np.where(known, kept * (family.probability - towards), 0.0)
    proper = _raised(moved, kept * _RAISED * np.where(known, family.se_records, 0.0))
    count = np.maximum(margin, 0.0)[..., None]
    found: Tensor = (count * proper + alpha) / (count + alpha * proper.shape[-1])
    return found


def _raised(shares: Tensor, errors: Tensor) -> Tensor:
    """Return the means of normal distributions about shares, cut off at 0, to sum 1."""
    some = errors > _ROUNDING
    safe = np.where(some, errors, 1.0)
    deviate = shares / safe
    density = np.exp(-np.square(deviate) / 2 - log_ndtr(deviate)) / math.sqrt(2 * math.pi)
    raised = shares + np.where(some, errors * density, 0.0)
    found: Tensor = raised / raised.sum(axis=-1, keepdims=True)
    return found


Pair = tuple[str, str]

_NAT = 1.0
"""The scale of information: what differs by less than rounding leaves of it is equal."""


@dataclass(frozen=True)
class Dependence:
    """What one attribute tells of another given the class, in nats for each record.

    `earned` is what it is expected to be worth for new records: less what its parameters cost under
    the noise of the reports, once in the estimate and once in use (Akaike 1973, with the variance
    that the counts have).
    """

    information: float
    earned: float


def valid_shares(counts: Tensor) -> Tensor:
    """Return the distribution of counts whose negative ones are taken for none."""
    positive = np.maximum(counts, 0.0)
    total = positive.sum()
    shares: Tensor = positive / total if total > 0 else np.full_like(positive, 1 / positive.size)
    return shares


def information(joint: Tensor) -> float:
    """Return I(X; Y | C) in nats of a distribution with the axes (C, X, Y)."""
    given = joint.sum(axis=(1, 2), keepdims=True)
    apart = joint.sum(axis=2, keepdims=True) * joint.sum(axis=1, keepdims=True)
    there = joint > 0
    ratio = np.where(there, joint * given, 1.0) / np.where(there, apart, 1.0)
    return max(0.0, float((joint * np.log(ratio)).sum()))


def dependences(
    marginals: Marginals, target: str, features: Sequence[str], watch: Progress
) -> dict[Pair, Dependence]:
    """Return the dependence of each pair of features, in their order."""
    pairs = [(a, b) for i, a in enumerate(features) for b in features[i + 1 :]]
    found = {}
    for done, pair in enumerate(pairs):
        watch(done, len(pairs))
        found[pair] = _dependence(marginals, target, pair)
    return found


def _dependence(marginals: Marginals, target: str, pair: Pair) -> Dependence:
    if not marginals.can_estimate(pair):
        # Filled in, they would be independent given the class.
        return Dependence(0.0, 0.0)
    try:
        table = marginals.marginal([target, *pair])
    except (LimitExceeded, SingularChannel):
        if marginals.can_estimate([target, *pair]):
            raise  # a channel has no inverse, which says nothing of what they share
        # Nothing tells what the two share besides the class: no record reports all three, or their
        # table is too large to be made of smaller ones.
        return Dependence(0.0, 0.0)
    classes, *sizes = table.counts.shape
    found = information(valid_shares(table.counts))
    raw = is_raw(table, marginals.unbiased([target, *pair]))
    degrees = math.prod(size - 1 for size in sizes) * (classes if raw else 1)
    if raw:
        # Noise alone shows as much, by the second order of the information in the counts.
        found = max(0.0, found - _noise(table) * degrees / table.counts.size)
    if found == 0:
        return Dependence(0.0, 0.0)
    pairs = marginals.marginal(pair)
    often = max(_inflation(pairs), _inflation(table) if raw else 1.0)
    cost = degrees * often / table.records
    return Dependence(found, found - cost)


def _noise(table: MarginalTable) -> float:
    expected = np.maximum(table.counts, 1.0)
    return float((np.maximum(table.variance(population=False), 0.0) / expected).sum()) / (
        2 * table.records
    )


def _inflation(table: MarginalTable) -> float:
    """Return how many times the variance of the counts is that without randomization."""
    shares = valid_shares(table.counts)
    plain = table.records * (shares * (1 - shares)).sum()
    return max(1.0, float(table.variance(population=True).sum() / max(plain, 1e-12)))


def parents_of(
    options: BayesClassifierOptions,
    features: Sequence[str],
    told: Mapping[str, float],
    between: Mapping[Pair, Dependence],
) -> dict[str, tuple[str, ...]]:
    """Return the attributes that each attribute depends on.

    Args:
        options: the model.
        features: the attributes.
        told: what each tells of the class.
        between: the dependence of each pair given the class.
    """
    if options.model == "naive-bayes":
        return dict.fromkeys(features, ())
    weights = {
        frozenset(pair): found.earned if options.model == "auto" else found.information
        for pair, found in between.items()
    }
    if options.model == "kdb":
        return _by_rank(features, told, weights, options.max_parents)
    return _tree(features, told, weights)


def _tree(
    features: Sequence[str], told: Mapping[str, float], weights: Mapping[frozenset[str], float]
) -> dict[str, tuple[str, ...]]:
    """Return the tree of the largest weights, directed away from what tells most of the class.

    Chow and Liu 1968; links of no weight are left out, so that it may be several trees. Of equal
    links and attributes the first counts, in the order of the attributes.
    """
    positive = {
        pair: weight
        for pair in combinations(features, 2)
        if _some(weight := weights[frozenset(pair)])
    }
    ranked = _ranked(features, [told[name] for name in features])
    parents = outward(ranked, spanning_forest(features, positive))
    return {name: tuple(parents[name]) for name in features}


def _by_rank(
    features: Sequence[str],
    told: Mapping[str, float],
    weights: Mapping[frozenset[str], float],
    most: int,
) -> dict[str, tuple[str, ...]]:
    """Return for each attribute the most dependent of those that tell more of the class.

    Of equal ones the first counts, in the order of the attributes.
    """
    ranked = _ranked(features, [told[name] for name in features])
    parents: dict[str, tuple[str, ...]] = {}
    for place, name in enumerate(ranked):
        before = [p for p in ranked[:place] if _some(weights[frozenset((p, name))])]
        before = _ranked(before, [weights[frozenset((p, name))] for p in before])
        parents[name] = tuple(before[:most])
    return parents


def _some(weight: float) -> bool:
    """Whether a weight, in nats, is more than rounding leaves of none."""
    return exceeds(weight, 0.0, scale=_NAT)


def _ranked(names: Sequence[str], weights: Sequence[float]) -> list[str]:
    """Return names by their weights in nats, the largest first, equal ones as they stand."""
    return [names[place] for place in descending(weights, scale=_NAT).tolist()]
