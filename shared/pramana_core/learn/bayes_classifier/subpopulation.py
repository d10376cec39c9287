"""Subpopulations whose counts come from a model, for trees on reports of few variables.

A Bayesian network classifier gives the expected counts of tables that no reports contain. Errors
come from bootstrap samples of its tables, and do not cover wrong assumptions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pramana_core.domain import Domain
from pramana_core.errors import OptionError
from pramana_core.learn.bayes_classifier.redundancy import AttributeRedundancy
from pramana_core.learn.bayes_classifier.replicates import Replicates
from pramana_core.marginals.counts import Codes, Tensor
from pramana_core.marginals.subpopulations import Subpopulation, Subtable

_LEAST = 1e-300
"""Smaller shares are replaced by this one before they are raised to a power."""


def modelled_subpopulation(
    replicates: Replicates,
    domain: Domain,
    target: str,
    records: int,
    redundancy: AttributeRedundancy,
) -> Subpopulation:
    """Return all records as a subpopulation with the counts that a model expects.

    `domain` has the attributes and the class. Only tables of the class, and of an attribute and
    the class, can be computed.
    """
    return Subpopulation(domain, _ModelTables(replicates, target, records, redundancy))


@dataclass(frozen=True, eq=False)
class _ModelTables:
    replicates: Replicates
    target: str
    records: int
    redundancy: AttributeRedundancy

    def __call__(self, given: Mapping[str, int], wanted: Domain) -> Subtable:
        """Return a table of the class, or of one attribute and the class. Raises OptionError.

        The covariance given the records may be negative: a model also uses other records, so its
        expected count can have a smaller variance than a count of the node's own records.
        """
        *attribute, last = wanted.names
        if last != self.target or len(attribute) > 1:
            raise OptionError(
                f"The model can give the table of {self.target!r} alone or with one attribute,"
                f" but not the table of {list(wanted.names)}."
            )
        weight = self.redundancy.weight([*given, *attribute])

        def counts(replicates: Replicates) -> Tensor:
            joint = replicates.joint(given, attribute)
            shares = joint if attribute else joint[:, :, None]
            weighed = np.moveaxis(_weighed(shares, replicates.prior, weight), 1, -1)
            expected: Tensor = self.records * (weighed if attribute else weighed[:, 0])
            return expected

        own = counts(self.replicates.own)[0]

        def error() -> Tensor:
            samples, flat = counts(self.replicates)[1:].reshape(-1, own.size), own.ravel()
            spread = np.atleast_2d(np.cov(samples, rowvar=False))
            return np.asarray(spread - np.diag(flat) + np.outer(flat, flat) / self.records)

        return Subtable(wanted, own, self.records, error, counted=False)


def expected_counts(
    replicates: Replicates,
    names: Sequence[str],
    records: int,
    redundancy: AttributeRedundancy,
    codes: Codes,
) -> list[Tensor]:
    """Return the counts of each attribute and the class in n subpopulations, without their errors.

    `codes`, (n, attributes), has the given code of each of the attributes `names`, or -1. The
    counts are those of `modelled_subpopulation`, (n, classes, categories).
    """
    joints = replicates.own_joints(dict(zip(names, codes.T, strict=True)))
    weights = redundancy.weights(names, codes >= 0).T[:, :, None, None]
    return [
        records * _weighed(np.moveaxis(joints[name], 2, 0), replicates.prior[:1], weight)
        for name, weight in zip(names, weights, strict=True)
    ]


def _weighed(shares: Tensor, prior: Tensor, weight: float | Tensor) -> Tensor:
    if np.all(weight == 1):
        return shares
    found: Tensor = prior[:, :, None] * np.maximum(shares / prior[:, :, None], _LEAST) ** weight
    found *= shares.sum(axis=1, keepdims=True) / found.sum(axis=1, keepdims=True)
    return found
