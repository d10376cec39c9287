"""Learning Bayesian network classifiers from marginals.

Also here:

* Which attributes depend on which, given the class: links by conditional mutual information.
* Conditional distributions from estimated counts: proper, and as bold as their noise allows.
* How sure it is what an attribute tells of the class, by the errors of its probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from scipy.special import log_ndtr

from pramana_core.errors import LimitExceeded, SingularChannel
from pramana_core.learn.bayes_classifier.model import Attribute, BayesClassifier, ChosenModel
from pramana_core.learn.bayes_classifier.redundancy import AttributeRedundancy, learn_redundancy
from pramana_core.learn.common.documents import project_to_simplex, stream
from pramana_core.learn.common.inputs import inputs_of
from pramana_core.learn.common.options import BayesClassifierOptions
from pramana_core.learn.networks.bayes_net import LearnedFamily, learn_family
from pramana_core.learn.networks.pairs import orient_from_first, spanning_forest
from pramana_core.marginals.counts import Marginals, MarginalTable, Tensor
from pramana_core.progress import Progress, Tick, unwatched
from pramana_core.ties import descending, exceeds

# Which attributes depend on which, given the class: links by conditional mutual information.


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

_SHARES = 1001
"""Values at which the posterior of a share is summed."""


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
    return _tree(features, told, weights)


def _tree(
    features: Sequence[str], told: Mapping[str, float], weights: Mapping[frozenset[str], float]
) -> dict[str, tuple[str, ...]]:
    """Return the tree of the largest weights, directed away from what tells most of the class."""
    positive = {
        pair: weight
        for pair in combinations(features, 2)
        if _some(weight := weights[frozenset(pair)])
    }
    ranked = _ranked(features, [told[name] for name in features])
    parents = orient_from_first(ranked, spanning_forest(features, positive))
    return {name: tuple(parents[name]) for name in features}


def _some(weight: float) -> bool:
    """Whether a weight, in nats, is more than rounding leaves of none."""
    return exceeds(weight, 0.0, scale=_NAT)


def _ranked(names: Sequence[str], weights: Sequence[float]) -> list[str]:
    """Return names by their weights in nats, the largest first, equal ones as they stand."""
    return [names[place] for place in descending(weights, scale=_NAT).tolist()]


# Learning Bayesian network classifiers from marginals.


def learn_bayes_classifier(
    marginals: Marginals,
    target: str,
    features: Sequence[str] | None = None,
    options: BayesClassifierOptions | None = None,
    on_step: Progress = unwatched,
) -> BayesClassifier:
    """Learn a classifier of one variable from others.

    Naive Bayes needs the tables of the class with each feature; the tree those with two.

    Args:
        marginals: exact or estimated counts.
        target: the class.
        features: what the class is predicted from; by default all other variables.
        options: see `BayesClassifierOptions`.
        on_step: told of the progress; what it raises stops the work.

    Raises:
        UnknownVariable: a variable the marginals do not have.
        OptionError: no features, one named twice, or the class among them.
        EstimationError, LimitExceeded: what the marginals raise.
    """
    return learn_with_evidence(marginals, target, features, options, on_step)[0]


def learn_with_evidence(
    marginals: Marginals,
    target: str,
    features: Sequence[str] | None = None,
    options: BayesClassifierOptions | None = None,
    on_step: Progress = unwatched,
) -> tuple[BayesClassifier, AttributeRedundancy | None]:
    """Return also how far attributes repeat each other, if that is learned (with `auto`)."""
    options = options or BayesClassifierOptions()
    inputs = inputs_of(marginals.domain, target, features, "features")
    variable, names = marginals.domain[target], inputs.names
    pairs = len(names) * (len(names) - 1) // 2 if options.model != "naive-bayes" else 0
    steps = 2 * len(names) + pairs
    learned = _Tables(marginals, target, options.alpha)
    for done, name in enumerate(names):
        on_step(done, steps)
        learned.add(name, ())
    told = {name: learned.told(name, ()) for name in names}
    between = {}
    if pairs:
        between = dependences(
            marginals, target, names, lambda done, _: on_step(len(names) + done, steps)
        )
    parents = parents_of(options, names, told, between)
    attributes = []
    for done, name in enumerate(names):
        on_step(len(names) + pairs + done, steps)
        learned.add(name, parents[name])
        attributes.append(learned.attribute(name, parents[name]))
    evidence, weight = None, 1.0
    if options.model == "auto":
        evidence = learned.evidence(parents, lambda: on_step(steps, steps))
        weight = evidence.weight(names) * learned.confirmed(names)
    on_step(steps, steps)
    classifier = BayesClassifier(
        inputs,
        variable,
        _chosen(options, parents),
        learned.prior,
        tuple(attributes),
        options,
        marginals.records,
        weight=weight,
    )
    return classifier, evidence


def _chosen(options: BayesClassifierOptions, parents: dict[str, tuple[str, ...]]) -> ChosenModel:
    if options.model != "auto":
        return options.model
    return "tan" if any(parents.values()) else "naive-bayes"


class _Tables:
    """The families of a classifier as they are learned, those given the class alone first."""

    def __init__(self, marginals: Marginals, target: str, alpha: float):
        self._marginals, self._target, self._alpha = marginals, target, alpha
        self._families: dict[tuple[str, tuple[str, ...]], LearnedFamily] = {}
        self._cautious: dict[str, Tensor] = {}
        # Nothing is surer than the classes' own shares, so noise leaves them as they are.
        self.prior = learn_family(marginals.marginal([target]), target, ())

    def add(self, name: str, parents: tuple[str, ...]) -> None:
        """Learn an attribute given the class and the parents."""
        if (name, parents) in self._families:
            return
        scope = (self._target, *parents)
        table = self._marginals.marginal([*scope, name])
        family = told = learn_family(table, name, scope)
        unbiased = self._marginals.unbiased([*scope, name])
        kept, cautious = 1.0, family.probability
        towards = self._towards(name, parents, table)
        if is_raw(table, unbiased):
            whole = share_kept(table, 1 if parents else 0)
            kept, cautious = half_kept(whole), towards + whole * (cautious - towards)
        elif unbiased is not None:
            told = half_way(family, learn_family(unbiased, name, scope))
        if not parents:
            self._cautious[name] = cautious
        shares = conditional(told, table.counts.sum(axis=-1), towards, kept, self._alpha)
        self._families[name, parents] = replace(family, probability=shares)

    def _towards(self, name: str, parents: tuple[str, ...], table: MarginalTable) -> Tensor:
        """Return what noisy rows are moved to: the attribute's own shares, or given the class."""
        if parents:
            given = self._families[name, ()].probability
            given = np.expand_dims(given, tuple(range(1, table.counts.ndim - 1)))
        else:
            given = valid_shares(table.counts.sum(axis=0))
        return np.broadcast_to(given, table.counts.shape)

    def told(self, name: str, parents: tuple[str, ...]) -> float:
        """Return what an attribute tells of the class given its parents, in nats."""
        family = self._families[name, parents].probability
        scope = (self._target, *parents)
        weights = self.prior.probability
        if parents:
            weights = valid_shares(self._marginals.marginal(scope).counts)
        joint = family * weights[..., None]
        # (class, parents, attribute) as (parents, class, attribute).
        return information(np.moveaxis(joint.reshape(len(joint), -1, joint.shape[-1]), 1, 0))

    def evidence(self, parents: Mapping[str, tuple[str, ...]], tick: Tick) -> AttributeRedundancy:
        """Return how far attributes repeat each other."""
        tables = {name: self._families[name, ()].probability for name in parents}
        linked = frozenset(frozenset((n, p)) for n, own in parents.items() for p in own)
        return learn_redundancy(self._marginals, self.prior.probability, tables, linked, tick)

    def confirmed(self, names: Sequence[str]) -> float:
        """Return the share of what attributes say of the class that is more than noise, (0, 1]."""
        prior = self.prior.probability[:, None]
        claimed = confirmed = noise = 0.0
        for name in names:
            own = self._families[name, ()].probability
            scores = np.log(np.maximum(own, np.finfo(float).tiny))
            scores -= (prior * scores).sum(axis=0)
            claimed += float((prior * own * scores).sum())
            confirmed += float((prior * self._cautious[name] * scores).sum())
            scope = [self._target, name]
            table = self._marginals.unbiased(scope) or self._marginals.marginal(scope)
            error = table.covariance_of(scores[None], population=False)[0, 0]
            noise += max(float(error), 0.0) / table.records**2
        if claimed <= 0 or noise <= _ROUNDING * claimed**2:
            return 1.0
        shares = np.linspace(0.0, 1.0, _SHARES)[1:]
        density = -np.square(confirmed - shares * claimed) / (2 * noise)
        density = np.exp(density - density.max())
        return float(shares @ density / density.sum())

    def attribute(self, name: str, parents: tuple[str, ...]) -> Attribute:
        """Return what was learned of an attribute."""
        return Attribute(self._families[name, parents], self.told(name, parents) / math.log(2))


