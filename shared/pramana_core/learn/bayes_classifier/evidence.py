"""How much what all attributes tell of the class together counts, for they repeat each other.

Naive Bayes adds up the logarithms of its odds as if the attributes were independent given the
class. Where they repeat each other, as education and occupation do, their sum varies more within a
class than it supposes, and says too much against the classes' own shares. The best linear rule of
the sum weighs it with the variance that independence supposes over that which it has (Fisher's
discriminant, of one variable).

The surplus variance is a sum over the pairs of attributes. Of reports of few variables each pair
tells next to nothing, but all together do: what is estimated is one correlation for all, by
weighted least squares, as the mean of its posterior under a half-normal prior: attributes of
tables that were observed seldom disagree beyond the class.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from pramana_core.marginals.counts import Marginals, Tensor
from pramana_core.progress import Tick, unstopped

_USUAL = 0.2
"""The scale of the prior: so far attributes are usually correlated given the class."""


@dataclass(frozen=True)
class Repeated:
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


UNKNOWN = Repeated(0.0, {})
"""Of attributes of which nothing is known to be repeated."""


def repeated(
    marginals: Marginals,
    prior: Tensor,
    tables: Mapping[str, Tensor],
    linked: frozenset[frozenset[str]] = frozenset(),
    tick: Tick = unstopped,
) -> Repeated:
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
        table = marginals.unbiased([first, second]) if marginals.tells([first, second]) else None
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
        return Repeated(0.0, within, linked)
    precision = known + 1 / _USUAL**2
    deviate = told / math.sqrt(precision)
    density = math.exp(-(deviate**2) / 2 - float(log_ndtr(deviate))) / math.sqrt(2 * math.pi)
    return Repeated((deviate + density) / math.sqrt(precision), within, linked)


def _within(prior: Tensor, table: Tensor, scores: Tensor) -> float:
    """Return the variance within the classes of what an attribute adds, summed over the scores."""
    means = scores @ table.T
    return float(((np.square(scores) @ table.T - np.square(means)) @ prior).sum())
