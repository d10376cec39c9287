"""Subpopulations by a model of the joint distribution, for trees on reports of few variables.

Where no reports have the table of a path's attributes with one more and the class, a Bayesian
network classifier expects it. Its counts are exact inference, and their error is that of bootstrap
samples of its tables; no error covers the model's assumptions. Redundant attributes count for less,
as in a prediction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from pramana_core.domain import Domain
from pramana_core.errors import OptionError
from pramana_core.learn.bayes_classifier.redundancy import AttributeRedundancy
from pramana_core.learn.bayes_classifier.replicates import Replicates
from pramana_core.marginals.counts import Tensor

_LEAST = 1e-300
"""The least share that is raised to a power."""


@dataclass(frozen=True, eq=False)
class ModelledSubtable:
    """Expected counts within a subpopulation.

    `samples` returns those of the samples, (samples, cells...); `records` are all records.
    """

    domain: Domain
    counts: Tensor
    records: int
    samples: Callable[[], Tensor]
    counted = False

    def covariance(self, *, population: bool) -> Tensor:
        """Return the covariance of the counts, a row per cell in C order.

        Against the population it is that of the samples. Given the records the multinomial variance
        is subtracted; the rest may be negative, for a model can know an expected count better than
        counting.
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
    """The share of a population that has given categories, by a model and its samples.

    `domain` has the attributes and the class; `records` are all records.
    """

    replicates: Replicates
    domain: Domain
    target: str
    records: int
    redundancy: AttributeRedundancy
    given: Mapping[str, int] = field(default_factory=dict)

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
                f"A model of {self.target!r} has its table alone or after one attribute that is not"
                f" given, not the table over {list(variables)}."
            )
        weight = self.redundancy.weight([*self.given, *attribute])

        def counts(replicates: Replicates) -> Tensor:
            joint = replicates.joint(self.given, attribute)
            shares = joint if attribute else joint[:, :, None]
            weighed = np.moveaxis(_weighed(shares, replicates.prior, weight), 1, -1)
            found: Tensor = self.records * (weighed if attribute else weighed[:, 0])
            return found

        own = counts(self.replicates.own)[0]
        return ModelledSubtable(asked, own, self.records, lambda: counts(self.replicates)[1:])

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


def _weighed(shares: Tensor, prior: Tensor, weight: float) -> Tensor:
    """Return shares (samples, classes, categories) with weighted evidence of the class.

    The share of each category over all classes does not change.
    """
    if weight == 1:
        return shares
    found: Tensor = prior[:, :, None] * np.maximum(shares / prior[:, :, None], _LEAST) ** weight
    found *= shares.sum(axis=1, keepdims=True) / found.sum(axis=1, keepdims=True)
    return found
