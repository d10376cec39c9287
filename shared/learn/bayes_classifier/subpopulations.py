"""Subpopulations by a model of the joint distribution: for trees that no reports tell directly.

Where each record reports a few of its variables, no report tells the table of a path's attributes
with one more and the class. A Bayesian network classifier does, which is learned from the pairs
(and triples) that are reported: what follows from it for a path is exact, and its error is that of
its tables, by bootstrap samples of them.

Splits are not tested in a node, for what an attribute tells there the model takes from all records:
its tables are shrunk as their noise demands, and an attribute that tells nothing beyond it is not
asked. That the class and the attributes depend on each other as
the model says is an assumption, and no error speaks of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from shared.domain import Domain
from shared.errors import OptionError
from shared.learn.bayes_classifier.replicates import Replicates
from shared.marginals.counts import Tensor


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

    def moments_given_cell(self) -> None:
        """Return nothing: no record is in a cell by itself."""


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
    """

    own: Replicates
    replicates: Replicates
    domain: Domain
    target: str
    records: int
    given: Mapping[str, int]

    @classmethod
    def everyone(
        cls, replicates: Replicates, domain: Domain, target: str, records: int
    ) -> ModelledSubpopulation:
        """Return the whole population."""
        return cls(replicates.own, replicates, domain, target, records, {})

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

        def samples() -> Tensor:
            return self._counts(self.replicates.with_class(self.given, [name])[name][1:], summed)

        own = self._counts(self._shares[name], summed)[0]
        return ModelledSubtable(asked, own, self.records, samples)

    def _counts(self, shares: Tensor, summed: bool) -> Tensor:
        """Return counts by category and class, or by class alone, from shares by both."""
        kept = shares.sum(axis=-1) if summed else np.moveaxis(shares, 1, -1)
        counts: Tensor = self.records * kept
        return counts

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
