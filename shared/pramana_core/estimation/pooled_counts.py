"""Tables pooled over overlapping sets, with the errors of what was pooled and what shrinkage moved.

The error of the estimates before shrinkage is their variances, and a matrix R with R R' their
covariance: a table of many variables has few columns in it, for it follows from those of few. For
a pair of many categories R takes far longer than the variances, and is made when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pramana_core.estimation.axes import Moments
from pramana_core.estimation.table_estimates import Estimates
from pramana_core.marginals.counts import LEVEL, Tensor
from pramana_core.marginals.score_interval import (
    MORE,
    Tilt,
    normal_quantile,
    possible,
    ratio_interval,
    score_interval,
)


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
    shrinkage took the counts from those, in their shape. Standard errors and intervals are those
    of the counts before shrinkage, and agree with each other; intervals are widened where they do
    not hold the shrunk counts. Shrinkage makes estimates better on average over tables, and
    intervals must hold for each. The covariance of functions of the shrunk counts
    (`covariance_of`) is a bound: it has the product of what they were moved by added.

    `told`: some records report all the variables. Otherwise the table is that of largest entropy
    for what is told, its errors suppose that no more variables interact, and the error against
    the population is returned for either.

    `law` are the counts at which sampling is taken; by default `counts`.
    """

    spread: Spread
    moved: Tensor
    told: bool = True
    law: Tensor | None = None

    @property
    def filled_in(self) -> bool:
        """Whether it is made of smaller tables: no record tells of all its variables at once."""
        return not self.told

    @property
    def unshrunk(self) -> PooledTable:
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
        """Return the sums over the reports of products; see `Estimates.products`."""
        half = weights.reshape(len(weights), -1) @ self._factor(self.moved)
        found: Tensor = half @ half.T
        return found

    def products_with_cells(self, weights: Tensor) -> Tensor:
        """Return these sums for each function and each cell; see `Estimates`."""
        factor = self._factor(self.moved)
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
        """Return the sums of W^2, W V and V^2 before shrinkage (see `MarginalTable`)."""
        if not summed:
            own = self.spread.variance + np.square(self.supposed) / self.records
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
        whole = self._of(population)
        share = self.unshrunk.counts / self.records
        # The variance given the records, at the supposed counts; sampling is that of each share.
        square = self.variance(population=False) / self.records + share
        if whole and not self.told:
            square -= self.supposed / self.records * (1 - self.supposed / self.records)
        slope, z = self.tilt().slope, normal_quantile(level)
        ends = score_interval(share, square, slope, self.records, z, population=whole)
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

    def tilt(self, more: float = MORE) -> Tilt:  # noqa: ARG002
        """Return that of noise that is the same whatever the share is."""
        return Tilt.flat(self.counts.shape)

    def _of(self, population: bool) -> bool:
        return population or not self.told

    def _factor(self, *more: Tensor) -> Tensor:
        """Return F, cells x r, with F F' the sums over the reports of products of estimators.

        `more` are columns of it besides.
        """
        flat = self.supposed.reshape(-1, 1)
        parts = (self.spread.root, *more)
        return np.hstack([*(p.reshape(len(flat), -1) for p in parts), flat / np.sqrt(self.records)])
