"""The information of attributes about the class, and about each other within the classes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pramana_core.errors import LimitExceeded, SingularChannel
from pramana_core.learn.bayes_classifier.model import Attribute, BayesClassifier
from pramana_core.learn.bayes_classifier.shrinkage import is_raw
from pramana_core.learn.common.distributions import stream
from pramana_core.learn.common.options import BayesClassifierOptions
from pramana_core.learn.networks.pairs import orient_from_first, spanning_forest
from pramana_core.marginals.counts import Marginals, Tensor
from pramana_core.marginals.tables import MarginalTable
from pramana_core.progress import Progress
from pramana_core.ties import descending, exceeds

Pair = tuple[str, str]

_NAT = 1.0
"""Differences in nats that are rounding errors at this scale count as zero."""


@dataclass(frozen=True)
class ConditionalDependence:
    """The information of one attribute about another given the class, in nats per record.

    `earned` is `information` minus the cost of its parameters under the noise (Akaike 1973).
    """

    information: float
    earned: float


def valid_shares(counts: Tensor) -> Tensor:
    """Return counts as a distribution, with negative counts clipped to 0."""
    positive = np.maximum(counts, 0.0)
    total = positive.sum()
    shares: Tensor = positive / total if total > 0 else np.full_like(positive, 1 / positive.size)
    return shares


def information(joint: Tensor) -> float:
    """Return I(X; Y | C) in nats of a distribution with axes (C, X, Y)."""
    given = joint.sum(axis=(1, 2), keepdims=True)
    product = joint.sum(axis=2, keepdims=True) * joint.sum(axis=1, keepdims=True)
    there = joint > 0
    ratio = np.where(there, joint * given, 1.0) / np.where(there, product, 1.0)
    return max(0.0, float((joint * np.log(ratio)).sum()))


def dependences(
    marginals: Marginals, target: str, features: Sequence[str], watch: Progress
) -> dict[Pair, ConditionalDependence]:
    """Return the dependence of each pair of features, in the order of the features."""
    pairs = [(a, b) for i, a in enumerate(features) for b in features[i + 1 :]]
    found = {}
    for done, pair in enumerate(pairs):
        watch(done, len(pairs))
        found[pair] = _dependence(marginals, target, pair)
    return found


def _dependence(marginals: Marginals, target: str, pair: Pair) -> ConditionalDependence:
    if not marginals.can_estimate(pair):
        # Pooled counts would make the pair independent given the class.
        return ConditionalDependence(0.0, 0.0)
    try:
        table = marginals.marginal([target, *pair])
    except (LimitExceeded, SingularChannel):
        if marginals.can_estimate([target, *pair]):
            raise  # a channel has no inverse
        # No record reports all three variables, or their table is too large to pool.
        return ConditionalDependence(0.0, 0.0)
    classes, *sizes = table.counts.shape
    found = information(valid_shares(table.counts))
    raw = is_raw(table, marginals.unbiased([target, *pair]))
    degrees = math.prod(size - 1 for size in sizes) * (classes if raw else 1)
    if raw:
        # Subtract the information of pure noise, to second order in the counts.
        found = max(0.0, found - _noise(table) * degrees / table.counts.size)
    if found == 0:
        return ConditionalDependence(0.0, 0.0)
    pairs = marginals.marginal(pair)
    often = max(_inflation(pairs), _inflation(table) if raw else 1.0)
    cost = degrees * often / table.records
    return ConditionalDependence(found, found - cost)


def _noise(table: MarginalTable) -> float:
    expected = np.maximum(table.counts, 1.0)
    return float((np.maximum(table.variance(population=False), 0.0) / expected).sum()) / (
        2 * table.records
    )


def _inflation(table: MarginalTable) -> float:
    shares = valid_shares(table.counts)
    plain = table.records * (shares * (1 - shares)).sum()
    return max(1.0, float(table.variance(population=True).sum() / max(plain, 1e-12)))


def parents_of(
    options: BayesClassifierOptions,
    features: Sequence[str],
    informations: Mapping[str, float],
    between: Mapping[Pair, ConditionalDependence],
) -> dict[str, tuple[str, ...]]:
    """Return the parents of each attribute in addition to the class.

    For a tree, links join the attributes with the largest dependences, and point away from the
    attribute with the most information about the class.
    """
    if options.model == "naive-bayes":
        return dict.fromkeys(features, ())
    earned = options.model == "auto"
    weights = {pair: d.earned if earned else d.information for pair, d in between.items()}
    positive = {pair: w for pair, w in weights.items() if exceeds(w, 0.0, scale=_NAT)}
    order = descending([informations[name] for name in features], scale=_NAT).tolist()
    ranked = [features[place] for place in order]
    parents = orient_from_first(ranked, spanning_forest(features, positive))
    return {name: tuple(parents[name]) for name in features}


_DRAWS, _FEWEST, _NUMBERS = 200, 40, 1 << 21
"""The usual number of draws, the minimum for large tables, and the maximum number of values."""


def information_error(model: BayesClassifier, attribute: Attribute) -> float | None:
    family = attribute.family
    weights = model.network.marginal(family.parents)[..., None]
    errors = np.where(weights > 0, family.se, 0.0)
    if not np.isfinite(errors).all():
        return None
    own = _before_centring(errors)
    rng = stream(0)
    most = max(_FEWEST, min(_DRAWS, _NUMBERS // errors.size))
    found = []
    for _ in range(most):
        moved = rng.standard_normal(errors.shape) * own
        moved -= moved.mean(axis=-1, keepdims=True)
        shares = np.maximum(family.probability + moved, 0.0)
        shares /= np.maximum(shares.sum(axis=-1, keepdims=True), np.finfo(float).tiny)
        joint = shares * weights
        found.append(information(np.moveaxis(joint.reshape(len(joint), -1, joint.shape[-1]), 1, 0)))
    return float(np.std(found, ddof=1)) / math.log(2)


def _before_centring(errors: Tensor) -> Tensor:
    """Return standard errors of independent numbers that have `errors` once rows are centred."""
    size = errors.shape[-1]
    if size < 2:
        return np.zeros_like(errors)
    squares = errors**2
    total = squares.sum(axis=-1, keepdims=True) * size / (size - 1)
    if size == 2:
        return np.broadcast_to(np.sqrt(total / 2), squares.shape)
    before: Tensor = np.sqrt(np.maximum(squares - total / size**2, 0.0) / (1 - 2 / size))
    return before
