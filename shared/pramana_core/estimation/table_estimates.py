"""Tables of estimated counts: from the channels of the sources, or with listed errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pramana_core.domain import Domain, Variable
from pramana_core.estimation.axes import Axis, along_axes
from pramana_core.marginals.counts import Tensor
from pramana_core.marginals.support_counts import excess_of, weighted_sum
from pramana_core.marginals.tables import MarginalTable, Moments


@dataclass(frozen=True, eq=False)
class SourceReports:
    """The reports of one source behind a table over `domain`.

    `fitted` has reported counts with the axes `axes`: for moments the observed counts, for maximum
    likelihood the expected counts. Each record has the weight `factor`; see `weights`.
    """

    domain: Domain
    fitted: Tensor
    axes: tuple[Axis, ...]
    factor: float = 1.0

    @property
    def records(self) -> float:
        """The number of records."""
        return float(self.fitted.sum())

    def estimators(self, weights: Tensor) -> Tensor:
        """Return functions of a report, (q, reports...), for sums of true counts with `weights`.

        The sum of such a function over the reports estimates the weighted sum.
        """
        moved = np.transpose(weights, [0, *(1 + self.domain.axis(v.name) for v in self._kept)])
        cells = [math.prod(v.size for v in part.kept) for part in self.axes]
        return along_axes(Axis.estimator, self.axes, moved.reshape(len(weights), *cells))

    def estimates(self, reports: Tensor) -> Tensor:
        """Return the tables, (q, cells...), estimated from counts of reports, (q, reports...)."""
        made = along_axes(Axis.estimate, self.axes, reports)
        split = made.reshape(len(reports), *(v.size for v in self._kept))
        return np.transpose(split, [0, *(1 + place for place in self._order)])

    def second_moments(self, summed: Sequence[str]) -> Moments:
        """Return the sums of W^2, W V and V^2; see `MarginalTable`."""
        gone = frozenset(summed)
        tensors: Moments = (self.fitted, self.fitted, self.fitted)
        for axis, part in enumerate(self.axes):
            tensors = part.moments(tensors, axis, gone)
        whole = [v.size for v in self._kept]
        margin = [1 if v.name in gone else v.size for v in self._kept]
        ww, wv, vv = (
            np.transpose(tensor.reshape(shape), self._order)
            for tensor, shape in zip(tensors, (whole, whole, margin), strict=True)
        )
        return ww, wv, vv

    @cached_property
    def _kept(self) -> list[Variable]:
        return [v for part in self.axes for v in part.kept]

    @cached_property
    def _order(self) -> list[int]:
        names = [v.name for v in self._kept]
        return [names.index(name) for name in self.domain.names]


@dataclass(frozen=True)
class EstimatedTable(MarginalTable):
    """Counts estimated through the channels: the sum of each source's estimate times its factor a.

    With A = sum a^2 N_i / N, sums of products of estimators are sum a^2 products - (A - 1) N^ N^' /
    N. The last term is the random difference of the sources' records; A is 1 if all factors are.
    """

    sources: tuple[SourceReports, ...]

    @property
    def factors(self) -> Tensor:
        """The weight of a record of each source."""
        return np.array([source.factor for source in self.sources])

    def products(self, weights: Tensor) -> Tensor:
        found = []
        for source in self.sources:
            flat = source.estimators(weights).reshape(len(weights), -1)
            found.append((flat * source.fitted.ravel()) @ flat.T)
        means = weights.reshape(len(weights), -1) @ self.counts.ravel()
        return self._squares(found) - self._excess * np.outer(means, means)

    def products_with_cells(self, weights: Tensor) -> Tensor:
        found = [s.estimates(s.estimators(weights) * s.fitted) for s in self.sources]
        means = np.tensordot(weights, self.counts, self.counts.ndim)
        return self._squares(found) - self._excess * np.multiply.outer(means, self.counts)

    def resampled(self, draws: int, rng: np.random.Generator) -> Tensor:
        found = []
        for source in self.sources:
            records, share = source.records, source.fitted.ravel() / source.records
            sampled = rng.multinomial(round(records), share, size=draws).astype(np.float64)
            found.append(source.estimates(sampled.reshape(draws, *source.fitted.shape)))
        return weighted_sum(self.factors, found)

    def second_moments(self, summed: Sequence[str]) -> Moments:
        gone = tuple(self.domain.axis(name) for name in summed)
        parts = zip(*(source.second_moments(summed) for source in self.sources), strict=True)
        ww, wv, vv = (self._squares(moments) for moments in parts)
        if not self._excess:
            return ww, wv, vv
        margin = self.counts.sum(axis=gone, keepdims=True)
        return (
            ww - self._excess * np.square(self.counts),
            wv - self._excess * self.counts * margin,
            vv - self._excess * np.square(margin),
        )

    def _squares(self, moments: Sequence[Tensor]) -> Tensor:
        return weighted_sum(np.square(self.factors), moments)

    @cached_property
    def _excess(self) -> float:
        each = [source.records for source in self.sources]
        return float(excess_of(self.factors, each)) / self.records


@dataclass(frozen=True, kw_only=True)
class FactoredTable(MarginalTable):
    """Counts with a listed factor of their errors: maximum-likelihood or pooled, shrunk counts.

    If no record reports all variables (`reported` is False), both errors are for the population and
    assume no larger interactions. `covariance_of` adds the product of the shifts.

    Attributes:
        root: R, (cells..., r), where R R' is the population covariance of the unshrunk counts.
        moved: the shift by shrinkage, in the shape of the counts.
        law: the counts at which the sampling variance is evaluated; by default `counts`.
    """

    root: Tensor
    moved: Tensor
    reported: bool = True
    law: Tensor | None = None

    @classmethod
    def likely(
        cls, domain: Domain, counts: Tensor, records: int, products: Tensor
    ) -> FactoredTable:
        """Return maximum-likelihood counts; `products` has their estimators' second moments."""
        flat = counts.ravel()
        values, vectors = np.linalg.eigh(products - np.outer(flat, flat) / records)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        moved = np.zeros_like(counts)
        return cls(domain, counts, records, root=root.reshape(*counts.shape, -1), moved=moved)

    @property
    def filled_in(self) -> bool:
        """Whether the table was made from smaller tables, because no record has all variables."""
        return not self.reported

    @property
    def unshrunk(self) -> FactoredTable:
        """The table before shrinkage. Counts are unbiased if `reported`, and may be negative."""
        return replace(
            self,
            counts=self.counts - self.moved,
            moved=np.zeros_like(self.moved),
            law=self.supposed,
        )

    @property
    def supposed(self) -> Tensor:
        """The counts at which the sampling variance is evaluated."""
        return self.counts if self.law is None else self.law

    def products(self, weights: Tensor) -> Tensor:
        half = weights.reshape(len(weights), -1) @ self._factor(self.moved)
        found: Tensor = half @ half.T
        return found

    def products_with_cells(self, weights: Tensor) -> Tensor:
        factor = self._factor(self.moved)
        found: Tensor = weights.reshape(len(weights), -1) @ factor @ factor.T
        return found.reshape(weights.shape)

    def resampled(self, draws: int, rng: np.random.Generator) -> Tensor:
        root = self.root
        if self.moved.any():
            root = np.concatenate([root, self.moved[..., None]], axis=-1)
        noise = rng.standard_normal((draws, root.shape[-1])) @ root.reshape(-1, root.shape[-1]).T
        drawn: Tensor = self.counts + noise.reshape(draws, *self.counts.shape)
        return drawn

    def second_moments(self, summed: Sequence[str]) -> Moments:
        gone = tuple(self.domain.axis(name) for name in summed)
        factor = self._factor().reshape(*self.counts.shape, -1)
        margin = factor.sum(axis=gone, keepdims=True) if gone else factor
        return (
            np.square(factor).sum(axis=-1),
            (factor * margin).sum(axis=-1),
            np.square(margin).sum(axis=-1),
        )

    def _of(self, population: bool) -> bool:
        return population or not self.reported

    def _factor(self, *more: Tensor) -> Tensor:
        """Return F (cells x r) whose F F' sums the products of estimators. `more` adds columns."""
        flat = self.supposed.reshape(-1, 1)
        parts = (self.root, *more)
        return np.hstack([*(p.reshape(len(flat), -1) for p in parts), flat / np.sqrt(self.records)])
