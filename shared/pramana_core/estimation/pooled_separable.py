"""Pairs of many categories, estimated with matrices of one variable at a time.

The channels are mixtures a I + b 11' or subset selection, so an estimate t has the covariance
diag(C b + D), where b is the product of the margins. With weights u_a w_b in place of 1 / (C b +
D), generalized least squares is a Kronecker product: Y = H1 (t - b) H2' with H = (F'PUPF)^-1 F'PU.
It is unbiased for any weights.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pramana_core.estimation.pooled_priors import (
    Kind,
    divided,
    posterior_weights,
    scale_likelihoods,
    shrunk,
    solved,
)
from pramana_core.estimation.pooled_readings import PooledReadings, Single
from pramana_core.marginals.counts import Tensor

SEPARATED_CELLS = 256
"""The maximum number of cells of a pair of mixtures that is estimated by all cells at once, which
takes .1 seconds at 400 cells and 30 at 2,560.
"""


@dataclass(frozen=True, eq=False)
class _Turned:
    taken: Tensor
    spread: Tensor
    ratios: Tensor
    priors: tuple[Tensor, Tensor]
    kept: Tensor

    @classmethod
    def of(cls, side: Single, weights: Tensor) -> _Turned:
        half = side.law[:, None] * side.functions
        weighed = weights[:, None] * half
        taken = solved(half.T @ weighed, weighed.T)
        root: Tensor = np.asarray(
            np.linalg.cholesky((taken * side.law) @ taken.T), dtype=np.float64
        )
        back = divided(root, np.eye(len(root)))
        other = back @ taken
        ratios, vectors = np.linalg.eigh(other @ other.T)
        back = vectors.T @ back
        return cls(
            back @ taken,
            half @ root @ vectors,
            np.maximum(ratios, 0.0),
            (np.square(back).sum(axis=1), np.square(back @ half.T).sum(axis=1)),
            half @ taken,
        )


@dataclass(frozen=True, eq=False)
class SeparatePair:
    """A pair of variables whose readings all have a `Decoder.noise`."""

    pooled: PooledReadings
    sides: tuple[Single, Single]

    @property
    def base(self) -> Tensor:
        """The product of the margins, categories x categories."""
        return np.outer(self.sides[0].law, self.sides[1].law)

    @functools.cached_property
    def likelihoods(self) -> Tensor:
        """The log-likelihood of each part of the prior; see `Interaction`."""
        return scale_likelihoods(self._kinds)

    def posterior(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        """Return the posterior table and its errors, both shaped like `base`, by prior weights."""
        one, other = self._turned
        shares = posterior_weights(self.likelihoods, weights)
        mean, second = np.zeros(self._variance.size), np.zeros(self._variance.size)
        for number, kind in enumerate(self._kinds):
            at, kept = shrunk(number, kind)
            mean += shares[number] @ at
            second += shares[number] @ (np.square(at) + kept)
        shape = self._variance.shape
        left = np.maximum(second - np.square(mean), 0.0).reshape(shape) * self._variance
        moved = mean.reshape(shape) * np.sqrt(self._variance)
        error = np.square(one.spread) @ left @ np.square(other.spread).T
        return self.base + one.spread @ moved @ other.spread.T, np.sqrt(error)

    @property
    def unshrunk(self) -> Tensor:
        """The table before shrinkage, categories x categories."""
        one, other = self._turned
        first, second = self.sides
        offs = [side.pooled.shares - side.law for side in self.sides]
        table = self.base + one.spread @ self._values @ other.spread.T
        table += np.outer(offs[0], second.law) + np.outer(first.law, offs[1])
        return table

    def root(self, law: Tensor) -> Tensor:
        """Return a root R of the covariance of the unshrunk table, cells x r, at a distribution.

        R = ((K D^1/2 + F E D^-1/2) W, F times a root of the remaining covariance of the variables).
        D = sum w^2 (C m + D) / n over the readings, where m is the distribution. K = H in terms of
        cells, W spans the space orthogonal to the sum, and F has the derivatives of the cells by
        the variables.
        """
        first, second = self.sides
        noise, each, both = self._noise(law)
        deviation = np.sqrt(noise.ravel())
        whole = deviation / np.linalg.norm(deviation)
        kept = [turned.kept for turned in self._turned]
        own = np.einsum("ai,bj->abij", *kept).reshape(law.size, -1) * deviation
        own -= np.outer(own @ whole, whole)
        shares = [(part / np.sqrt(noise)).ravel() for part in each]
        rows, columns = (np.arange(size) for size in law.shape)
        place, beside = (axis.ravel() for axis in np.indices(law.shape))
        among = np.vstack(
            [(rows[:, None] == place) * shares[0], (columns[:, None] == beside) * shares[1]]
        )
        among -= np.outer(among @ whole, whole)
        values, vectors = np.linalg.eigh(self._rest(*self._among(noise, each), both))
        rest = vectors * np.sqrt(np.maximum(values, 0.0))
        follow = np.hstack(
            [
                np.kron(np.eye(len(rows)), second.law[:, None]),
                np.kron(first.law[:, None], np.eye(len(columns))),
            ]
        )
        return np.hstack([own + follow @ among, follow @ rest])

    def _rest(self, mine: Tensor, sums: Tensor, both: Tensor) -> Tensor:
        first, second = self.sides
        rows = len(both)
        rest = np.outer(sums, sums) - mine
        rest[:rows, :rows] += first.noise
        rest[:rows, rows:] += both
        rest[rows:, :rows] += both.T
        rest[rows:, rows:] += second.noise
        rest = (rest + rest.T) / 2
        try:
            np.linalg.cholesky(rest + 1e-9 * np.trace(rest) / len(rest) * np.eye(len(rest)))
        except np.linalg.LinAlgError:
            values, vectors = np.linalg.eigh(rest)
            rest = (vectors * np.maximum(values, 0.0)) @ vectors.T
        return rest

    @staticmethod
    def _among(noise: Tensor, each: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        rows, columns = noise.shape
        found = np.zeros((rows + columns, rows + columns))
        np.fill_diagonal(
            found,
            np.concatenate(
                [(each[0] ** 2 / noise).sum(axis=1), (each[1] ** 2 / noise).sum(axis=0)]
            ),
        )
        found[:rows, rows:] = each[0] * each[1] / noise
        found[rows:, :rows] = found[:rows, rows:].T
        sums = np.concatenate([each[0].sum(axis=1), each[1].sum(axis=0)])
        return found, sums / np.sqrt(noise.sum())

    def _noise(self, law: Tensor) -> tuple[Tensor, list[Tensor], Tensor]:
        noise, both = np.zeros_like(law), np.zeros_like(law)
        each = [np.zeros_like(law), np.zeros_like(law)]
        for weight, reading in zip(self.pooled.weights, self.pooled.readings, strict=True):
            c, d = reading.decoder.noise or (1.0, 0.0)
            reports = np.maximum(c * law + d, 0.0)
            shares = [
                side.per_record.get(key, 1 / reading.records)
                for side, key in zip(self.sides, reading.alone, strict=True)
            ]
            noise += weight**2 / reading.records * reports
            for part, share in zip(each, shares, strict=True):
                part += weight * share * reports
            one, other = law.sum(axis=1)[:, None], law.sum(axis=0)
            sums = one * other + (c - 1) * (one / law.shape[1] + other / law.shape[0])
            sums += d + (1 - c) / law.size
            both += shares[0] * shares[1] * reading.records * (reports - sums)
        return noise, each, both

    @functools.cached_property
    def _scale(self) -> tuple[float, float]:
        """The coefficients C and D of the covariance; see the module."""
        known = [
            (w * w / reading.records, reading.decoder.noise or (1.0, 0.0))
            for w, reading in zip(self.pooled.weights, self.pooled.readings, strict=True)
        ]
        return sum(s * c for s, (c, _) in known), sum(s * d for s, (_, d) in known)

    @functools.cached_property
    def _turned(self) -> tuple[_Turned, _Turned]:
        c, d = self._scale
        weights = -np.log(c * self.base + d)
        both = weights.mean() / 2
        first, second = np.exp(weights.mean(axis=1) - both), np.exp(weights.mean(axis=0) - both)
        return _Turned.of(self.sides[0], first), _Turned.of(self.sides[1], second)

    @functools.cached_property
    def _variance(self) -> Tensor:
        c, d = self._scale
        found: Tensor = c + d * np.outer(*(turned.ratios for turned in self._turned))
        return found

    @functools.cached_property
    def _values(self) -> Tensor:
        one, other = self._turned
        off = self.pooled.shares.reshape(self.base.shape) - self.base
        found: Tensor = one.taken @ off @ other.taken.T
        return found

    @functools.cached_property
    def _kinds(self) -> tuple[Kind, ...]:
        one, other = self._turned
        at = (self._values / np.sqrt(self._variance)).ravel()
        return tuple(
            ((np.outer(first, second) / self._variance).ravel(), at)
            for first, second in zip(one.priors, other.priors, strict=True)
        )
