"""Learning Bayesian network classifiers from marginals.

Also here:

* Naive Bayes as a linear function: what each category of an attribute adds to a class's score.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pramana_core.errors import DomainError, OptionError
from pramana_core.learn.bayes_classifier.dependence import (
    conditional,
    dependences,
    half_kept,
    half_way,
    information,
    is_raw,
    parents_of,
    share_kept,
    valid_shares,
)
from pramana_core.learn.bayes_classifier.model import Attribute, BayesClassifier, ChosenModel
from pramana_core.learn.bayes_classifier.options import BayesClassifierOptions
from pramana_core.learn.bayes_classifier.replicates import AttributeRedundancy, Replicates, repeated
from pramana_core.learn.networks.bayes_net import LearnedFamily, learn_family
from pramana_core.marginals.counts import Marginals, MarginalTable, Tensor
from pramana_core.progress import Progress, Tick, unwatched


def learn_bayes_classifier(
    marginals: Marginals,
    target: str,
    features: Sequence[str] | None = None,
    options: BayesClassifierOptions | None = None,
    on_step: Progress = unwatched,
) -> BayesClassifier:
    """Learn a classifier of one variable from others.

    Naive Bayes needs the tables of the class with each feature; the tree those with two, and
    `kdb` those with `max_parents` more than one.

    Args:
        marginals: exact or estimated counts.
        target: the class.
        features: what the class is predicted from; by default all other variables.
        options: see `BayesClassifierOptions`.
        on_step: told of the progress; what it raises stops the work.

    Raises:
        UnknownVariable: a variable the marginals do not have.
        OptionError: a feature named twice.
        DomainError: the class among the features, or no features.
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
    names = _features(marginals, target, features)
    variable, inputs = marginals.domain[target], marginals.domain.project(names)
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
    weighed = options.model == "auto"
    evidence = learned.evidence(parents, lambda: on_step(steps, steps)) if weighed else None
    on_step(steps, steps)
    classifier = BayesClassifier(
        inputs,
        variable,
        _chosen(options, parents),
        learned.prior,
        tuple(attributes),
        options,
        marginals.records,
        weight=1.0 if evidence is None else evidence.weight(names),
    )
    return classifier, evidence


def _features(marginals: Marginals, target: str, features: Sequence[str] | None) -> list[str]:
    names = [n for n in marginals.domain.names if n != target] if features is None else [*features]
    if len(set(names)) < len(names):
        raise OptionError("The features name a variable twice.", where="features")
    if not names or target in names:
        raise DomainError(
            f"{target!r} needs one or more other variables to be predicted from.", where=target
        )
    return names


def _chosen(options: BayesClassifierOptions, parents: dict[str, tuple[str, ...]]) -> ChosenModel:
    if options.model != "auto":
        return options.model
    return "tan" if any(parents.values()) else "naive-bayes"


class _Tables:
    """The families of a classifier as they are learned, those given the class alone first."""

    def __init__(self, marginals: Marginals, target: str, alpha: float):
        self._marginals, self._target, self._alpha = marginals, target, alpha
        self._families: dict[tuple[str, tuple[str, ...]], LearnedFamily] = {}
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
        kept = 1.0
        if is_raw(table, unbiased):
            kept = half_kept(share_kept(table, 1 if parents else 0))
        elif unbiased is not None:
            told = half_way(family, learn_family(unbiased, name, scope))
        margin = table.counts.sum(axis=-1)
        shares = conditional(told, margin, self._towards(name, parents, table), kept, self._alpha)
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
        return repeated(self._marginals, self.prior.probability, tables, linked, tick)

    def attribute(self, name: str, parents: tuple[str, ...]) -> Attribute:
        """Return what was learned of an attribute."""
        return Attribute(self._families[name, parents], self.told(name, parents) / math.log(2))


# Naive Bayes as a linear function: what each category of an attribute adds to a class's score.
#
# The logarithm of P(class, x) is a sum of one number of each attribute. Its differences between the
# classes are the only ones that predict, and they are the multinomial logistic regression that fits
# the model's joint distribution best: exactly, for there its loss is least (Ng and Jordan 2002).


@dataclass(frozen=True, eq=False)
class LogOdds:
    """The scores of some classes, less their mean over these classes, by bootstrap samples.

    The first of each array is the model's own.

    Attributes:
        prior: shape (1 + draws, classes).
        tables: what each category adds, by attribute, (1 + draws, classes, categories).
    """

    prior: Tensor
    tables: Mapping[str, Tensor]


def log_odds(replicates: Replicates, classes: Sequence[int], weight: float = 1.0) -> LogOdds:
    """Return the scores of naive Bayes.

    A sample moves a logarithm as it moves the probability, to first order: that of a category
    hardly ever met may be 0 in a sample.

    Args:
        replicates: of a classifier whose attributes depend on the class alone.
        classes: which are told apart.
        weight: how much the attributes count (`BayesClassifier.weight`).
    """
    places = list(classes)
    return LogOdds(
        _centred(replicates.prior[:, places]),
        {name: weight * _centred(table[:, places]) for name, table in replicates.tables.items()},
    )


def _centred(shares: Tensor) -> Tensor:
    """Return logarithms less their mean over the classes (axis 1)."""
    logs = np.log(shares[:1]) + (shares - shares[:1]) / shares[:1]
    found: Tensor = logs - logs.mean(axis=1, keepdims=True)
    return found
