"""A classifier's tables beside those of bootstrap samples, and what follows of part of a record.

Whatever is computed from the tables is computed from all of them at once, so that its error is
known as soon as it is: the first of each array is the classifier's own.

Also here:

* How much what all attributes tell of the class together counts, for they repeat each other.
* Subpopulations by a model of the joint distribution: for trees that no reports tell directly.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import log_ndtr

from pramana_core.domain import Domain
from pramana_core.errors import OptionError
from pramana_core.learn.bayes_classifier.model import BayesClassifier
from pramana_core.learn.common.documents import project_to_simplex, stream
from pramana_core.learn.networks.bayes_net import LearnedFamily
from pramana_core.marginals.counts import Marginals, Tensor
from pramana_core.progress import Tick, no_cancel

DRAWS = 100
"""Bootstrap samples: the error of a standard error is then 7 % of it."""

_LEAST_SHARE = 1e-12


@dataclass(frozen=True, eq=False)
class Replicates:
    """The tables of a classifier of which each attribute depends on one other at most.

    Attributes:
        prior: the probabilities of the classes, (1 + draws, classes).
        parents: the attribute that each depends on besides the class, parents before children.
        tables: the conditional distributions, (1 + draws, classes, [parent's categories,]
            categories), all positive.
    """

    prior: Tensor
    parents: Mapping[str, str | None]
    tables: Mapping[str, Tensor]

    @classmethod
    def of(
        cls,
        classifier: BayesClassifier,
        marginals: Marginals,
        draws: int = DRAWS,
        tick: Tick = no_cancel,
    ) -> Replicates:
        """Return the tables of a classifier that was learned from these marginals.

        A sample moves a probability as it moves the estimated ratio of counts, to first order.
        """
        families = {attribute.name: attribute.family for attribute in classifier.attributes}
        parents: dict[str, str | None] = {}
        for name in classifier.network.structure.order:
            if name in families:
                own = families[name].parents[1:]
                parents[name] = own[0] if own else None
        tables = {}
        for number, (name, family) in enumerate(families.items(), start=1):
            tick()
            tables[name] = _replicated(family, marginals, draws, number)
        return cls(_replicated(classifier.prior, marginals, draws, 0), parents, tables)

    @cached_property
    def _children(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {name: [] for name in self.parents}
        for name, parent in self.parents.items():
            if parent is not None:
                found[parent].append(name)
        return found

    @property
    def own(self) -> Replicates:
        """The classifier's own tables alone."""
        tables = {name: table[:1] for name, table in self.tables.items()}
        return Replicates(self.prior[:1], self.parents, tables)

    def with_class(
        self, given: Mapping[str, int], asked: Collection[str] | None = None
    ) -> dict[str, Tensor]:
        """Return the probability of given categories, together with each class and each attribute.

        By passing messages in the trees of attributes, once up and once down (Pearl 1988, 4.2); the
        cost is that of the tables.

        Args:
            given: codes of some attributes.
            asked: the attributes; by default all.

        Returns:
            By attribute, (1 + draws, classes, categories).
        """
        known, told = self._upward(given)
        every = self.prior
        for name, parent in self.parents.items():
            if parent is None and name in told:
                every = every * told[name]
        found: dict[str, Tensor] = {}
        needed = self._needed(self.parents if asked is None else asked)
        for name, parent in self.parents.items():
            if name not in needed:
                continue
            whole = every if parent is None else found[parent]
            rest = whole / told[name] if name in told else whole
            if parent is None:
                whole = rest[:, :, None] * self.tables[name]
            else:
                whole = (rest[:, :, None, :] @ self.tables[name])[:, :, 0, :]
            found[name] = whole * known[name] if name in known else whole
        return found

    def _needed(self, asked: Collection[str]) -> set[str]:
        """Return some attributes and all that they depend on."""
        found: set[str] = set()
        for name in asked:
            at: str | None = name
            while at is not None and at not in found:
                found.add(at)
                at = self.parents[at]
        return found

    def _upward(self, given: Mapping[str, int]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Return what is known at and below attributes, and what of it their parents are told."""
        known: dict[str, Tensor] = {}
        told: dict[str, Tensor] = {}
        needed = self._needed(given)
        for name in reversed(tuple(self.parents)):
            if name not in needed:
                continue
            table = self.tables[name]
            parts = [told[child] for child in self._children[name] if child in told]
            if name in given:
                parts.append((np.arange(table.shape[-1]) == given[name])[None, None, :] * 1.0)
            product = functools.reduce(np.multiply, parts)
            known[name] = product
            inserted = product if table.ndim == product.ndim else product[:, :, None, :]
            told[name] = (table * inserted).sum(axis=-1)
        return known, told


def _replicated(family: LearnedFamily, marginals: Marginals, draws: int, number: int) -> Tensor:
    """Return a family's distributions and those of the samples, all positive."""
    table = marginals.marginal([*family.parents, family.node])
    counts = table.counts
    margin = counts.sum(axis=-1, keepdims=True)
    # The margin of a rare class may be estimated as none; then its noise is the least it can be.
    noise = np.maximum(table.variance(population=True).sum(axis=-1, keepdims=True), 0.0)
    size = np.maximum(margin, np.sqrt(noise))
    moved = table.resampled(draws, stream(number)) - counts
    own = family.probability
    ratio = moved - own * moved.sum(axis=-1, keepdims=True)
    ratio = np.divide(ratio, size, out=np.zeros_like(ratio), where=size > 0)
    drawn = project_to_simplex(own + ratio)
    every = np.concatenate([own[None], drawn])
    positive = np.maximum(every, _LEAST_SHARE)
    found: Tensor = positive / positive.sum(axis=-1, keepdims=True)
    return found


# How much what all attributes tell of the class together counts, for they repeat each other.
#
# Naive Bayes adds up the logarithms of its odds as if the attributes were independent given the
# class. Where they repeat each other, as education and occupation do, their sum varies more within
# a class than it supposes, and says too much against the classes' own shares. The best linear rule
# of the sum weighs it with the variance that independence supposes over that which it has (Fisher's
# discriminant, of one variable).
#
# The surplus variance is a sum over the pairs of attributes. Of reports of few variables each pair
# tells next to nothing, but all together do: what is estimated is one correlation for all, by
# weighted least squares, as the mean of its posterior under a half-normal prior: attributes of
# tables that were observed seldom disagree beyond the class.

_USUAL = 0.2
"""The scale of the prior: so far attributes are usually correlated given the class."""


@dataclass(frozen=True)
class AttributeRedundancy:
    """How far attributes repeat each other within the classes.

    Attributes:
        correlation: that of what any two of them say, but those that are linked.
        within: the variance within the classes of what each says.
        linked: pairs of attributes that the network joins: what they repeat is taken off there.
    """

    correlation: float
    within: Mapping[str, float]
    linked: frozenset[frozenset[str]] = frozenset()

    def weight(self, names: Collection[str]) -> float:
        """Return the weight, in (0, 1], of the sum of what some attributes say."""
        own = sum(self.within[name] for name in names) if self.correlation else 0.0
        if own <= 0:
            return 1.0
        pairs = itertools.combinations(names, 2)
        both = sum(self._both(*pair) for pair in pairs if frozenset(pair) not in self.linked)
        return own / (own + 2 * self.correlation * both)

    def _both(self, first: str, second: str) -> float:
        return math.sqrt(self.within[first] * self.within[second])


UNKNOWN = AttributeRedundancy(0.0, {})
"""Of attributes of which nothing is known to be repeated."""


def repeated(
    marginals: Marginals,
    prior: Tensor,
    tables: Mapping[str, Tensor],
    linked: frozenset[frozenset[str]] = frozenset(),
    tick: Tick = no_cancel,
) -> AttributeRedundancy:
    """Return how far attributes repeat each other.

    The correlation is 0 where no reports tell two attributes together, and where no pair is
    randomized: then the tree says what repeats what.

    Args:
        marginals: the counts.
        prior: the probabilities of the classes.
        tables: those of each attribute given the class, (classes, categories), all positive.
        linked: pairs of attributes that the network joins.
        tick: called before each pair; what it raises stops the work.
    """
    scores = {n: np.log(t) - np.log(t).mean(axis=0) for n, t in tables.items()}
    within = {n: _within(prior, tables[n], scores[n]) for n in tables}
    told, known, noisy = 0.0, 0.0, False
    for first, second in itertools.combinations(tables, 2):
        tick()
        if {first, second} in linked:
            continue
        table = (
            marginals.unbiased([first, second]) if marginals.can_estimate([first, second]) else None
        )
        if table is None:
            continue
        both = math.sqrt(within[first] * within[second])
        products = scores[first].T @ scores[second]
        independent = (tables[first] * prior[:, None]).T @ tables[second]
        surplus = float(((table.counts / table.records - independent) * products).sum())
        noise = float(table.covariance_of(products[None], population=True)[0, 0])
        noise /= table.records**2
        if noise > 0:
            told += surplus * both / noise
            known += both * both / noise
        noisy = noisy or bool(table.variance(population=False).max() > 0)
    if not noisy or known == 0:
        return AttributeRedundancy(0.0, within, linked)
    precision = known + 1 / _USUAL**2
    deviate = told / math.sqrt(precision)
    density = math.exp(-(deviate**2) / 2 - float(log_ndtr(deviate))) / math.sqrt(2 * math.pi)
    return AttributeRedundancy((deviate + density) / math.sqrt(precision), within, linked)


def _within(prior: Tensor, table: Tensor, scores: Tensor) -> float:
    """Return the variance within the classes of what an attribute adds, summed over the scores."""
    means = scores @ table.T
    return float(((np.square(scores) @ table.T - np.square(means)) @ prior).sum())


# Subpopulations by a model of the joint distribution: for trees that no reports tell directly.
#
# Where each record reports a few of its variables, no report tells the table of a path's attributes
# with one more and the class. A Bayesian network classifier does, which is learned from the pairs
# (and triples) that are reported: what follows from it for a path is exact, and its error is that
# of its tables, by bootstrap samples of them. Attributes that repeat each other count for less,
# those of a path as all of them do in a prediction (`AttributeRedundancy`).
#
# That the class and the attributes depend on each other as the model says is an assumption, and no
# error speaks of it.

_LEAST = 1e-300
"""What stands for a share of 0 that is raised to a power."""


@dataclass(frozen=True, eq=False)
class ModelledSubtable:
    """Expected counts within a subpopulation, by the model and by its bootstrap samples.

    Attributes:
        domain: the variables, one per axis of `counts`.
        counts: the model's own expected counts; none is negative.
        records: the number of all records.
        samples: makes the counts that the samples expect, (samples, cells...).
    """

    domain: Domain
    counts: Tensor
    records: int
    samples: Callable[[], Tensor]
    counted = False

    def covariance(self, *, population: bool) -> Tensor:
        """Return the covariance of the counts, a row per cell in C order.

        Against the population it is that of the samples. Given the records it is less by what
        drawing the records adds to counts: a model that borrows from other records may know an
        expected count better than counting would, and this is negative then.
        """
        flat = self.counts.ravel()
        if population:
            return self._every
        return self._every - np.diag(flat) + np.outer(flat, flat) / self.records

    @cached_property
    def _every(self) -> Tensor:
        samples = self.samples()
        found: Tensor = np.atleast_2d(np.cov(samples.reshape(len(samples), -1), rowvar=False))
        return found


@dataclass(frozen=True, eq=False)
class ModelledSubpopulation:
    """The share of a population that has given categories, as a model of the joint has it.

    Attributes:
        own: the model.
        replicates: the model and its samples.
        domain: the attributes, in any order, and the class.
        target: the class.
        records: the number of all records.
        given: the codes of the given categories, by attribute.
        repeated: how far attributes repeat each other.
    """

    own: Replicates
    replicates: Replicates
    domain: Domain
    target: str
    records: int
    given: Mapping[str, int]
    repeated: AttributeRedundancy

    @classmethod
    def everyone(
        cls,
        replicates: Replicates,
        domain: Domain,
        target: str,
        records: int,
        repeated: AttributeRedundancy,
    ) -> ModelledSubpopulation:
        """Return the whole population."""
        return cls(replicates.own, replicates, domain, target, records, {}, repeated)

    def table(self, variables: Sequence[str]) -> ModelledSubtable:
        """Return the expected counts of the class, or of an attribute and the class.

        Raises:
            UnknownVariable: an attribute that the model does not have.
            OptionError: other variables, or one that is given.
        """
        asked = self.domain.project(variables)
        *attribute, last = variables
        if last != self.target or len(attribute) > 1 or set(attribute) & set(self.given):
            raise OptionError(
                f"A model of {self.target!r} gives its table, alone or after one attribute that is"
                f" not given, not that over {list(variables)}."
            )
        name = attribute[0] if attribute else next(iter(self.own.parents))
        summed = not attribute

        known = list(self.given) if summed else [*self.given, name]

        def counts(shares: Tensor, prior: Tensor) -> Tensor:
            kept = shares.sum(axis=-1, keepdims=True) if summed else shares
            weighed = np.moveaxis(_weighed(kept, prior, self.repeated.weight(known)), 1, -1)
            found: Tensor = self.records * (weighed[:, 0] if summed else weighed)
            return found

        def samples() -> Tensor:
            return counts(self._sampled[name], self.replicates.prior)[1:]

        own = counts(self._shares[name], self.own.prior)[0]
        return ModelledSubtable(asked, own, self.records, samples)

    def within(self, variable: str, code: int) -> ModelledSubpopulation:
        """Return the share that also has a category of another attribute.

        Raises:
            OptionError: it is given already, or has no such category.
        """
        size = self.domain[variable].size
        if variable in self.given or not 0 <= code < size:
            raise OptionError(
                f"{variable!r} is given already, or has no category {code}.", where=variable
            )
        return replace(self, given={**self.given, variable: code})

    @cached_property
    def _shares(self) -> dict[str, Tensor]:
        return self.own.with_class(self.given)

    @cached_property
    def _sampled(self) -> dict[str, Tensor]:
        return self.replicates.with_class(self.given)


def _weighed(shares: Tensor, prior: Tensor, weight: float) -> Tensor:
    """Return shares by class and category in which what the categories say of the class counts so.

    Those of each category, all classes together, stay. Axes: samples, classes, categories.
    """
    if weight == 1:
        return shares
    found: Tensor = prior[:, :, None] * np.maximum(shares / prior[:, :, None], _LEAST) ** weight
    found *= shares.sum(axis=1, keepdims=True) / found.sum(axis=1, keepdims=True)
    return found
