"""Learning Bayesian network classifiers from marginals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from pramana_core.learn.bayes_classifier.information import (
    dependences,
    information,
    parents_of,
    valid_shares,
)
from pramana_core.learn.bayes_classifier.model import Attribute, BayesClassifier
from pramana_core.learn.bayes_classifier.redundancy import AttributeRedundancy, learn_redundancy
from pramana_core.learn.bayes_classifier.shrinkage import (
    conditional,
    is_raw,
    share_kept,
    unshrink_half,
)
from pramana_core.learn.common.inputs import inputs_of
from pramana_core.learn.common.options import BayesClassifierOptions
from pramana_core.learn.networks.bayes_net import LearnedFamily, learn_family
from pramana_core.marginals.counts import Marginals, Tensor
from pramana_core.marginals.tables import MarginalTable
from pramana_core.progress import Progress, Tick, unwatched

_ROUNDING = 1e-9

_SHARES = 1001
"""The number of grid points over which the posterior of a share is summed."""


def learn_bayes_classifier(
    marginals: Marginals,
    target: str,
    features: Sequence[str] | None = None,
    options: BayesClassifierOptions | None = None,
    on_step: Progress = unwatched,
) -> BayesClassifier:
    """Learn a classifier of `target` from exact or estimated counts of `features`.

    The features are by default all other variables. Raises UnknownVariable, OptionError: see
    `inputs_of`. EstimationError, LimitExceeded: see the marginals. `on_step` is called with steps
    done and expected; an exception that it raises stops the learning.
    """
    return learn_with_redundancy(marginals, target, features, options, on_step)[0]


def learn_with_redundancy(
    marginals: Marginals,
    target: str,
    features: Sequence[str] | None = None,
    options: BayesClassifierOptions | None = None,
    on_step: Progress = unwatched,
) -> tuple[BayesClassifier, AttributeRedundancy | None]:
    """Return a classifier and, for the option `auto`, its attributes' redundancy."""
    options = options or BayesClassifierOptions()
    inputs = inputs_of(marginals.domain, target, features, "features")
    variable, names = marginals.domain[target], inputs.names
    pairs = len(names) * (len(names) - 1) // 2 if options.model != "naive-bayes" else 0
    steps = 2 * len(names) + pairs
    learned = _Tables(marginals, target, options.alpha)
    for done, name in enumerate(names):
        on_step(done, steps)
        learned.add(name, ())
    informations = {name: learned.information(name, ()) for name in names}
    between = {}
    if pairs:
        between = dependences(
            marginals, target, names, lambda done, _: on_step(len(names) + done, steps)
        )
    parents = parents_of(options, names, informations, between)
    attributes = []
    for done, name in enumerate(names):
        on_step(len(names) + pairs + done, steps)
        learned.add(name, parents[name])
        attributes.append(learned.attribute(name, parents[name]))
    redundancy, weight = None, 1.0
    if options.model == "auto":
        redundancy = learned.redundancy(parents, lambda: on_step(steps, steps))
        weight = redundancy.weight(names) * learned.confirmed(names)
    on_step(steps, steps)
    classifier = BayesClassifier(
        inputs,
        variable,
        "tan" if options.model == "tan" or any(parents.values()) else "naive-bayes",
        learned.prior,
        tuple(attributes),
        options,
        marginals.records,
        weight=weight,
    )
    return classifier, redundancy


class _Tables:
    """The learned families of a classifier, first those with the class as the only parent."""

    def __init__(self, marginals: Marginals, target: str, alpha: float):
        self._marginals, self._target, self._alpha = marginals, target, alpha
        self._families: dict[tuple[str, tuple[str, ...]], LearnedFamily] = {}
        self._cautious: dict[str, Tensor] = {}
        # The shares of the classes are not shrunk.
        self.prior = learn_family(marginals.marginal([target]), target, ())

    def add(self, name: str, parents: tuple[str, ...]) -> None:
        if (name, parents) in self._families:
            return
        scope = (self._target, *parents)
        table = self._marginals.marginal([*scope, name])
        family = estimated = learn_family(table, name, scope)
        unbiased = self._marginals.unbiased([*scope, name])
        kept, cautious = 1.0, family.probability
        towards = self._towards(name, parents, table)
        if is_raw(table, unbiased):
            whole = share_kept(table, 1 if parents else 0)
            kept, cautious = (1 + whole) / 2, towards + whole * (cautious - towards)
        elif unbiased is not None:
            estimated = unshrink_half(family, learn_family(unbiased, name, scope))
        if not parents:
            self._cautious[name] = cautious
        shares = conditional(estimated, table.counts.sum(axis=-1), towards, kept, self._alpha)
        self._families[name, parents] = replace(family, probability=shares)

    def _towards(self, name: str, parents: tuple[str, ...], table: MarginalTable) -> Tensor:
        if parents:
            given = self._families[name, ()].probability
            given = np.expand_dims(given, tuple(range(1, table.counts.ndim - 1)))
        else:
            given = valid_shares(table.counts.sum(axis=0))
        return np.broadcast_to(given, table.counts.shape)

    def information(self, name: str, parents: tuple[str, ...]) -> float:
        """Return an attribute's information about the class given its other parents, in nats."""
        family = self._families[name, parents].probability
        scope = (self._target, *parents)
        weights = self.prior.probability
        if parents:
            weights = valid_shares(self._marginals.marginal(scope).counts)
        joint = family * weights[..., None]
        # Reorder (class, parents, attribute) to (parents, class, attribute).
        return information(np.moveaxis(joint.reshape(len(joint), -1, joint.shape[-1]), 1, 0))

    def redundancy(self, parents: Mapping[str, tuple[str, ...]], tick: Tick) -> AttributeRedundancy:
        tables = {name: self._families[name, ()].probability for name in parents}
        linked = frozenset(frozenset((n, p)) for n, own in parents.items() for p in own)
        return learn_redundancy(self._marginals, self.prior.probability, tables, linked, tick)

    def confirmed(self, names: Sequence[str]) -> float:
        """Return the share, in (0, 1], of the attributes' evidence that noise does not explain."""
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
        bits = self.information(name, parents) / math.log(2)
        return Attribute(self._families[name, parents], bits)
