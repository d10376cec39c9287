"""Tables of estimated counts with their errors: by the channels, as a sum of sources, by a factor.

Two errors are kept apart. Given the true records, only the randomization varies and

    Cov(N^ | D) = P'^-1 diag(P'N) P^-1 - diag(N)                    (Ma theorem 2, design 4);

against the population the records were drawn from, the multinomial part diag(N) - N N'/n is
added. Both are estimated by putting the observed reported counts for P'N and N^ for N.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pramana_core.domain import Domain
from pramana_core.errors import LimitExceeded
from pramana_core.estimation.axes import Axis, Moments, along_axes, arrange
from pramana_core.estimation.information import INFORMATION_CELLS
from pramana_core.marginals.counts import LEVEL, Tensor
from pramana_core.marginals.score_interval import (
    FEW,
    normal_quantile,
    possible,
    ratio_interval,
    score_interval,
    variance_of,
)
from pramana_core.marginals.support_counts import excess_of, weighted_sum

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
"""What columns of numbers are called in the frames of tables, here and at the public face."""

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Estimates(ABC):
    """Raw counts, and the errors that follow from the products of their estimators.

    `domain` has the variables, one per axis of `counts`; these may be fractional or negative.
    """

    domain: Domain
    counts: Tensor
    records: int

    @property
    def filled_in(self) -> bool:
        """Whether the counts are made of smaller tables, supposing no more interact."""
        return False

    @property
    def unshrunk(self) -> Estimates:
        """The raw counts, whose errors and intervals these are; the same where nothing shrinks."""
        return self

    @property
    def supposed(self) -> Tensor:
        """The counts at which the sampling of the records is taken."""
        return self.counts

    @abstractmethod
    def products(self, weights: Tensor) -> Tensor:
        """Return the sums over the reports of the products of estimators of linear functions.

        Takes weights as `covariance_of` and returns a matrix of the same shape.
        """

    @abstractmethod
    def products_with_cells(self, weights: Tensor) -> Tensor:
        """Return these sums for each linear function and each cell, in the shape of `weights`."""

    @abstractmethod
    def resampled(self, draws: int, rng: np.random.Generator) -> Tensor:
        """Return the counts in bootstrap samples of the reports (see `MarginalTable`)."""

    @abstractmethod
    def second_moments(self, summed: Sequence[str]) -> Moments:
        """Return the sums of W^2, W V and V^2 over the reports (see `MarginalTable`)."""

    def interval(self, level: float = LEVEL, *, population: bool) -> tuple[Tensor, Tensor]:
        z = normal_quantile(level)
        second, _, _ = self.second_moments(())
        share, square = self.counts / self.records, second / self.records
        ends = score_interval(share, square, self.records, z, population=population)
        low, high = possible(*ends, share)
        return self.records * low, self.records * high

    def ratio_interval(self, summed: Sequence[str], level: float = LEVEL) -> tuple[Tensor, Tensor]:
        gone = tuple(self.domain.axis(name) for name in summed)
        margin = self.counts.sum(axis=gone, keepdims=True)
        moments = self.second_moments(summed)
        return ratio_interval(self.counts, margin, moments, normal_quantile(level))

    def variance(self, *, population: bool) -> Tensor:
        """Return the variance of each raw count (see the module's formulas).

        Of fewer than `FEW` records that against the population is as large as the interval.
        """
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
        """Return the full covariance matrix of the counts, cells in C order of `domain`.

        Raises:
            LimitExceeded: more than `INFORMATION_CELLS` cells.
        """
        cells = self.counts.size
        if cells > INFORMATION_CELLS:
            raise LimitExceeded(
                f"A covariance matrix over {cells} cells is too large to list.",
                remedy="Ask for variances, or for fewer variables.",
            )
        return self.covariance_of(_each_cell(self.domain), population=population)

    def covariance_of(self, weights: Tensor, *, population: bool) -> Tensor:
        flat, counts = weights.reshape(len(weights), -1), self.supposed.ravel()
        if self._of(population):
            part = np.outer(flat @ counts, flat @ counts) / self.records
        else:
            part = (flat * counts) @ flat.T
        return self.products(weights) - part

    def covariance_with_cells(self, weights: Tensor, *, population: bool) -> Tensor:
        if self._of(population):
            rank = self.supposed.ndim
            part = np.multiply.outer(np.tensordot(weights, self.supposed, rank), self.supposed)
            part /= self.records
        else:
            part = weights * self.supposed
        return self.products_with_cells(weights) - part

    def _of(self, population: bool) -> bool:
        """Say whether the error that is returned is that against the population."""
        return population

    def frame(self, level: float = LEVEL) -> pd.DataFrame:
        """Return the table as a data frame: a row per cell, in C order of `domain`.

        Columns: one of category labels per variable, `count` (raw), `se_records` (the error given
        the records), `se_population`, and `low` and `high`, the interval against the population. A
        variable with the name of a column of numbers has another name here: see `column_of`.
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


@dataclass(frozen=True)
class EstimatedTable(Estimates):
    """A marginal table estimated from reported counts; see `MarginalTable` for its promise.

    `fitted` are the reported counts from which second moments are formed: the observed ones for
    the moment estimate, the expected ones under the estimate for maximum likelihood.
    """

    fitted: Tensor
    axes: tuple[Axis, ...]

    def products(self, weights: Tensor) -> Tensor:
        """Return the sums over the reports of the products of estimators of linear functions.

        Takes weights as `covariance_of` and returns a matrix of the same shape.
        """
        flat = self._estimators(weights).reshape(len(weights), -1)
        matrix: Tensor = (flat * self.fitted.ravel()) @ flat.T
        return matrix

    def products_with_cells(self, weights: Tensor) -> Tensor:
        """Return these sums for each linear function and each cell, in the shape of `weights`."""
        counted = self._estimators(weights) * self.fitted
        made = along_axes(Axis.estimate, self.axes, counted)
        kept = [v for part in self.axes for v in part.kept]
        order = [[v.name for v in kept].index(name) for name in self.domain.names]
        split = made.reshape(len(weights), *(v.size for v in kept))
        return np.transpose(split, [0, *(1 + place for place in order)])

    def _estimators(self, weights: Tensor) -> Tensor:
        """Return the functions of a report that estimate linear functions, (q, reports...)."""
        order = [v.name for part in self.axes for v in part.kept]
        moved = np.transpose(weights, [0, *(1 + self.domain.axis(n) for n in order)])
        cells = [math.prod(v.size for v in part.kept) for part in self.axes]
        return along_axes(Axis.estimator, self.axes, moved.reshape(len(weights), *cells))

    def resampled(self, draws: int, rng: np.random.Generator) -> Tensor:
        share = self.fitted.ravel() / self.fitted.sum()
        sampled = rng.multinomial(self.records, share, size=draws).astype(np.float64)
        estimate: Tensor = np.moveaxis(sampled.reshape(draws, *self.fitted.shape), 0, -1)
        for axis, part in enumerate(self.axes):
            estimate = part.estimate(estimate, axis)
        kept = [v for part in self.axes for v in part.kept]
        order = [[v.name for v in kept].index(name) for name in self.domain.names]
        split = estimate.reshape(*(v.size for v in kept), draws)
        return np.transpose(split, [len(order), *order])

    def second_moments(self, summed: Sequence[str]) -> Moments:
        names = frozenset(summed)
        for name in names:
            self.domain.axis(name)
        tensors: Moments = (self.fitted, self.fitted, self.fitted)
        for axis, part in enumerate(self.axes):
            tensors = part.moments(tensors, axis, names)
        ww, wv, vv = tensors
        return self._arrange(ww), self._arrange(wv), self._arrange(vv, names)

    def _arrange(self, tensor: Tensor, summed: frozenset[str] = frozenset()) -> Tensor:
        return arrange(tensor, self.axes, self.domain, summed)


@dataclass(frozen=True)
class CombinedTable(Estimates):
    """The weighted sum of tables of different records; see `MarginalTable` for its promise.

    With a the factors (see `weights`), the counts are those of all records if the sources are
    draws from one population. With A = sum a^2 N_i / N their errors are

        sum a^2 products - A N^ N^' / N    against the population, and
        that less diag(N^) - N^ N^' / N    against the records,

    which includes by how much the sources' records differ by chance, for weighting takes the
    shares of one for another's. Where all factors are 1 the tables add up, and A is 1.
    """

    tables: tuple[Estimates, ...]
    factors: Tensor

    @classmethod
    def of(cls, tables: Sequence[Estimates], factors: Tensor | None = None) -> CombinedTable:
        """Return the sum of some tables over the same variables, each times its factor."""
        factors = np.ones(len(tables)) if factors is None else factors
        counts = weighted_sum(factors, [table.counts for table in tables])
        records = sum(table.records for table in tables)
        return cls(tables[0].domain, counts, records, tuple(tables), factors)

    def products(self, weights: Tensor) -> Tensor:
        means = weights.reshape(len(weights), -1) @ self.counts.ravel()
        return self._squares([table.products(weights) for table in self.tables]) - (
            self._excess * np.outer(means, means)
        )

    def products_with_cells(self, weights: Tensor) -> Tensor:
        means = np.tensordot(weights, self.counts, self.counts.ndim)
        parts = [table.products_with_cells(weights) for table in self.tables]
        return self._squares(parts) - self._excess * np.multiply.outer(means, self.counts)

    def resampled(self, draws: int, rng: np.random.Generator) -> Tensor:
        return weighted_sum(self.factors, [table.resampled(draws, rng) for table in self.tables])

    def second_moments(self, summed: Sequence[str]) -> Moments:
        gone = tuple(self.domain.axis(name) for name in summed)
        margin = self.counts.sum(axis=gone, keepdims=True)
        parts = zip(*(table.second_moments(summed) for table in self.tables), strict=True)
        ww, wv, vv = (self._squares(moments) for moments in parts)
        return (
            ww - self._excess * np.square(self.counts),
            wv - self._excess * self.counts * margin,
            vv - self._excess * np.square(margin),
        )

    def _squares(self, moments: Sequence[Tensor]) -> Tensor:
        return weighted_sum(np.square(self.factors), moments)

    @property
    def _excess(self) -> float:
        """(A - 1) / N."""
        return float(excess_of(self.factors, [t.records for t in self.tables])) / self.records


@dataclass(frozen=True, kw_only=True)
class FactoredTable(Estimates):
    """Counts with a listed factor of their errors: the most likely ones, or pooled and shrunk ones.

    The errors suppose that no more variables interact where no record reports all variables
    (`told` is false): the table then has the largest entropy for its parts, and the error against
    the population is returned for either. Errors and intervals are those of the counts before
    shrinkage, widened where an interval does not hold the shrunk count. The covariance of functions
    of the shrunk counts (`covariance_of`) is a bound: the product of their shifts is added.

    Attributes:
        root: R, (cells..., r), with R R' the population covariance of the counts before shrinkage.
        moved: the shift by shrinkage, in the shape of the counts.
        told: whether some records report all the variables.
        law: the counts at which sampling is taken; by default `counts`.
    """

    root: Tensor
    moved: Tensor
    told: bool = True
    law: Tensor | None = None

    @classmethod
    def likely(
        cls, domain: Domain, counts: Tensor, records: int, products: Tensor
    ) -> FactoredTable:
        """Return the most likely counts; `products` are the second moments of their estimators."""
        flat = counts.ravel()
        values, vectors = np.linalg.eigh(products - np.outer(flat, flat) / records)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        moved = np.zeros_like(counts)
        return cls(domain, counts, records, root=root.reshape(*counts.shape, -1), moved=moved)

    @property
    def filled_in(self) -> bool:
        """Whether it is made of smaller tables: no record tells of all its variables at once."""
        return not self.told

    @property
    def unshrunk(self) -> FactoredTable:
        """The table before shrinkage: unbiased where `told`; its counts may be negative."""
        return replace(
            self,
            counts=self.counts - self.moved,
            moved=np.zeros_like(self.moved),
            law=self.supposed,
        )

    @property
    def supposed(self) -> Tensor:
        """The counts at which sampling is taken."""
        return self.counts if self.law is None else self.law

    def products(self, weights: Tensor) -> Tensor:
        half = weights.reshape(len(weights), -1) @ self._factor(self.moved)
        found: Tensor = half @ half.T
        return found

    def products_with_cells(self, weights: Tensor) -> Tensor:
        factor = self._factor(self.moved)
        half = weights.reshape(len(weights), -1) @ factor
        found: Tensor = half @ factor.T
        return found.reshape(weights.shape)

    def resampled(self, draws: int, rng: np.random.Generator) -> Tensor:
        root = self.root
        if self.moved.any():
            root = np.concatenate([root, self.moved[..., None]], axis=-1)
        noise = rng.standard_normal((draws, root.shape[-1])) @ root.reshape(-1, root.shape[-1]).T
        drawn: Tensor = self.counts + noise.reshape(draws, *self.counts.shape)
        return drawn

    def second_moments(self, summed: Sequence[str]) -> Moments:
        if not summed:
            own = np.square(self.root).sum(axis=-1) + np.square(self.supposed) / self.records
            return own, own, own
        gone = tuple(self.domain.axis(name) for name in summed)
        factor = self._factor().reshape(*self.counts.shape, -1)
        margin = factor.sum(axis=gone, keepdims=True)
        return (
            np.square(factor).sum(axis=-1),
            (factor * margin).sum(axis=-1),
            np.square(margin).sum(axis=-1),
        )

    def interval(self, level: float = LEVEL, *, population: bool) -> tuple[Tensor, Tensor]:
        whole = self._of(population)
        share = self.unshrunk.counts / self.records
        # The variance given the records, at the supposed counts; sampling is that of each share.
        square = self.variance(population=False) / self.records + share
        if whole and not self.told:
            square -= self.supposed / self.records * (1 - self.supposed / self.records)
        z = normal_quantile(level)
        ends = score_interval(share, square, self.records, z, population=whole)
        low, high = possible(*ends, share)
        held = np.clip(self.counts, 0.0, self.records)
        return np.minimum(self.records * low, held), np.maximum(self.records * high, held)

    def ratio_interval(self, summed: Sequence[str], level: float = LEVEL) -> tuple[Tensor, Tensor]:
        """Return intervals of cells' shares of their margins, holding the shrunk ones."""
        gone = tuple(self.domain.axis(name) for name in summed)
        cells = [self.unshrunk.counts, self.counts, self.supposed]
        raw, shrunk, supposed = (cell.sum(axis=gone, keepdims=True) for cell in cells)
        ww, wv, vv = self.second_moments(summed)
        more = cells[0] - cells[2]
        moments = (ww + more, wv + more, vv + raw - supposed)
        ends = ratio_interval(cells[0], raw, moments, normal_quantile(level))
        share = np.divide(self.counts, shrunk, out=np.zeros(self.counts.shape), where=shrunk > 0)
        return np.minimum(ends[0], share), np.maximum(ends[1], share)

    def _of(self, population: bool) -> bool:
        return population or not self.told

    def _factor(self, *more: Tensor) -> Tensor:
        """Return F, cells x r, with F F' the sums over the reports of products of estimators.

        `more` are columns of it besides.
        """
        flat = self.supposed.reshape(-1, 1)
        parts = (self.root, *more)
        return np.hstack([*(p.reshape(len(flat), -1) for p in parts), flat / np.sqrt(self.records)])


def _each_cell(domain: Domain) -> Tensor:
    return np.eye(domain.size).reshape(domain.size, *domain.shape)


def column_of(name: str, others: Container[str] = _NUMBERS) -> str:
    """Return what the column of a variable is called in the frame of a table: as it is itself.

    A variable called `low`, as one of the other columns is, has the column `low (variable)`.
    """
    return f"{name} (variable)" if name in others else name
