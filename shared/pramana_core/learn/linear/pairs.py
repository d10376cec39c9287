"""Least squares from pairs: all that it needs of the records are second moments of its columns.

The normal equations S w = m are sums over the tables of two features and of a feature and the
class, whatever the number of all cells. Pairs that no record reports together are filled in as
independent given the class: of all distributions with the known pairs that one has the largest
entropy.

Noise may leave S with small or negative eigenvalues, along which w would be wild. Those below the
standard error of an entry of S (of the columns scaled, per record) are raised to it. Otherwise the
weights are as bold as the tables: where these are shrunk as their noise demands, nothing is left
to be shrunk. Without randomization S stays as it is, and w is that of the records.

The error of w is S^-1 times that of m - S w, a sum over the tables of linear functions of each.
They are taken as independent of each other: records that report different sets are different
records. Without randomization all pairs are of the same records, and the error is that of residuals
of one variance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from pramana_core.domain import Domain
from pramana_core.learn.bayes_classifier.learning import LogOdds
from pramana_core.learn.linear.columns import DesignMatrix
from pramana_core.learn.linear.pocket import definite, penalty
from pramana_core.learn.linear.sources import Moments
from pramana_core.marginals.counts import Marginals, MarginalTable, Tensor
from pramana_core.progress import Tick

_NOISELESS = 1e-9
_LEAST, _LEAST_VALUE = 1e-12, 1e-3


@dataclass(frozen=True, eq=False)
class PairTables:
    """The tables of a classifier's features with the class, and of those pairs that are told."""

    design: DesignMatrix
    of_class: MarginalTable
    with_class: tuple[MarginalTable, ...]
    between: dict[tuple[int, int], MarginalTable]

    @classmethod
    def of(
        cls,
        marginals: Marginals,
        design: DesignMatrix,
        features: Domain,
        target: str,
        tick: Tick,
    ) -> PairTables:
        """Ask for them: the class is the last axis, features are numbered."""

        def table(*names: str) -> MarginalTable:
            tick()
            return marginals.marginal(names)

        names, between = features.names, {}
        with_class = tuple(table(name, target) for name in names)
        for one, two in combinations(range(len(names)), 2):
            if marginals.can_estimate((names[one], names[two])):
                between[one, two] = table(names[one], names[two])
        return cls(design, table(target), with_class, between)

    @property
    def records(self) -> int:
        """The number of records."""
        return self.of_class.records

    @property
    def filled(self) -> int:
        """How many pairs of features are filled in."""
        size = len(self.with_class)
        return size * (size - 1) // 2 - len(self.between)

    @cached_property
    def noisy(self) -> bool:
        """Whether the tables have an error given the records."""
        return not all(map(_noiseless, (self.of_class, *self.with_class)))

    @cached_property
    def moments(self) -> Moments:
        """The sums over the records of products of columns, and of columns by class."""
        tables = [table.counts for table in self.with_class]
        pairs = {pair: table.counts for pair, table in self.between.items()}
        for one, two in combinations(range(len(tables)), 2):
            if (one, two) not in pairs:
                pairs[one, two] = tables[one] @ (self._given_class[two]).T
        second = self.design.products([table.sum(axis=1) for table in tables], pairs)
        blocks = zip(self.design.blocks, tables, strict=True)
        by_class = [self.of_class.counts[None], *(block.T @ table for block, table in blocks)]
        return Moments(second, np.concatenate(by_class))

    @cached_property
    def _given_class(self) -> list[Tensor]:
        """The distribution of each feature given the class, (categories, classes)."""
        found = []
        for table in self.with_class:
            size = table.counts.sum(axis=0)
            there = size > _LEAST * self.records
            found.append(np.where(there, table.counts, 0.0) / np.where(there, size, 1.0))
        return found

    @cached_property
    def entry_error(self) -> float:
        """The standard error of an entry of S per record, of features told together, on average."""
        variances = [np.zeros(0)]
        for (one, two), table in self.between.items():
            blocks = self.design.blocks[one].T, self.design.blocks[two].T
            functions = blocks[0][:, None, :, None] * blocks[1][None, :, None, :]
            functions = functions.reshape(-1, *table.counts.shape)
            variances.append(np.diag(table.covariance_of(functions, population=False)))
        every = np.concatenate(variances)
        return float(np.sqrt(np.maximum(every, 0.0).mean())) / self.records if len(every) else 0.0

    def error(self, weights: Tensor, positive: int, *, population: bool) -> Tensor:
        """Return the covariance of m - S w for the targets +1 of a class and -1 of others.

        Shape (size, size). Against the population, without randomization, that of residuals of one
        variance: pairs do not tell how it differs between records.
        """
        if not self.noisy:
            if not population:
                return np.zeros((self.design.size,) * 2)
            return self._residual(weights, positive) * self.moments.second
        return self._of_tables(weights, positive, population=population)

    def _residual(self, weights: Tensor, positive: int) -> float:
        towards = _towards(self.moments, positive)
        square = self.records - 2 * weights @ towards + weights @ self.moments.second @ weights
        return max(float(square), 0.0) / self.records

    def _of_tables(self, weights: Tensor, positive: int, *, population: bool) -> Tensor:
        places, blocks = self.design.places, self.design.blocks
        scores = [block @ weights[at] for block, at in zip(blocks, places, strict=True)]
        targets = 2.0 * (np.arange(self.of_class.counts.size) == positive) - 1
        total = np.zeros((self.design.size,) * 2)
        of_class = np.zeros((self.design.size, len(targets)))
        of_class[0] = targets
        for own, table in enumerate(self.with_class):
            at, block = places[own], blocks[own]
            function = np.zeros((self.design.size, *table.counts.shape))
            rest = targets[None, :] - weights[0] - scores[own][:, None]
            function[at] = block.T[:, :, None] * rest
            function[0] = -scores[own][:, None]
            self._fill_in(own, scores, function, of_class)
            rows = np.flatnonzero(np.abs(function).reshape(len(function), -1).any(axis=1))
            total[np.ix_(rows, rows)] += table.covariance_of(function[rows], population=population)
        for (one, two), table in self.between.items():
            left = -blocks[one].T[:, :, None] * scores[two]
            right = -scores[one][:, None] * blocks[two].T[:, None, :]
            rows = np.r_[places[one], places[two]]
            functions = np.concatenate([left, right])
            total[np.ix_(rows, rows)] += table.covariance_of(functions, population=population)
        return total + self.of_class.covariance_of(of_class, population=population)

    def _fill_in(
        self, own: int, scores: Sequence[Tensor], function: Tensor, of_class: Tensor
    ) -> None:
        """Add what the pairs that are filled in take from a feature's table with the class."""
        others = [
            other
            for other in range(len(self.with_class))
            if other != own and (min(own, other), max(own, other)) not in self.between
        ]
        if not others:
            return
        places, blocks, given = self.design.places, self.design.blocks, self._given_class
        mean = blocks[own].T @ given[own]
        moved = np.sum([scores[other] @ given[other] for other in others], axis=0)
        function[places[own]] -= (blocks[own].T[:, :, None] - mean[:, None, :]) * moved
        of_class[places[own]] -= mean * moved
        off = scores[own][:, None] - scores[own] @ given[own]
        for other in others:
            function[places[other]] -= (blocks[other].T @ given[other])[:, None, :] * off


