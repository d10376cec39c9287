"""Channels without structure: walk the columns of P, a part at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from pramana_core.channels import LISTED_ENTRIES
from pramana_core.errors import LimitExceeded
from pramana_core.marginals.counts import Tensor
from pramana_core.privacy.structures.prior import entropy, log2_terms
from pramana_core.privacy.structures.structure import ChannelStructure, Plausible

_CHUNK_CELLS = 1 << 20


class Listable(Protocol):
    """What can list its K x L matrix: every channel, if it is small."""

    @property
    def shape(self) -> tuple[int, int]:
        """(K, L)."""

    def matrix(self) -> Tensor:
        """Return the matrix of probabilities."""


@dataclass(frozen=True, eq=False)
class ColumnsStructure(ChannelStructure):
    """Any channel, by the columns of its matrix.

    Every method raises LimitExceeded above `LISTED_ENTRIES` entries, before anything is made;
    only gamma does not where the family knows its own.
    """

    channel: Listable
    known_gamma: float | None = None

    @property
    def size(self) -> int:
        return self.channel.shape[0]

    @cached_property
    def gamma(self) -> float:
        if self.known_gamma is not None:
            return self.known_gamma
        worst = 1.0
        for part in self._columns():
            possible = part[:, part.max(axis=0) > 0]
            high, low = possible.max(axis=0), possible.min(axis=0)
            if np.any(low == 0):
                return math.inf
            worst = max(worst, float((high / low).max(initial=1.0)))
        return worst

    def information(self, prior: Tensor | None) -> float:
        given = self._explicit(prior)
        known = sum(float(given @ log2_terms(part).sum(axis=1)) for part in self._columns())
        return sum(entropy(given @ part) for part in self._columns()) + known

    def extremes(self, prior: Tensor | None) -> tuple[Tensor, Tensor]:
        low, high = np.ones(self.size), np.zeros(self.size)
        for posterior in self._posteriors(self._explicit(prior)):
            low = np.minimum(low, posterior.min(axis=1, initial=1.0))
            high = np.maximum(high, posterior.max(axis=1, initial=0.0))
        return low, high

    def bayes_mass(self, weights: Tensor | None) -> float:
        given = self._explicit(weights)[:, None]
        return sum(float((given * part).max(axis=0).sum()) for part in self._columns())

    def plausible(self, prior: Tensor | None, threshold: float) -> Plausible:
        parts = [
            _plausible(posterior, threshold)
            for posterior in self._posteriors(self._explicit(prior))
            if posterior.size
        ]
        return Plausible.over(parts)

    def _explicit(self, prior: Tensor | None) -> Tensor:
        self._require_listable()
        return np.full(self.size, 1 / self.size) if prior is None else prior

    def _columns(self) -> Iterator[Tensor]:
        self._require_listable()
        matrix = self.channel.matrix()
        width = max(1, _CHUNK_CELLS // len(matrix))
        for start in range(0, matrix.shape[1], width):
            yield matrix[:, start : start + width]

    def _posteriors(self, prior: Tensor) -> Iterator[Tensor]:
        """Yield the posteriors given each report that can occur: truths by reports."""
        for part in self._columns():
            joint = prior[:, None] * part
            total = joint.sum(axis=0)
            yield joint[:, total > 0] / total[total > 0]

    def _require_listable(self) -> None:
        true, reported = self.channel.shape
        if true * reported > LISTED_ENTRIES:
            raise LimitExceeded(
                f"What a {true} x {reported} channel without closed form reveals would need its"
                f" whole matrix; at most {LISTED_ENTRIES} entries are listed.",
                where="channel",
                remedy="Use a symmetric, mixture or grouped channel, randomize fewer variables"
                " together, or ask with the uniform prior.",
            )


def _plausible(posterior: Tensor, threshold: float) -> Plausible:
    kept = np.where(posterior > threshold, posterior, 0.0)
    count = np.count_nonzero(kept, axis=0)
    return Plausible.of_sums(count, kept.sum(axis=0), log2_terms(kept).sum(axis=0))
