"""The nodes of a decision tree. A node has the counts of classes, with errors, and its split."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Ge, Le

from pramana_core.errors import ChannelError, DomainError
from pramana_core.learn.tree.evidence import EMPTY, valid_rows
from pramana_core.marginals.counts import Tensor
from pramana_core.marginals.score_interval import normal_quantile
from pramana_core.marginals.tables import LEVEL
from pramana_core.ties import first_largest

_SUM_TOLERANCE = 1e-9

Finite = Annotated[float, Ge(-1e300), Le(1e300)]
Error = Annotated[float, Ge(0), Le(1e300)]
Share = Annotated[float, Ge(0), Le(1)]


@dataclass(frozen=True)
class NodeClasses:
    """The counts of the classes in a node; every tuple has one number for each class.

    Attributes:
        counts: raw estimates, which may be negative.
        se_records, se_population: the standard errors of the counts, given the records and against
            the population.
        low, high: the 95 % intervals of the classes' shares, against the population.
        effective: the number of unrandomized records that would give the same information.
        leaned: how far the proportions in the node are moved toward the parent's, from 0 to 1.
        probabilities: the moved proportions, made a valid distribution, for predictions.

    Raises DomainError: lengths differ or are 0. ChannelError: probabilities do not sum to 1.
    """

    counts: tuple[Finite, ...]
    se_records: tuple[Error, ...]
    se_population: tuple[Error, ...]
    low: tuple[Share, ...]
    high: tuple[Share, ...]
    effective: Error
    leaned: Share
    probabilities: tuple[Share, ...]

    def __post_init__(self) -> None:
        parts = (self.counts, self.se_records, self.se_population, self.low, self.high)
        if not self.counts or {len(part) for part in parts} != {len(self.probabilities)}:
            raise DomainError("A node needs counts, errors and probabilities of equal length.")
        if abs(math.fsum(self.probabilities) - 1) > _SUM_TOLERANCE:
            raise ChannelError("A node's class probabilities are not a distribution.")

    @property
    def total(self) -> float:
        """The estimated number of records in the node."""
        return math.fsum(self.counts)

    @property
    def proportions(self) -> tuple[float, ...] | None:
        """The classes' shares by the node's own counts, within [0, 1]; None if it is empty."""
        total = self.total
        if total <= 0 or not self.effective:
            return None
        return tuple(min(max(count / total, 0.0), 1.0) for count in self.counts)

    @property
    def decision(self) -> int:
        """The code of the most probable class, or of the first if several are equally probable."""
        return first_largest(self.probabilities)


@dataclass(frozen=True)
class Split:
    """The split of a node by an attribute.

    Attributes:
        attribute: the variable.
        gain, chance: the information gain of the counts in bits, and its mean if the attribute and
            the class are independent.
        excess, low, high: the gain minus `chance`, and its 95 % interval.
        statistic, degrees: the likelihood ratio statistic and its degrees of freedom.
        tried: the number of attributes compared.
        p_value: the probability that the best of these attributes would gain as much by chance.

    Raises DomainError: `low` is above `high`.
    """

    attribute: str
    gain: Error
    excess: Error
    low: Error
    high: Error
    chance: Error
    statistic: Error
    degrees: Annotated[int, Ge(1)]
    tried: Annotated[int, Ge(1)]
    p_value: Share

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise DomainError(
                f"The interval of the information of {self.attribute!r} ends below its start.",
                where=self.attribute,
            )


@dataclass(frozen=True)
class Node:
    """A leaf, or a node with a split and one child for each category, in code order."""

    classes: NodeClasses
    split: Split | None = None
    children: tuple[Node, ...] = ()

    def __iter__(self) -> Iterator[Node]:
        """Yield this node and all its descendants, every node before its children."""
        yield self
        for child in self.children:
            yield from child

    @property
    def depth(self) -> int:
        """The maximum number of splits on a path from this node."""
        return max((1 + child.depth for child in self.children), default=0)


_Z = normal_quantile(LEVEL)


def share_intervals(counts: Tensor, covariance: Tensor, records: int) -> tuple[Tensor, Tensor]:
    """Return Wilson's (1927) intervals of the classes' shares in K nodes, low and high, (K, m).

    The intervals are against the population and include the variance of randomization. A node
    without records has the interval 0 to 1.
    """
    size = counts.sum(axis=1, keepdims=True)
    there = size > EMPTY * records
    size = np.where(there, size, 1.0)
    own = np.clip(counts / size, 0.0, 1.0)
    noise = np.einsum("kaa->ka", covariance) - 2 * own * covariance.sum(axis=2)
    noise += np.square(own) * covariance.sum(axis=(1, 2))[:, None]
    more = _Z**2 / size
    middle = 2 * own + more
    least = np.square(own) - _Z**2 * noise / np.square(size)
    half = np.sqrt(np.maximum(np.square(middle) - 4 * (1 + more) * least, 0.0))
    low, high = (np.clip((middle + side * half) / (2 * (1 + more)), 0.0, 1.0) for side in (-1, 1))
    return np.where(there, low, 0.0), np.where(there, high, 1.0)


_DISTANCES = np.geomspace(0.005, 1.4, 24)
"""A grid of true distances between the probabilities of children and parent, up to sqrt 2."""

_LEAST = 1e-12


def class_counts(
    counts: Tensor,
    covariance: Tensor,
    records: int,
    parent: Sequence[float] | None = None,
    shrinkage: float | None = None,
    *,
    counted: bool = True,
) -> tuple[NodeClasses, ...]:
    """Return the class counts of K nodes that have the same parent.

    With p the node's proportions, q its parent's, v the randomization variance of p and t the
    distance of children from their parent, the probabilities are (t^2 p + v q) / (t^2 + v),
    averaged over the posterior of t under a half-Cauchy prior of scale `shrinkage` (Gelman 2006).
    `effective` is n^2 / (n + V), where V is the sum of the class counts' variances. Probabilities
    from a model's counts are not moved.

    Args:
        counts, covariance: by node and class, (K, m), and their covariance given the records, (K,
            m, m).
        records: the number of all records.
        parent: the parent's probabilities, or None at the root.
        shrinkage: the scale of the prior; with None, p is not moved.
        counted: whether the nodes' records were counted; see `Subtable`.
    """
    given, drawn = _variances(counts, covariance, records, counted=counted)
    totals = counts.sum(axis=1)
    there = totals > EMPTY * records
    size = np.where(there, totals, 1.0)
    own = counts / size[:, None]
    if counted:
        worth = size**2 / (size + given.sum(axis=1))
    else:
        shrinkage, worth = None, _worth(own, covariance, counts, records)
    effective = np.where(there, worth, 0.0)
    leaned = np.zeros(len(counts))
    above = parent or [1 / counts.shape[1]] * counts.shape[1]
    if parent is not None and shrinkage is not None:
        scaled = covariance / size[:, None, None] ** 2
        leaned = _leaned(own, scaled, np.asarray(parent), shrinkage)
        own = (1 - leaned)[:, None] * own + leaned[:, None] * np.asarray(parent)
    own[~there], leaned[~there] = above, float(parent is not None)
    low, high = share_intervals(counts, covariance, records)
    each = (counts, np.sqrt(given), np.sqrt(drawn), low, high, effective, leaned, valid_rows(own))
    return tuple(
        NodeClasses(tuple(n), tuple(se), tuple(both), tuple(a), tuple(b), size, lean, tuple(p))
        for n, se, both, a, b, size, lean, p in zip(*(q.tolist() for q in each), strict=True)
    )


def _variances(
    counts: Tensor, covariance: Tensor, records: int, *, counted: bool
) -> tuple[Tensor, Tensor]:
    own = np.diagonal(covariance, axis1=1, axis2=2)
    given = np.maximum(own, 0.0) if counted else own
    drawn = np.maximum(given + counts - np.square(counts) / records, 0.0)
    # The part of a model's error caused by sampling the records is unknown.
    return (given if counted else drawn), drawn


def _worth(own: Tensor, covariance: Tensor, counts: Tensor, records: int) -> Tensor:
    """Return how many unrandomized records would give proportions with this variance."""
    size = counts.sum(axis=1)
    drawn = counts[:, :, None] * np.eye(counts.shape[1])
    drawn = drawn - counts[:, :, None] * counts[:, None, :] / records
    onto = np.eye(counts.shape[1]) - own[:, :, None]
    every = np.einsum("kab,kbc,kac->k", onto, covariance + drawn, onto)
    plain = (own * (1 - own)).sum(axis=1) * np.square(np.maximum(size, EMPTY))
    worth: Tensor = plain / np.maximum(every, np.maximum(plain, _LEAST) / records)
    return worth


def _leaned(own: Tensor, covariance: Tensor, parent: Tensor, usual: float) -> Tensor:
    k, m = own.shape
    # The error of a proportion is its count's error minus its share of the sum's error.
    onto = np.eye(m) - own[:, :, None]
    noise = np.maximum(np.einsum("kab,kbc,kac->k", onto, covariance, onto), 0.0)
    distance = np.square(own - parent).sum(axis=1)
    leaned: Tensor = 1 - _weights(distance, noise, usual, (m - 1) * (k - 1) / k)
    return leaned


def _weights(distance: Tensor, noise: Tensor, usual: float, degrees: float) -> Tensor:
    squared = np.square(_DISTANCES)[:, None]
    spread = squared + np.maximum(noise, _LEAST)
    likelihood = -degrees / 2 * (np.log(spread) + distance / spread).sum(axis=1)
    posterior = np.exp(likelihood - likelihood.max()) * _DISTANCES
    posterior /= 1 + np.square(_DISTANCES / usual)
    weights: Tensor = posterior @ (squared / (squared + noise)) / posterior.sum()
    # Counts without randomization are not moved.
    return np.where(noise > 0, weights, 1.0)