@dataclass(frozen=True, eq=False)
class PairEquation:
    """The normal equations of some tables, with a penalty, as they are solved for each class."""

    tables: PairTables
    l2: float

    @cached_property
    def slope(self) -> Tensor | None:
        """S, its eigenvalues raised to `floor`, with the penalty.

        None if records that are not randomized leave columns that depend on each other.
        """
        tables = self.tables
        per_record = tables.moments.second / tables.records
        if self.floor > 0:
            values, vectors = np.linalg.eigh(per_record)
            per_record = (vectors * np.maximum(values, self.floor)) @ vectors.T
        slope = per_record + penalty(len(per_record), self.l2)
        found: Tensor = tables.records * slope
        return found if definite(slope) else None

    @cached_property
    def floor(self) -> float:
        """The least eigenvalue per record; 0 of records that are not randomized."""
        if not self.tables.noisy:
            return 0.0
        return max(_LEAST_VALUE, self.tables.entry_error)

    def solve(self, positive: int) -> Tensor | None:
        """Return scaled weights for targets +1 of a class and -1 of all others."""
        if self.slope is None:
            return None
        towards = _towards(self.tables.moments, positive)
        weights: Tensor = cho_solve(cho_factor(self.slope), towards)
        return weights

    def covariances(self, weights: Tensor, positive: int) -> tuple[Tensor, Tensor]:
        """Return the covariance of a solution, against the population and given the records."""
        assert self.slope is not None  # noqa: S101 - there is a solution
        inverse = np.linalg.inv(self.slope)
        population, given = (
            inverse @ self.tables.error(weights, positive, population=which) @ inverse
            for which in (True, False)
        )
        return population, given


def _noiseless(table: MarginalTable) -> bool:
    return float(table.variance(population=False).max()) <= _NOISELESS * table.records


def _towards(moments: Moments, positive: int) -> Tensor:
    own = moments.by_class[:, positive]
    found: Tensor = 2 * own - moments.by_class.sum(axis=1)
    return found


def odds_weights(design: DesignMatrix, features: Domain, odds: LogOdds, place: int) -> Tensor:
    """Return scaled weights by which the columns add up to the scores of naive Bayes.

    Args:
        design: columns that can: for each feature one less than its categories.
        features: the features, in the design's order.
        odds: the scores.
        place: the class's place in them.

    Returns:
        Shape (1 + draws, size): the model's own first.
    """
    found = np.zeros((len(odds.prior), design.size))
    found[:, 0] = odds.prior[:, place]
    for variable, block, at in zip(features, design.blocks, design.places, strict=True):
        inner = np.column_stack([np.ones(variable.size), block])
        scores = odds.tables[variable.name][:, place]
        weights = np.linalg.lstsq(inner, scores.T, rcond=None)[0].T
        found[:, 0] += weights[:, 0]
        found[:, at] = weights[:, 1:]
    return found
