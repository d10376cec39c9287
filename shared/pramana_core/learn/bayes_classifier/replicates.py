"""A classifier's tables with those of bootstrap samples, and the messages of part of a record.

All tables are computed together, so that every result has its error: the first of each array is the
classifier's own, the others are those of the samples.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pramana_core.learn.bayes_classifier.model import BayesClassifier
from pramana_core.learn.common.distributions import project_to_simplex, stream
from pramana_core.learn.networks.bayes_net import LearnedFamily
from pramana_core.marginals.counts import Marginals, Tensor
from pramana_core.progress import Tick, no_cancel

DRAWS = 100
"""The number of bootstrap samples: a standard error then errs by 7 %."""

_LEAST_SHARE = 1e-12


@dataclass(frozen=True, eq=False)
class Replicates:
    """The tables of a classifier whose attributes depend on one other at most.

    Attributes:
        prior: the probabilities of the classes, (1 + draws, classes).
        parents: the parent of each attribute besides the class, parents before children.
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
        """Return the tables of a classifier learned from these marginals.

        To first order a sample moves a probability as it moves the estimated ratio of counts.
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

    @cached_property
    def own(self) -> Replicates:
        """The classifier's own tables."""
        tables = {name: table[:1] for name, table in self.tables.items()}
        return Replicates(self.prior[:1], self.parents, tables)

    def with_class(
        self, given: Mapping[str, int], asked: Collection[str] | None = None
    ) -> dict[str, Tensor]:
        """Return the joint probability of given categories with each class and each attribute.

        Messages are passed once up and once down the trees of attributes (Pearl 1988, 4.2).

        Args:
            given: codes of some attributes.
            asked: the other attributes; by default all.

        Returns:
            By attribute, (1 + draws, classes, categories).
        """
        known, messages = self._upward(given)
        every = self.prior
        for name, parent in self.parents.items():
            if parent is None and name in messages:
                every = every * messages[name]
        found: dict[str, Tensor] = {}
        needed = self._needed(self.parents if asked is None else asked)
        for name, parent in self.parents.items():
            if name not in needed:
                continue
            whole = every if parent is None else found[parent]
            rest = whole / messages[name] if name in messages else whole
            if parent is None:
                whole = rest[:, :, None] * self.tables[name]
            else:
                whole = (rest[:, :, None, :] @ self.tables[name])[:, :, 0, :]
            found[name] = whole * known[name] if name in known else whole
        return found

    def _needed(self, asked: Collection[str]) -> set[str]:
        """Return some attributes and their ancestors."""
        found: set[str] = set()
        for name in asked:
            at: str | None = name
            while at is not None and at not in found:
                found.add(at)
                at = self.parents[at]
        return found

    def _upward(self, given: Mapping[str, int]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Return the evidence at and below each attribute, and the message to its parent."""
        known: dict[str, Tensor] = {}
        messages: dict[str, Tensor] = {}
        needed = self._needed(given)
        for name in reversed(tuple(self.parents)):
            if name not in needed:
                continue
            table = self.tables[name]
            parts = [messages[child] for child in self._children[name] if child in messages]
            if name in given:
                parts.append((np.arange(table.shape[-1]) == given[name])[None, None, :] * 1.0)
            product = functools.reduce(np.multiply, parts)
            known[name] = product
            inserted = product if table.ndim == product.ndim else product[:, :, None, :]
            messages[name] = (table * inserted).sum(axis=-1)
        return known, messages


def _replicated(family: LearnedFamily, marginals: Marginals, draws: int, number: int) -> Tensor:
    """Return a family's distributions and those of the samples, all positive."""
    table = marginals.marginal([*family.parents, family.node])
    counts = table.counts
    margin = counts.sum(axis=-1, keepdims=True)
    # The margin of a rare class may be estimated as 0; its noise bounds it below.
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