# How sure it is what an attribute tells of the class, by the errors of its probabilities.


_DRAWS, _FEWEST, _NUMBERS = 200, 40, 1 << 21
"""How often probabilities are drawn anew, at least and of large tables, and numbers in all."""


def information_error(model: BayesClassifier, attribute: Attribute) -> float | None:
    """Return the standard error of what an attribute tells of the class, in bits.

    The attribute's shares are drawn around themselves by their standard errors against the
    population, and the information is how far these scatter; so it is told near 0, too, where a
    slope says nothing. Errors of one row of shares sum to 0, those of different rows are taken as
    independent, and how frequent the classes are as known.

    Returns:
        None where some share that counts has no error.
    """
    family = attribute.family
    weights = model.network.marginal(family.parents)[..., None]
    errors = np.where(weights > 0, family.se, 0.0)
    if not np.isfinite(errors).all():
        return None
    own = _apart(errors)
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


def _apart(errors: Tensor) -> Tensor:
    """Return errors of independent numbers that, less their mean in each row, have these errors."""
    size = errors.shape[-1]
    if size < 2:
        return np.zeros_like(errors)
    squares = errors**2
    total = squares.sum(axis=-1, keepdims=True) * size / (size - 1)
    if size == 2:
        return np.broadcast_to(np.sqrt(total / 2), squares.shape)
    found: Tensor = np.sqrt(np.maximum(squares - total / size**2, 0.0) / (1 - 2 / size))
    return found
