"""Least squares from pairs: all that it needs of the records are second moments of its columns.

The normal equations S w = m are sums over the tables of two features and of a feature and the
class, whatever the number of all cells. Pairs that no record reports together are filled in as
independent given the class: of all distributions with the known pairs that one has the largest
entropy.

Both S and m have the noise of the reports. Their joint error at weights w is that of m - S w, a sum
over the tables of linear functions of each, taken as independent of each other (records that report
different sets are different records). Noise makes S w = m wild: the weights are the posterior mean
under a normal prior of one variance t for the scaled weights,

    w = t S (t S S + C)^-1 m,        m ~ N(0, t S S + C),

C being the error given the records and t the most likely one (empirical Bayes; Efron and Morris
1973). Without randomization C is 0 and w solves the normal equations. S need not be positive
definite for this. Errors and intervals are those of the equation's own solution, which no prior
moves; where S is not positive definite there are none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from shared.domain import Domain
from shared.learn.bayes_classifier.odds import LogOdds
from shared.learn.linear.columns import DesignMatrix
from shared.learn.linear.solving import definite, penalty
from shared.learn.linear.sources import Moments
from shared.marginals.counts import Marginals, MarginalTable, Tensor
from shared.progress import Tick

_NOISELESS = 1e-9
_PRIORS = 4.0 ** np.arange(-10.0, 4.0)
_ROUNDS = 3
_LEAST = 1e-12


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
        *,
        raw: bool,
    ) -> PairTables:
        """Ask for them: raw ones where there are such, or those the marginals hold for best."""

        def table(*names: str) -> MarginalTable:
            tick()
            found = marginals.unbiased(names) if raw else None
            return found or marginals.marginal(names)

        names, between = features.names, {}
        with_class = tuple(table(name, target) for name in names)
        for one, two in combinations(range(len(names)), 2):
            if marginals.tells((names[one], names[two])):
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
        tables = [self.of_class, *self.with_class]
        largest = max(float(t.variance(population=False).max()) for t in tables)
        return largest > _NOISELESS * self.records

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


def solve_pairs(tables: PairTables, positive: int, l2: float) -> Tensor | None:
    """Return scaled weights of least squares for targets +1 of a class and -1 of all others.

    None if records that are not randomized leave columns that depend on each other.
    """
    slope, towards = _equation(tables, positive, l2)
    if not tables.noisy:
        solvable = definite(slope / tables.records)
        return cho_solve(cho_factor(slope), towards) if solvable else None
    weights = np.zeros(len(slope))
    weights[0] = towards[0] / tables.records
    for _ in range(_ROUNDS):
        error = tables.error(weights, positive, population=False)
        weights = _posterior(slope, towards, error)
    return weights


def pair_errors(
    tables: PairTables, positive: int, l2: float
) -> tuple[Tensor, tuple[Tensor, Tensor]] | None:
    """Return the equation's own solution, and its covariance against population and records.

    None where the moment matrix is not positive definite, or hardly so.
    """
    slope, towards = _equation(tables, positive, l2)
    if not definite(slope / tables.records):
        return None
    factor = cho_factor(slope)
    weights, inverse = cho_solve(factor, towards), cho_solve(factor, np.eye(len(slope)))
    population, given = (
        inverse @ tables.error(weights, positive, population=which) @ inverse
        for which in (True, False)
    )
    return weights, (population, given)


def _equation(tables: PairTables, positive: int, l2: float) -> tuple[Tensor, Tensor]:
    """Return S and m of the normal equations S w = m, with the penalty."""
    moments = tables.moments
    slope = moments.second + tables.records * penalty(len(moments.second), l2)
    return slope, _towards(moments, positive)


def _posterior(slope: Tensor, towards: Tensor, error: Tensor) -> Tensor:
    """Return the posterior mean of weights under the most likely prior; the intercept is free."""
    records = slope[0, 0]
    inner, own = (
        slope[1:, 1:] / records,
        towards[1:] / records - slope[1:, 0] * (towards[0] / records**2),
    )
    noise = error[1:, 1:] / records**2
    noise = noise + _LEAST * np.eye(len(noise))
    square = inner @ inner
    best: tuple[float, Tensor] | None = None
    for prior in _PRIORS:
        try:
            factor = cho_factor(prior * square + noise)
        except LinAlgError:
            continue
        turned = cho_solve(factor, own)
        height = float(own @ turned) + 2 * float(np.log(np.diag(factor[0])).sum())
        if best is None or height < best[0]:
            best = height, prior * inner @ turned
    found = np.zeros(len(own)) if best is None else best[1]
    first = (towards[0] - slope[0, 1:] @ found) / records
    return np.concatenate([[first], found])


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
