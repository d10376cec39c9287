"""Subpopulations by a model of the joint distribution, for trees on reports of few variables.

Where each record reports a few of its variables, no reports have the table of a path's attributes
with one more and the class. A Bayesian network classifier has it, learned from the pairs and
triples that are reported: its counts for a path are exact inference, and their error is that of
bootstrap samples of its tables. Redundant attributes count for less, as in a prediction. No error
covers the assumption that the class and the attributes depend on each other as the model says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from pramana_core.domain import Domain
from pramana_core.errors import OptionError
from pramana_core.learn.bayes_classifier.redundancy import AttributeRedundancy
from pramana_core.learn.bayes_classifier.replicates import Replicates
from pramana_core.marginals.counts import Tensor
from pramana_core.marginals.subpopulations import Subpopulation, Subtable

_LEAST = 1e-300
"""The least share that is raised to a power."""

_Shares = dict[str, Tensor]


def modelled_subpopulation(
    replicates: Replicates,
    domain: Domain,
    target: str,
    records: int,
    redundancy: AttributeRedundancy,
) -> Subpopulation:
    """Return all records as a model has them.

    Tables within it are of the class, alone or after one attribute.

    Args:
        replicates: the model and its bootstrap samples.
        domain: the attributes, in any order, and the class.
        target: the class.
        records: the number of all records.
        redundancy: of the attributes.
    """
    return Subpopulation(domain, _ModelTables(replicates, target, records, redundancy))


@dataclass(eq=False)
class _ModelTables:
    """Expected counts within subpopulations; the shares of the last one are kept."""

    replicates: Replicates
    target: str
    records: int
    redundancy: AttributeRedundancy
    _known: dict[str, tuple[Mapping[str, int], _Shares]] = field(default_factory=dict)

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
        name = attribute[0] if attribute else next(iter(self.replicates.own.parents))
        known = [*given, *attribute]

        def counts(shares: Tensor, prior: Tensor) -> Tensor:
            kept = shares if attribute else shares.sum(axis=-1, keepdims=True)
            weighed = np.moveaxis(_weighed(kept, prior, self.redundancy.weight(known)), 1, -1)
            found: Tensor = self.records * (weighed if attribute else weighed[:, 0])
            return found

        own = counts(self._with_class("own", given)[name], self.replicates.own.prior)[0]

        def error() -> Tensor:
            shares = self._with_class("sampled", given)[name]
            samples = counts(shares, self.replicates.prior)[1:].reshape(-1, own.size)
            flat = own.ravel()
            spread = np.atleast_2d(np.cov(samples, rowvar=False))
            return np.asarray(spread - np.diag(flat) + np.outer(flat, flat) / self.records)

        return Subtable(asked, own, self.records, error, counted=False)

    def _with_class(self, kind: str, given: Mapping[str, int]) -> _Shares:
        if kind not in self._known or self._known[kind][0] is not given:
            source = self.replicates.own if kind == "own" else self.replicates
            self._known[kind] = given, source.with_class(given)
        return self._known[kind][1]


def _weighed(shares: Tensor, prior: Tensor, weight: float) -> Tensor:
    """Return shares (samples, classes, categories) with weighted evidence of the class.

    The share of each category over all classes does not change.
    """
    if weight == 1:
        return shares
    found: Tensor = prior[:, :, None] * np.maximum(shares / prior[:, :, None], _LEAST) ** weight
    found *= shares.sum(axis=1, keepdims=True) / found.sum(axis=1, keepdims=True)
    return found
