"""Marginal tables: raw counts, and the errors that follow from their estimators (Ma theorem 2).

Sums over the reports of products of the estimators determine both errors:

    given the true records     products - diag(N^)          only the randomization varies
    against the population     products - N^ N^' / n        the n records are sampled as well
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pramana_core.domain import Domain
from pramana_core.errors import LimitExceeded
from pramana_core.marginals.score_interval import (
    FEW,
    normal_quantile,
    possible,
    ratio_interval,
    score_interval,
    variance_of,
)

if TYPE_CHECKING:
    import pandas as pd

Tensor = npt.NDArray[np.float64]
Moments = tuple[Tensor, Tensor, Tensor]

LEVEL = 0.95
"""The default confidence of the intervals of a table's cells."""

COVARIANCE_CELLS = 4096
"""The maximum number of cells of a table whose covariance matrix is listed."""

_NUMBERS = (
    "count",
    "share",
    "projected",
    "se_records",
    "se_population",
    "low",
    "high",
    "filled_in",
)
"""The numeric columns in the frames of tables."""


@dataclass(frozen=True)
class MarginalTable(ABC):
    """Raw counts over the variables of a domain, possibly fractional or negative, with errors.

    `population` chooses the error: False is the noise of randomization alone, True adds the
    sampling of the records from their population.
    """

    domain: Domain
    counts: Tensor
    records: int

    @property
    def filled_in(self) -> bool:
        """Whether counts are assembled from smaller tables, assuming no larger interactions."""
        return False

    @property
    def unshrunk(self) -> MarginalTable:
        """The table before shrinkage, from which errors and intervals are computed."""
        return self

    @property
    def supposed(self) -> Tensor:
        """The counts at which the sampling variance of the records is evaluated."""
        return self.counts

    @abstractmethod
    def products(self, weights: Tensor) -> Tensor:
        """Return the sums of products of estimators, (q, q), for weights (q, cells...)."""

    @abstractmethod
    def products_with_cells(self, weights: Tensor) -> Tensor:
        """Return the `products` of each function with each cell, in the shape of `weights`."""

    @abstractmethod
    def resampled(self, draws: int, rng: np.random.Generator) -> Tensor:
        """Return `counts` in bootstrap samples, (draws, cells...), with population covariance."""

    @abstractmethod
    def second_moments(self, summed: Sequence[str]) -> Moments:
        """Return the sums over the reports of W^2, W V and V^2.

        W estimates a cell and V its margin over `summed`. `WW - 2 t WV + t^2 VV` estimates the
        variance of `cell - t * margin` if that difference has expectation 0.
        """

    def interval(self, level: float = LEVEL, *, population: bool) -> tuple[Tensor, Tensor]:
        """Return the ends of each count's score interval, widened to contain the shrunk count.

        They are in [0, N]. With `population` they are for the expected count among N records.
        """
        share, z = self.unshrunk.counts / self.records, normal_quantile(level)
        square = self.second_moments(())[0] / self.records
        square = square + (share - self.supposed / self.records)
        ends = score_interval(share, square, self.records, z, population=self._of(population))
        low, high = possible(*ends, share)
        own = np.clip(self.counts, 0.0, self.records)
        return np.minimum(self.records * low, own), np.maximum(self.records * high, own)

    def ratio_interval(self, summed: Sequence[str], level: float = LEVEL) -> tuple[Tensor, Tensor]:
        """Return intervals, for the population, of each cell's share in its margin over `summed`.

        They are not cut to [0, 1], and cover at least 0 to 1 if the margin may not be positive.
        """
        gone = tuple(self.domain.axis(name) for name in summed)
        tables = (self.unshrunk.counts, self.counts, self.supposed)
        raw, own, supposed = (table.sum(axis=gone, keepdims=True) for table in tables)
        ww, wv, vv = self.second_moments(summed)
        more = tables[0] - tables[2]
        moments = (ww + more, wv + more, vv + (raw - supposed))
        low, high = ratio_interval(tables[0], raw, moments, normal_quantile(level))
        share = np.divide(self.counts, own, out=np.zeros(self.counts.shape), where=own > 0)
        return np.minimum(low, share), np.maximum(high, share)

    def variance(self, *, population: bool) -> Tensor:
        """Return the variance of each raw count, from its interval if there are few records."""
        if population and self.records < FEW:
            wide = variance_of(self.interval(population=True), self.counts, LEVEL)
            return np.maximum(wide, self.variance(population=False))
        second, _, _ = self.second_moments(())
        counts = self.supposed
        part = np.square(counts) / self.records if self._of(population) else counts
        return np.maximum(second - part, 0.0)

    def standard_error(self, *, population: bool) -> Tensor:
        """Return the standard error of each raw count."""
        return np.sqrt(self.variance(population=population))

    def covariance(self, *, population: bool) -> Tensor:
        """Return the covariance matrix of the counts, cells in C order. Raises LimitExceeded."""
        cells = self.counts.size
        if cells > COVARIANCE_CELLS:
            raise LimitExceeded(
                f"A covariance matrix over {cells} cells is too large to list.",
                remedy="Request variances, or fewer variables.",
            )
        each = np.eye(cells).reshape(cells, *self.domain.shape)
        return self.covariance_of(each, population=population)

    def covariance_of(self, weights: Tensor, *, population: bool) -> Tensor:
        """Return the covariance, (q, q), of linear functions of the counts; see `products`."""
        flat, counts = weights.reshape(len(weights), -1), self.supposed.ravel()
        if self._of(population):
            part = np.outer(flat @ counts, flat @ counts) / self.records
        else:
            part = (flat * counts) @ flat.T
        return self.products(weights) - part

    def covariance_with_cells(self, weights: Tensor, *, population: bool) -> Tensor:
        """Return the covariance of each function with each count, in the shape of `weights`."""
        if self._of(population):
            rank = self.supposed.ndim
            part = np.multiply.outer(np.tensordot(weights, self.supposed, rank), self.supposed)
            part /= self.records
        else:
            part = weights * self.supposed
        return self.products_with_cells(weights) - part

    def _of(self, population: bool) -> bool:
        return population

    def frame(self, level: float = LEVEL) -> pd.DataFrame:
        """Return a frame with one row per cell, in C order.

        Its columns are the category labels (named by `column_of`), `count`, `se_records`,
        `se_population`, and the ends `low` and `high` of the interval for the population.
        """
        import pandas as pd

        raw = self.unshrunk
        low, high = raw.interval(level, population=True)
        cells = pd.MultiIndex.from_product(
            [v.categories for v in self.domain], names=list(map(column_of, self.domain.names))
        )
        return pd.DataFrame(
            {
                "count": raw.counts.ravel(),
                "se_records": raw.standard_error(population=False).ravel(),
                "se_population": raw.standard_error(population=True).ravel(),
                "low": low.ravel(),
                "high": high.ravel(),
            },
            index=cells,
        ).reset_index()


def column_of(name: str, others: Container[str] = _NUMBERS) -> str:
    """Return the name of a variable's column in a table's frame, such as `low (variable)`."""
    return f"{name} (variable)" if name in others else name
