"""Subpopulations by a model of the joint distribution, for trees on reports of few variables.

A Bayesian network classifier expects the counts that no reports have. Errors are those of bootstrap
samples of its tables; none covers the model's assumptions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pramana_core.domain import Domain
from pramana_core.errors import OptionError
from pramana_core.learn.bayes_classifier.redundancy import AttributeRedundancy
from pramana_core.learn.bayes_classifier.replicates import Replicates
from pramana_core.marginals.counts import Tensor
from pramana_core.marginals.subpopulations import Subpopulation, Subtable

_LEAST = 1e-300
"""The least share that is raised to a power."""


def modelled_subpopulation(
    replicates: Replicates,
    domain: Domain,
    target: str,
    records: int,
    redundancy: AttributeRedundancy,
) -> Subpopulation:
    """Return all records as a model and its samples have them; `domain` has attributes and class.

    Tables within it are of the class, alone or after one attribute.
    """
    return Subpopulation(domain, _ModelTables(replicates, target, records, redundancy))


@dataclass(frozen=True, eq=False)
class _ModelTables:
    """Expected counts within subpopulations."""

    replicates: Replicates
    target: str
    records: int
    redundancy: AttributeRedundancy

    def __call__(self, given: Mapping[str, int], asked: Domain) -> Subtable:
        """Return a table. Raises OptionError unless the class is its last variable of two at most.

        The covariance may become negative: a model that pools other records can know an expected
        count better than counting.
        """
        *attribute, last = asked.names
        if last != self.target or len(attribute) > 1:
            raise OptionError(
                f"A model of {self.target!r} has its table alone or after one attribute, not the"
                f" table over {list(asked.names)}."
            )
        weight = self.redundancy.weight([*given, *attribute])

        def counts(replicates: Replicates) -> Tensor:
            joint = replicates.joint(given, attribute)
            shares = joint if attribute else joint[:, :, None]
            weighed = np.moveaxis(_weighed(shares, replicates.prior, weight), 1, -1)
            found: Tensor = self.records * (weighed if attribute else weighed[:, 0])
            return found

        own = counts(self.replicates.own)[0]

        def error() -> Tensor:
            samples, flat = counts(self.replicates)[1:].reshape(-1, own.size), own.ravel()
            spread = np.atleast_2d(np.cov(samples, rowvar=False))
            return np.asarray(spread - np.diag(flat) + np.outer(flat, flat) / self.records)

        return Subtable(asked, own, self.records, error, counted=False)


def _weighed(shares: Tensor, prior: Tensor, weight: float) -> Tensor:
    """Return shares (samples, classes, categories) with weighted evidence of the class."""
    if weight == 1:
        return shares
    found: Tensor = prior[:, :, None] * np.maximum(shares / prior[:, :, None], _LEAST) ** weight
    found *= shares.sum(axis=1, keepdims=True) / found.sum(axis=1, keepdims=True)
    return found
