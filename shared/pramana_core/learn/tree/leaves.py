"""The classes of a node's records: raw counts with errors, and valid probabilities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pramana_core.learn.tree.evidence import EMPTY, valid_rows
from pramana_core.learn.tree.node import NodeClasses
from pramana_core.learn.tree.shares import share_intervals
from pramana_core.marginals.counts import CellMoments, Tensor

_DISTANCES = np.geomspace(0.005, 1.4, 24)
"""The true distances of children from their parent that are weighed up; none exceeds sqrt 2."""

_LEAST = 1e-12


def class_counts(
    counts: Tensor,
    covariance: Tensor,
    records: int,
    parent: Sequence[float] | None = None,
    shrinkage: float | None = None,
    moments: CellMoments | None = None,
    *,
    counted: bool = True,
) -> tuple[NodeClasses, ...]:
    """Return what is known of the classes in each of some nodes with one parent.

    The probabilities are the node's proportions p moved towards the parent's q. With v the
    variance of p that comes of randomization (summed over the classes) and t the distance of
    children from their parent, they are (t^2 p + v q) / (t^2 + v), made valid: the posterior mean
    where both are normal. t is not known; its prior is half-Cauchy (Gelman 2006), and the weight
    of p is the mean over its posterior given how far apart the children of this parent are seen to
    be. Counts that are not randomized stay as they are.

    `effective` is n^2 / (n + V), V the variance of the class counts that comes of randomization,
    summed: n records that are not randomized are n^2 / n. Of a model's expected counts it is how
    many records would have proportions of as much variance, summed over the classes; and the
    proportions stay, for a model has nothing of a parent's that it does not have of the node.

    Args:
        counts: estimated counts by node and class, (K, m).
        covariance: theirs given the records within each node, (K, m, m).
        records: the number of all records.
        parent: the parent's probabilities; None at the root.
        shrinkage: the scale of the prior of t; None takes p as it is.
        moments: what records say of their node's classes (`Subtable.moments_given_cell`).
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
    drawn_too = covariance + counts[:, :, None] * np.eye(counts.shape[1])
    low, high = share_intervals(counts, drawn_too, moments, records)
    each = (counts, np.sqrt(given), np.sqrt(drawn), low, high, effective, leaned, valid_rows(own))
    return tuple(
        NodeClasses(tuple(n), tuple(se), tuple(both), tuple(a), tuple(b), told, lean, tuple(p))
        for n, se, both, a, b, told, lean, p in zip(*(q.tolist() for q in each), strict=True)
    )


def _variances(
    counts: Tensor, covariance: Tensor, records: int, *, counted: bool
) -> tuple[Tensor, Tensor]:
    """Return the variance of each count given the records, and against the population."""
    own = np.diagonal(covariance, axis1=1, axis2=2)
    given = np.maximum(own, 0.0) if counted else own
    drawn = np.maximum(given + counts - np.square(counts) / records, 0.0)
    # What part of a model's error is that of the records cannot be told.
    return (given if counted else drawn), drawn


def _worth(own: Tensor, covariance: Tensor, counts: Tensor, records: int) -> Tensor:
    """Return how many records have proportions with the variance that a model's have."""
    size = counts.sum(axis=1)
    drawn = counts[:, :, None] * np.eye(counts.shape[1])
    drawn = drawn - counts[:, :, None] * counts[:, None, :] / records
    onto = np.eye(counts.shape[1]) - own[:, :, None]
    every = np.einsum("kab,kbc,kac->k", onto, covariance + drawn, onto)
    plain = (own * (1 - own)).sum(axis=1) * np.square(np.maximum(size, EMPTY))
    worth: Tensor = plain / np.maximum(every, np.maximum(plain, _LEAST) / records)
    return worth


def _leaned(own: Tensor, covariance: Tensor, parent: Tensor, usual: float) -> Tensor:
    """Return how far each row of proportions is moved towards the parent's, for its posterior mean.

    0 is not at all and 1 all the way.
    """
    k, m = own.shape
    # The error of a proportion: that of its count less its share of the sum's.
    onto = np.eye(m) - own[:, :, None]
    noise = np.maximum(np.einsum("kab,kbc,kac->k", onto, covariance, onto), 0.0)
    apart = np.square(own - parent).sum(axis=1)
    leaned: Tensor = 1 - _weights(apart, noise, usual, (m - 1) * (k - 1) / k)
    return leaned


def _weights(apart: Tensor, noise: Tensor, usual: float, degrees: float) -> Tensor:
    """Return how much of each child's own proportions its probabilities take.

    Args:
        apart: squared distance of each child's proportions from the parent's.
        noise: the variance of each that comes of randomization.
        usual: the scale of a half-Cauchy prior of the children's true distance t.
        degrees: how many independent differences a child has.
    """
    squared = np.square(_DISTANCES)[:, None]
    spread = squared + np.maximum(noise, _LEAST)
    likelihood = -degrees / 2 * (np.log(spread) + apart / spread).sum(axis=1)
    posterior = np.exp(likelihood - likelihood.max()) * _DISTANCES
    posterior /= 1 + np.square(_DISTANCES / usual)
    weights: Tensor = posterior @ (squared / (squared + noise)) / posterior.sum()
    # Rounding aside, counts that are not randomized stay as they are.
    return np.where(noise > 0, weights, 1.0)
