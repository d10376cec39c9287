"""Subpopulations by a model of the joint distribution: for trees that no reports tell directly.

Where each record reports a few of its variables, no report tells the table of a path's attributes
with one more and the class. A Bayesian network classifier does, which is learned from the pairs
(and triples) that are reported: what follows from it for a path is exact, and its error is that of
its tables, by bootstrap samples of them. Attributes that repeat each other count for less, those of
a path as all of them do in a prediction (`Repeated`).

That the class and the attributes depend on each other as the model says is an assumption, and no
error speaks of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pramana_core.domain import Domain
from pramana_core.errors import OptionError
from pramana_core.learn.bayes_classifier.evidence import Repeated
from pramana_core.learn.bayes_classifier.replicates import Replicates
from pramana_core.marginals.counts import Tensor

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
        repeated: how far attributes repeat each other.
    """

    own: Replicates
    replicates: Replicates
    domain: Domain
    target: str
    records: int
    given: Mapping[str, int]
    repeated: Repeated

    @classmethod
    def everyone(
        cls, replicates: Replicates, domain: Domain, target: str, records: int, repeated: Repeated
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
