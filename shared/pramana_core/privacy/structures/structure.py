"""What each structure of a channel must answer so that every measure works at any size.

A measure asks a `ChannelStructure` and never a matrix: a mixture answers in closed form, a grouped
or sampled channel asks its parts, and only a channel without structure walks its columns.

Throughout, a prior is an array of shape (size,) that sums to 1, or None for the uniform one over
the possible truths. Only reports that can occur under the prior count. An array over the truths
may have shape (1,) where all its entries are equal, so that 10^12 cells cost nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pramana_core.marginals.counts import Tensor


@dataclass(frozen=True)
class Plausible:
    """How many truths stay plausible after a report, and how evenly (Ma 3.1.3).

    `fewest` is the smallest number over the reports; `least` and `most` are the smallest and the
    largest divergence, in bits, of a report's posterior from the uniform distribution over the
    truths it leaves plausible.
    """

    fewest: int
    least: float
    most: float

    @staticmethod
    def of_sums(count: npt.NDArray[np.int64], mass: Tensor, logs: Tensor) -> Plausible:
        """Return the extremes over reports from sums over the truths each leaves plausible.

        Per report: their number, and the sums of w and of w log2 w, w proportional to the
        posterior. The divergence from the uniform is log2 count + logs / mass - log2 mass. A
        report that leaves none counts as 0 truths and no divergence.
        """
        some = (count > 0) & (mass > 0)
        safe = np.where(some, mass, 1.0)
        bits = np.log2(np.where(some, count, 1)) + logs / safe - np.log2(safe)
        bits = np.where(some, np.maximum(bits, 0.0), 0.0)
        return Plausible(int(np.where(some, count, 0).min()), float(bits.min()), float(bits.max()))

    @staticmethod
    def over(parts: list[Plausible]) -> Plausible:
        """Return the extremes over several sets of reports."""
        return Plausible(
            min(p.fewest for p in parts), min(p.least for p in parts), max(p.most for p in parts)
        )


class ChannelStructure(ABC):
    """A channel as seen by someone who knows the prior and sees the report."""

    @property
    @abstractmethod
    def size(self) -> int:
        """K, the number of true categories, the impossible ones included."""

    @property
    @abstractmethod
    def gamma(self) -> float:
        """The largest ratio of two entries of a column of P over the possible truths."""

    @abstractmethod
    def information(self, prior: Tensor | None) -> float:
        """Return the mutual information of truth and report, in bits."""

    @abstractmethod
    def extremes(self, prior: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return each truth's smallest and largest posterior over the reports."""

    @abstractmethod
    def bayes_mass(self, weights: Tensor | None) -> float:
        """Return the sum over reports m of max_k weights[k] P[k, m]; weights need not sum to 1."""

    @abstractmethod
    def plausible(self, prior: Tensor | None, threshold: float) -> Plausible:
        """Return how many truths have a posterior above `threshold`, and how evenly."""

    def uniform(self) -> Tensor:
        """Return the prior that None stands for; impossible truths have 0."""
        return np.array([1 / self.size])
