"""Which attributes depend on which, given the class: links by conditional mutual information."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from pramana_core.errors import LimitExceeded, SingularChannel
from pramana_core.learn.bayes_classifier.options import BayesClassifierOptions
from pramana_core.learn.bayes_classifier.tables import is_raw
from pramana_core.learn.networks.search.chow_liu import outward, spanning_forest
from pramana_core.marginals.counts import Marginals, MarginalTable, Tensor
from pramana_core.progress import Progress
from pramana_core.ties import descending, exceeds

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
    if not marginals.tells(pair):
        # Filled in, they would be independent given the class.
        return Dependence(0.0, 0.0)
    try:
        table = marginals.marginal([target, *pair])
    except (LimitExceeded, SingularChannel):
        if marginals.tells([target, *pair]):
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
