"""Shrinkage of estimated interactions: empirical Bayes over all tables.

An interaction y is normal around the true one, with a covariance V that follows from the channels.
Its prior is a mixture of y = 0 (no interaction), y ~ N(0, tau^2 I) and y ~ N(0, tau^2 S) over a
grid of tau, where S is the covariance of relative deviations with equal variance. The weights of
the mixture maximize the likelihood of all interactions together (Kiefer and Wolfowitz 1956;
Stephens 2017).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from pramana_core.marginals.counts import Tensor

_RESIDUALS = 2.0 ** np.arange(-9.0, 1.0)
_DEVIATIONS = 2.0 ** np.arange(-7.0, 3.0)
_SCALES = (_RESIDUALS, _DEVIATIONS)
_PARTS = 1 + len(_RESIDUALS) + len(_DEVIATIONS)
_NULL_MORE = 1.0
_EM_ROUNDS, _SETTLED = 2000, 1e-7


Kind = tuple[Tensor, Tensor]
"""A kind of prior by direction: its variances in units of the noise, and the estimates."""


def scale_likelihoods(kinds: Sequence[Kind]) -> Tensor:
    """Return the log-likelihood of each part of the prior, up to a constant."""
    found = [0.0]
    for scales, (ratios, turned) in zip(_SCALES, kinds, strict=True):
        more = np.outer(np.square(scales), ratios)
        gained = np.square(turned) * (more / (1 + more)) - np.log1p(more)
        found += list(0.5 * gained.sum(axis=1))
    return np.array(found)


def posterior_weights(likelihoods: Tensor, weights: Tensor) -> list[Tensor]:
    """Return the posterior weights of the scales of each kind of prior."""
    height = likelihoods + np.log(weights)
    shares = np.exp(height - height.max())
    shares /= shares.sum()
    ends = np.cumsum([1, *(len(scales) for scales in _SCALES)])
    return [shares[first:end] for first, end in itertools.pairwise(ends)]


def shrunk(number: int, kind: Kind) -> tuple[Tensor, Tensor]:
    """Return the mean and variance of each direction (columns) for each scale (rows) of a kind."""
    ratios, turned = kind
    more = np.outer(np.square(_SCALES[number]), ratios)
    kept = more / (1 + more)
    return kept * turned, kept


def solved(matrix: Tensor, right: Tensor) -> Tensor:
    """Return matrix^-1 right for a symmetric matrix; raise LinAlgError unless positive definite."""
    _, found, info = lapack.dposv(matrix, right, lower=1)
    if info != 0:
        raise np.linalg.LinAlgError("The matrix is not positive definite.")
    return np.asarray(found, dtype=np.float64)


def divided(root: Tensor, right: Tensor) -> Tensor:
    """Return root^-1 right for a lower triangular matrix, such as a Cholesky factor."""
    found, info = lapack.dtrtrs(root, right, lower=1)
    if info != 0:
        raise np.linalg.LinAlgError("The triangular matrix is singular.")
    return np.asarray(found, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Interaction:
    """An estimated interaction y (d), its covariance V, and the prior's S, both (d, d)."""

    values: Tensor
    covariance: Tensor
    deviations: Tensor

    @functools.cached_property
    def likelihoods(self) -> Tensor:
        """The log-likelihood of each part of the prior, up to a constant."""
        return scale_likelihoods([(ratios, turned) for ratios, turned, _ in self._kinds])

    def posterior(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        """Return the posterior mean (d) and covariance (d, d) of y under a prior's `weights`."""
        mean, second = np.zeros(len(self.values)), np.zeros(self.covariance.shape)
        shares = posterior_weights(self.likelihoods, weights)
        for number, (ratios, turned, basis) in enumerate(self._kinds):
            at, kept = shrunk(number, (ratios, turned))
            own = shares[number]
            mean += basis @ (own @ at)
            inner = (at * own[:, None]).T @ at + np.diag(own @ kept)
            second += basis @ inner @ basis.T
        return mean, second - np.outer(mean, mean)

    @functools.cached_property
    def _kinds(self) -> tuple[tuple[Tensor, Tensor, Tensor], ...]:
        root: Tensor = np.asarray(np.linalg.cholesky(self.covariance), dtype=np.float64)
        found = []
        for prior in (np.eye(len(self.values)), self.deviations):
            whitened = divided(root, divided(root, prior).T)
            ratios, vectors = np.linalg.eigh((whitened + whitened.T) / 2)
            turned = vectors.T @ divided(root, self.values)
            found.append((np.maximum(ratios, 0.0), turned, root @ vectors))
        return tuple(found)


def learned(likelihoods: Sequence[Tensor]) -> Tensor:
    """Return the prior's most likely weights for all interactions, by EM."""
    weights = np.full(_PARTS, 1 / _PARTS)
    if not likelihoods:
        return weights
    heights = np.array(likelihoods)
    made = np.exp(heights - heights.max(axis=1, keepdims=True))
    more = np.zeros(_PARTS)
    more[0] = _NULL_MORE
    for _ in range(_EM_ROUNDS):
        shares = made * weights
        shares /= shares.sum(axis=1, keepdims=True)
        new = shares.sum(axis=0) + more + 1e-6
        new /= new.sum()
        moved = np.abs(new - weights).max()
        weights = new
        if moved < _SETTLED:
            break
    return weights
