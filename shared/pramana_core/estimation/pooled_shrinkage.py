"""How much of an interaction is kept: empirical Bayes over all tables that the reports tell.

An interaction y, in coordinates in which the chi-square statistic of a table is its square, is
normal around the truth with a covariance V that the channels give. Its prior is a mixture of
normal laws of mean 0: of no interaction at all, and of scales on a grid, of two kinds,

    standardized residuals of one variance:  y ~ N(0, tau^2 I),
    relative deviations of one variance:     y ~ N(0, tau^2 S),

S being the covariance that deviations (t - base) / base of one variance have. The weights of the
mixture are the most likely ones for all interactions together (the nonparametric maximum
likelihood of Kiefer and Wolfowitz 1956, on a grid as in Stephens 2017, "False discovery rates: a
new deal"), with a few pseudo-observations for no interaction. So where most are nothing, weak
signs of others are taken for noise; where most are something, they are not. Within one
interaction what the reports tell well is kept and what they hardly tell is not: each direction is
shrunk by its own share tau^2 d / (1 + tau^2 d).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pramana_core.estimation.maximum_entropy import divided
from pramana_core.marginals.counts import Tensor

_RESIDUALS = 2.0 ** np.arange(-9.0, 1.0)
_DEVIATIONS = 2.0 ** np.arange(-7.0, 3.0)
_SCALES = (_RESIDUALS, _DEVIATIONS)
_NULL_MORE = 1.0
_ROUNDS, _SETTLED = 2000, 1e-7


Kind = tuple[Tensor, Tensor]
"""A kind of prior: its variances in units of the noise, and what was estimated there."""


@dataclass(frozen=True, eq=False)
class Interaction:
    """An estimated interaction with its error, turned to each kind of prior.

    Attributes:
        values: the coordinates y, (d).
        covariance: V, (d, d).
        deviations: S, (d, d).
    """

    values: Tensor
    covariance: Tensor
    deviations: Tensor

    @functools.cached_property
    def likelihoods(self) -> Tensor:
        """The log-likelihood of each part of the mixture, up to one number for all."""
        return scale_likelihoods([(ratios, turned) for ratios, turned, _ in self._kinds])

    def posterior(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean, (d), and covariance, (d, d), of y given what was estimated.

        Args:
            weights: of the parts of the prior, as `learned` gives.
        """
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
        """Of each kind: the variances of its prior in units of the noise, y there, the way back."""
        root: Tensor = np.asarray(np.linalg.cholesky(self.covariance), dtype=np.float64)
        return tuple(
            _against(root, prior, self.values)
            for prior in (np.eye(len(self.values)), self.deviations)
        )


def _against(root: Tensor, prior: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    whitened = divided(root, divided(root, prior).T)
    ratios, vectors = np.linalg.eigh((whitened + whitened.T) / 2)
    turned = vectors.T @ divided(root, values)
    return np.maximum(ratios, 0.0), turned, root @ vectors


def scale_likelihoods(kinds: Sequence[Kind]) -> Tensor:
    """Return the log-likelihood of each part of the mixture, up to one number for all."""
    found = [0.0]
    for scales, (ratios, turned) in zip(_SCALES, kinds, strict=True):
        more = np.outer(np.square(scales), ratios)
        gained = np.square(turned) * (more / (1 + more)) - np.log1p(more)
        found += list(0.5 * gained.sum(axis=1))
    return np.array(found)


def posterior_weights(likelihoods: Tensor, weights: Tensor) -> list[Tensor]:
    """Return the weights of the scales of each kind of prior, given what was estimated."""
    height = likelihoods + np.log(weights)
    shares = np.exp(height - height.max())
    shares /= shares.sum()
    ends = np.cumsum([1, *(len(scales) for scales in _SCALES)])
    return [shares[first:end] for first, end in itertools.pairwise(ends)]


def shrunk(number: int, kind: Kind) -> tuple[Tensor, Tensor]:
    """Return mean and variance of each direction at each scale of a kind, scales x directions."""
    ratios, turned = kind
    more = np.outer(np.square(_SCALES[number]), ratios)
    kept = more / (1 + more)
    return kept * turned, kept


def learned(likelihoods: Sequence[Tensor]) -> Tensor:
    """Return the weights of the parts of the prior that are most likely for all interactions.

    Args:
        likelihoods: those of each interaction.

    By EM, which raises their likelihood each round and ends after `_ROUNDS` at most; any weights
    make a prior.
    """
    parts = 1 + len(_RESIDUALS) + len(_DEVIATIONS)
    weights = np.full(parts, 1 / parts)
    if not likelihoods:
        return weights
    heights = np.array(likelihoods)
    made = np.exp(heights - heights.max(axis=1, keepdims=True))
    more = np.zeros(parts)
    more[0] = _NULL_MORE
    for _ in range(_ROUNDS):
        shares = made * weights
        shares /= shares.sum(axis=1, keepdims=True)
        new = shares.sum(axis=0) + more + 1e-6
        new /= new.sum()
        moved = np.abs(new - weights).max()
        weights = new
        if moved < _SETTLED:
            break
    return weights
