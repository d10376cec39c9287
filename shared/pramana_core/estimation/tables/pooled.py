"""Tables pooled over overlapping sets, with the errors of what was pooled and what shrinkage moved.

The error of the estimates before shrinkage is their variances, and a matrix R with R R' their
covariance: a table of many variables has few columns in it, for it follows from those of few. For a
pair of many categories R takes far longer than the variances, and is made when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pramana_core.estimation.core.axes import Moments
from pramana_core.estimation.tables.estimates import Estimates
from pramana_core.marginals.counts import LEVEL, Tensor
from pramana_core.marginals.quantile import normal_quantile
from pramana_core.marginals.ratio_interval import ratio_interval
from pramana_core.marginals.score_interval import MORE, Tilt, possible, score_interval


@dataclass(frozen=True, eq=False)
class Spread:
    """The population covariance of some counts: its diagonal, and a root of it.

    Attributes:
        variance: in the counts' shape.
        make: makes the root, (cells..., r): its product with itself is the covariance.
        held: how many numbers all this keeps in memory.
    """

    variance: Tensor
    make: Callable[[], Tensor]
    held: int

    @classmethod
    def of(cls, root: Tensor) -> Spread:
        """Return that of a root."""
        return cls(np.square(root).sum(axis=-1), lambda: root, root.size)

    @property
    def root(self) -> Tensor:
        """The root, (cells..., r)."""
        return self.make()

    def turned(self, order: Sequence[int]) -> Spread:
        """Return it with the axes in another order."""
        make = self.make
        return Spread(
            self.variance.transpose(order),
            lambda: make().transpose([*order, len(order)]),
            self.held,
        )


@dataclass(frozen=True, kw_only=True)
class PooledTable(Estimates):
    """A table of pooled and shrunk counts; see `MarginalTable` for its promise.

    `spread` is the population covariance of the counts before shrinkage; `moved` is how far
    shrinkage took the counts from those, in their shape. Standard errors and covariances have the
    square of `moved` added. Intervals are those of the counts before shrinkage, widened where they
    do not hold the shrunk ones: shrinkage makes estimates better on average over tables, and
    intervals must hold for each.

    `told`: some records report all the variables. Otherwise the table is that of largest entropy
    for what is told, its errors suppose that no more variables interact, and the error against
    the population is returned for either.
    """

    spread: Spread
    moved: Tensor
    told: bool = True

    @property
    def filled_in(self) -> bool:
        """Whether it is made of smaller tables: no record tells of all its variables at once."""
        return not self.told

    @property
    def unshrunk(self) -> PooledTable:
        """The table before shrinkage: unbiased where `told`; its counts may be negative."""
        return PooledTable(
            self.domain,
            self.counts - self.moved,
            self.records,
            spread=self.spread,
            moved=np.zeros_like(self.moved),
            told=self.told,
        )

    def products(self, weights: Tensor) -> Tensor:
        """Return the sums over the reports of products; see `Estimates.products`."""
        factor = self._factor()
        half = weights.reshape(len(weights), -1) @ factor
        found: Tensor = half @ half.T
        return found

    def products_with_cells(self, weights: Tensor) -> Tensor:
        """Return these sums for each function and each cell; see `Estimates`."""
        factor = self._factor()
        half = weights.reshape(len(weights), -1) @ factor
        found: Tensor = half @ factor.T
        return found.reshape(weights.shape)

    def resampled(self, draws: int, rng: np.random.Generator) -> Tensor:
        """Return the counts with normal deviates of their covariance; see `MarginalTable`."""
        root = np.concatenate([self.spread.root, self.moved[..., None]], axis=-1)
        noise = rng.standard_normal((draws, root.shape[-1])) @ root.reshape(-1, root.shape[-1]).T
        drawn: Tensor = self.counts + noise.reshape(draws, *self.counts.shape)
        return drawn

    def second_moments(self, summed: Sequence[str]) -> Moments:
        """Return the sums of W^2, W V and V^2 over the reports (see `MarginalTable`)."""
        if not summed:
            own = np.square(self.counts) / self.records
            own = self.spread.variance + np.square(self.moved) + own
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
        """Return the intervals of the counts (see `MarginalTable`), holding the shrunk ones."""
        raw, z = self.unshrunk, normal_quantile(level)
        second, _, _ = raw.second_moments(())
        share, square = raw.counts / self.records, second / self.records
        slope = self.tilt().slope
        ends = score_interval(
            share, square, slope, self.records, z, population=self._of(population)
        )
        low, high = possible(*ends, share)
        return (
            np.minimum(self.records * low, self.counts),
            np.maximum(self.records * high, self.counts),
        )

    def ratio_interval(self, summed: Sequence[str], level: float = LEVEL) -> tuple[Tensor, Tensor]:
        """Return intervals of cells' shares of their margins, holding the shrunk ones."""
        raw = self.unshrunk
        gone = tuple(self.domain.axis(name) for name in summed)
        margins = [table.counts.sum(axis=gone, keepdims=True) for table in (raw, self)]
        ends = ratio_interval(
            raw.counts, margins[0], raw.second_moments(summed), normal_quantile(level)
        )
        share = np.divide(
            self.counts, margins[1], out=np.zeros(self.counts.shape), where=margins[1] > 0
        )
        return np.minimum(ends[0], share), np.maximum(ends[1], share)

    def tilt(self, more: float = MORE) -> Tilt:  # noqa: ARG002
        """Return that of noise that is the same whatever the share is."""
        return Tilt.flat(self.counts.shape)

    def _of(self, population: bool) -> bool:
        return population or not self.told

    def _factor(self) -> Tensor:
        """Return F, cells x r, with F F' the sums over the reports of products of estimators."""
        flat = self.counts.reshape(-1, 1)
        parts = (self.spread.root.reshape(len(flat), -1), self.moved.reshape(-1, 1))
        return np.hstack([*parts, flat / np.sqrt(self.records)])
