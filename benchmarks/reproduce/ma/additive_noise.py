"""Additive noise on a numeric variable, with intervals made of the noisy values (Ma 1.3.1, 3.1.2).

The value is uniform within its interval, so that the matrix of the intervals is exact, and all
intervals are equally wide, so that an entry depends only on how far apart two of them are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import stats

from pramana_core.channels import RESOLUTION, Dense
from pramana_core.marginals.counts import Tensor

Kind = Literal["uniform", "normal", "Laplace"]
KINDS: tuple[Kind, ...] = ("uniform", "normal", "Laplace")

LEVEL = 0.95
"""The probability with which noise stays within the width that names its strength."""

_REACH = {"uniform": 1.0, "normal": 3.0, "Laplace": 4.0}
"""How many scales beyond the values the reported intervals reach; the last holds what is beyond."""

_LEAST = 0.5 / RESOLUTION
"""Probabilities below are taken for zero where a published matrix is made."""


@dataclass(frozen=True)
class AdditiveNoise:
    """Noise of a kind added to values in `intervals` equal intervals of width `width`.

    `scale` is half the width of uniform noise, the deviation of normal noise and the mean absolute
    value of Laplace noise, in the values' unit.
    """

    kind: Kind
    scale: float
    intervals: int
    width: float

    @classmethod
    def of_width(cls, kind: Kind, covered: float, intervals: int, width: float) -> AdditiveNoise:
        """Build noise that stays within an interval of width `covered` with probability 95 %."""
        half = covered / 2
        scale = {
            "uniform": half / LEVEL,
            "normal": half / float(stats.norm.isf((1 - LEVEL) / 2)),
            "Laplace": half / math.log(1 / (1 - LEVEL)),
        }[kind]
        return cls(kind, scale, intervals, width)

    @property
    def beyond(self) -> int:
        """How many reported intervals lie on each side beyond those of the values."""
        # A last interval that uniform noise only just touches would never be reported.
        return math.ceil(_REACH[self.kind] * self.scale / self.width - 1e-9)

    @property
    def reports(self) -> int:
        """M_1, the number of reported intervals."""
        return self.intervals + 2 * self.beyond

    def matrix(self) -> Tensor:
        """Return P(reported interval | true interval), `intervals` x `reports`.

        Ma 3.1.2 prints M_1 x M_1; the rows are the M_2 intervals that values can be in.
        """
        edge = self._second_tail(np.arange(self.reports + 1, dtype=np.float64) * self.width)
        # The probability of a report d intervals up or more, and of exactly d up.
        further = np.empty(self.reports + 1)
        further[1:] = (edge[:-1] - edge[1:]) / self.width
        further[0] = 1 - further[1]
        exact = np.append(further[1:-1] - further[2:], 0.0)
        true = np.arange(self.intervals)
        away = np.abs(true[:, None] - (np.arange(self.reports) - self.beyond))
        same = 1 - 2 * further[1]
        listed: Tensor = np.where(away == 0, same, exact[np.maximum(away, 1) - 1])
        if self.beyond:
            listed[:, 0] = further[true + self.beyond]
            listed[:, -1] = further[self.intervals - 1 - true + self.beyond]
        return listed

    def _second_tail(self, t: Tensor) -> Tensor:
        """Return the integral from t >= 0 of the probability that noise is larger."""
        z = t / self.scale
        if self.kind == "uniform":
            value: Tensor = self.scale * np.maximum(1 - z, 0) ** 2 / 4
        elif self.kind == "normal":
            value = self.scale * (stats.norm.pdf(z) - z * stats.norm.sf(z))
        else:
            value = self.scale * np.exp(-z) / 2
        return value

    def gammas(self) -> Tensor:
        """Return the amplification of each report: the largest ratio in its column."""
        listed = self.matrix()
        least = listed.min(axis=0)
        ratio = np.full(self.reports, np.inf)
        np.divide(listed.max(axis=0), least, out=ratio, where=least > 0)
        return ratio

    def channel(self) -> Dense:
        """Return the matrix in units of 2^-32: what the miner reads the reports with."""
        listed = np.where(self.matrix() < _LEAST, 0.0, self.matrix())
        return Dense.from_probabilities((listed / listed.sum(axis=1, keepdims=True)).tolist())

    def reported(self, values: Tensor, rng: np.random.Generator) -> npt.NDArray[np.uint8]:
        """Add noise to values and return the numbers of the intervals the sums lie in."""
        noisy = values + self._noise(len(values), rng)
        numbers = np.floor(noisy / self.width).astype(np.int64) + self.beyond
        return np.clip(numbers, 0, self.reports - 1).astype(np.uint8)

    def _noise(self, size: int, rng: np.random.Generator) -> Tensor:
        if self.kind == "uniform":
            return rng.uniform(-self.scale, self.scale, size)
        if self.kind == "normal":
            return rng.normal(0.0, self.scale, size)
        return rng.laplace(0.0, self.scale, size)
