"""The redundancy of attributes: evidence that depends on each other counts for less than its sum.

Naive Bayes is too confident if attributes depend on each other given the class. The best linear
weight is the variance of the summed evidence under independence, divided by its true variance. All
pairs are assumed to have the same correlation. It is estimated by its posterior mean under a
half-normal prior.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr

from pramana_core.marginals.counts import Marginals, Tensor
from pramana_core.progress import Tick, no_cancel

_USUAL = 0.2
"""The scale of the prior of the correlation."""

_LIKELY = _USUAL * math.sqrt(2 / math.pi), _USUAL
"""The prior mean of the correlation, and the deviation of one table's correlation from it."""


@dataclass(frozen=True)
class AttributeRedundancy:
    """The redundancy of attributes within each class.

    `correlation` is the correlation between the evidence of two attributes that are not `linked` by
    the network. `within` is the variance of each attribute's evidence. `likely` is the mean and
    standard deviation of the correlation over all pairs; a pair without reports contributes the
    values of the prior.
    """

    correlation: float
    within: Mapping[str, float]
    linked: frozenset[frozenset[str]] = frozenset()
    likely: tuple[float, float] = _LIKELY

    def weight(self, names: Collection[str]) -> float:
        """Return the weight, in (0, 1], for the summed evidence of some attributes."""
        own = sum(self.within[name] for name in names) if self.correlation else 0.0
        if own <= 0:
            return 1.0
        pairs = itertools.combinations(names, 2)
        both = sum(self._both(*pair) for pair in pairs if frozenset(pair) not in self.linked)
        return own / (own + 2 * self.correlation * both)

    def weights(self, names: Sequence[str], given: npt.NDArray[np.bool_]) -> Tensor:
        """Return the weights of n sets of attributes with each attribute added, (n, attributes)."""
        if not self.correlation:
            return np.ones(given.shape)
        own = np.array([self.within[name] for name in names])
        both = np.array(
            [
                [0.0 if a == b or {a, b} in self.linked else self._both(a, b) for b in names]
                for a in names
            ]
        )
        others = given @ both
        pairs = others + (others * given).sum(axis=1, keepdims=True) / 2
        total = own + (given @ own)[:, None]
        whole = total + 2 * self.correlation * pairs
        found: Tensor = np.divide(total, whole, out=np.ones(whole.shape), where=total > 0)
        return found

    def _both(self, first: str, second: str) -> float:
        return math.sqrt(self.within[first] * self.within[second])


UNKNOWN = AttributeRedundancy(0.0, {})
"""The redundancy of attributes if nothing is known about it."""


def learn_redundancy(
    marginals: Marginals,
    prior: Tensor,
    tables: Mapping[str, Tensor],
    linked: frozenset[frozenset[str]] = frozenset(),
    tick: Tick = no_cancel,
) -> AttributeRedundancy:
    """Return the redundancy of attributes; the correlation is 0 if no reported pair is randomized.

    `prior` has the classes' probabilities, `tables` the positive probabilities of each attribute
    given the class, (classes, categories). The network has a link for each pair in `linked`.
    """
    scores = {n: np.log(t) - np.log(t).mean(axis=0) for n, t in tables.items()}
    within = {n: _within(prior, tables[n], scores[n]) for n in tables}
    evidence, known, noisy, reported = 0.0, 0.0, False, 0
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
        reported += 1
        if noise > 0:
            evidence += surplus * both / noise
            known += both * both / noise
        noisy = noisy or bool(table.variance(population=False).max() > 0)
    if not noisy or known == 0:
        return AttributeRedundancy(0.0, within, linked)
    precision = known + 1 / _USUAL**2
    deviate = evidence / math.sqrt(precision)
    density = math.exp(-(deviate**2) / 2 - float(log_ndtr(deviate))) / math.sqrt(2 * math.pi)
    scale = 1 / math.sqrt(precision)
    # Pairs without reports keep the prior, whatever the other pairs show.
    share = reported / math.comb(len(tables), 2)
    mean = share * deviate * scale + (1 - share) * _LIKELY[0]
    likely = mean, math.hypot(share * scale, (1 - share) * _LIKELY[1])
    return AttributeRedundancy((deviate + density) * scale, within, linked, likely)


def _within(prior: Tensor, table: Tensor, scores: Tensor) -> float:
    means = scores @ table.T
    return float(((np.square(scores) @ table.T - np.square(means)) @ prior).sum())
