"""A classifier's tables with bootstrap replicates, for the errors of quantities derived from them.

In each array, entry 0 comes from the classifier and the other entries from bootstrap samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pramana_core.learn.bayes_classifier.model import BayesClassifier
from pramana_core.learn.common.distributions import project_to_simplex, stream
from pramana_core.learn.networks.bayes_net import LearnedFamily
from pramana_core.learn.networks.inference import Factor, elimination_order, sum_out
from pramana_core.marginals.counts import Codes, Marginals, Tensor
from pramana_core.progress import Tick, no_cancel

DRAWS = 100
"""The number of bootstrap samples; standard errors from them have an error of 7 %."""

_LEAST_SHARE = 1e-12

_CLASS = ""
"""The name of the class in factors; no attribute has it, because attributes have nonempty names."""


@dataclass(frozen=True, eq=False)
class Replicates:
    """The tables of a classifier whose attributes have at most one parent in addition to the class.

    Attributes:
        prior: the probabilities of the classes, (1 + draws, classes).
        parents: the parent of each attribute in addition to the class, parents before children.
        tables: positive distributions, (1 + draws, classes, [parent's categories,] categories).
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
        """Return the tables and replicates of a classifier learned from these marginals."""
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
    def own(self) -> Replicates:
        """The tables of the classifier without their replicates."""
        tables = {name: table[:1] for name, table in self.tables.items()}
        return Replicates(self.prior[:1], self.parents, tables)

    def joint(self, given: Mapping[str, int], names: Sequence[str]) -> Tensor:
        """Return the joint probability of the codes `given`, the class and `names`.

        The shape is (1 + draws, classes, sizes of `names`...).
        """
        factors: list[Factor] = [(self.prior, [_CLASS])]
        relevant = self._with_ancestors([*given, *names])
        for name in relevant:
            parent = self.parents[name]
            scope = [name] if parent is None else [parent, name]
            cell = (slice(None), slice(None), *(given.get(n, slice(None)) for n in scope))
            left = [_CLASS, *(n for n in scope if n not in given)]
            factors.append((self.tables[name][cell], left))
        sizes = {name: self.tables[name].shape[-1] for name in relevant}
        sizes[_CLASS] = self.prior.shape[-1]
        free = [name for name in relevant if name not in given and name not in names]
        order, _ = elimination_order([scope for _, scope in factors], sizes, free)
        shares, logs = sum_out(factors, order, [_CLASS, *names], len(self.prior))
        joint: Tensor = shares * np.exp(logs).reshape(-1, *(1 for _ in shares.shape[1:]))
        return joint

    def own_joints(self, given: Mapping[str, Codes]) -> dict[str, Tensor]:
        """Return the joint probabilities of n sets of codes, the class, and each attribute.

        `given` has the n codes of every attribute, -1 if it is not given. The result for each
        attribute has the shape (classes, categories, n). It takes two passes of messages in the
        tree of attributes (Pearl 1988).
        """
        tables, local, messages = {}, {}, {}
        for name, table in self.tables.items():
            tables[name] = table[0] if self.parents[name] is not None else table[0][:, None]
            codes, own = given[name], np.arange(table.shape[-1])[:, None]
            local[name] = ((codes < 0) | (codes == own)).astype(float)[None]
        whole = self.prior[0][:, None]
        for name, parent in reversed([*self.parents.items()]):
            messages[name] = tables[name] @ local[name]
            if parent is None:
                whole = whole * messages[name][:, 0]
            else:
                local[parent] = local[parent] * messages[name]
        joints: dict[str, Tensor] = {}
        for name, parent in self.parents.items():
            above, message = joints[parent] if parent else whole[:, None], messages[name]
            rest = np.divide(above, message, out=np.zeros(message.shape), where=message > 0)
            joints[name] = local[name] * (np.swapaxes(tables[name], 1, 2) @ rest)
        return joints

    def _with_ancestors(self, names: Sequence[str]) -> list[str]:
        seen: set[str] = set()
        for name in names:
            at: str | None = name
            while at is not None and at not in seen:
                seen.add(at)
                at = self.parents[at]
        return [name for name in self.parents if name in seen]


def _replicated(family: LearnedFamily, marginals: Marginals, draws: int, number: int) -> Tensor:
    table = marginals.marginal([*family.parents, family.node])
    counts = table.counts
    margin = counts.sum(axis=-1, keepdims=True)
    # The margin of a rare class may be estimated as 0; its standard error is a lower limit.
    noise = np.maximum(table.variance(population=True).sum(axis=-1, keepdims=True), 0.0)
    size = np.maximum(margin, np.sqrt(noise))
    moved = table.resampled(draws, stream(number)) - counts
    own = family.probability
    ratio = moved - own * moved.sum(axis=-1, keepdims=True)
    ratio = np.divide(ratio, size, out=np.zeros_like(ratio), where=size > 0)
    drawn = project_to_simplex(own + ratio)
    every = np.concatenate([own[None], drawn])
    positive = np.maximum(every, _LEAST_SHARE)
    distributions: Tensor = positive / positive.sum(axis=-1, keepdims=True)
    return distributions
