"""Fitting one plane after another to the counts that a loss can be fitted to."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pramana_core.domain import Domain, Variable
from pramana_core.errors import EstimationError, LimitExceeded, OptionError
from pramana_core.learn.bayes_classifier.learning import learn_bayes_classifier, log_odds
from pramana_core.learn.bayes_classifier.model import BayesClassifier
from pramana_core.learn.bayes_classifier.replicates import Replicates
from pramana_core.learn.common.documents import stream
from pramana_core.learn.linear.columns import DesignMatrix, Scaling
from pramana_core.learn.linear.errors import JUDGED_NUMBERS, Equation, accuracy_of
from pramana_core.learn.linear.model import (
    INTERCEPT,
    Accuracy,
    Basis,
    LinearClassifier,
    Plane,
    Weight,
)
from pramana_core.learn.linear.options import LinearOptions
from pramana_core.learn.linear.pairs import PairEquation, PairTables, odds_weights
from pramana_core.learn.linear.pocket import (
    Solution,
    least_squares,
    logistic,
    pocket,
    require_independent,
)
from pramana_core.learn.linear.sources import (
    Classed,
    drawn_counts,
    expected_counts,
    gridded,
    moments_of_counts,
    raw_counts,
)
from pramana_core.marginals.counts import LEVEL, Codes, Marginals, MarginalTable, Tensor
from pramana_core.marginals.score_interval import normal_quantile
from pramana_core.progress import OnShare, Tick

CELLS = 1 << 20
"""Features and class with more cells together are not tabulated."""

_LEARNED = 0.9
"""The share of the work when a network is learned; then records are drawn from it."""

PAIR_ERRORS = 1 << 32
"""Up to this many numbers (pairs of columns by pairs of features) errors come from pairs."""


@dataclass(frozen=True, eq=False)
class WeightErrors:
    """The errors of weights.

    Attributes:
        covariances: of the scaled weights, against the population and given the records; None
            where that is not told apart.
        intervals: of the weights in the columns' own units, intercept first, (1 + columns, 2).
        certainty: see `Equation.certainty`.
    """

    covariances: tuple[Tensor, Tensor | None]
    intervals: Tensor
    certainty: float


@dataclass(frozen=True, eq=False)
class PlaneFit:
    """Scaled weights for one plane, and how well they are known."""

    positive: int
    weights: Tensor
    errors: WeightErrors | None = None


class Sources:
    """The counts behind each basis, made when first asked for and kept."""

    def __init__(
        self,
        marginals: Marginals,
        inputs: Domain,
        target: str,
        options: LinearOptions,
        on_share: OnShare,
    ):
        self._marginals, self._inputs, self._target = marginals, inputs, target
        self._names = [*inputs.names, target]
        self._options, self._on_share = options, on_share
        self._kept: dict[Basis, Classed] = {}
        self._pairs: PairEquation | None = None

    @property
    def told(self) -> bool:
        """Whether reports tell the table of all features and the class."""
        return self._marginals.can_estimate(self._names)

    @cached_property
    def table(self) -> MarginalTable:
        """The raw counts, class last: the unbiased ones where there are such."""
        return self._unbiased or self._marginals.marginal(self._names)

    @property
    def biased(self) -> bool:
        """Whether there are none."""
        return self._unbiased is None

    @cached_property
    def _unbiased(self) -> MarginalTable | None:
        return self._marginals.unbiased(self._names)

    def of(self, basis: Basis, seed: int) -> Classed:
        """Return the counts of all cells, or of records drawn from the network."""
        if basis not in self._kept:
            found: Classed
            if basis == "raw":
                found = raw_counts(self.table)
            elif basis == "expected":
                found = expected_counts(self._marginals, self._names)
            else:
                found = drawn_counts(self.network, self._options.sample, seed, self._drawn)
            self._kept[basis] = found
        return self._kept[basis]

    def _drawn(self, share: float) -> None:
        self._on_share(_LEARNED + (1 - _LEARNED) * share)

    def _learned(self, done: int, total: int) -> None:
        self._on_share(_LEARNED * done / max(total, 1))

    def pairs(self, design: DesignMatrix, tick: Tick) -> PairEquation:
        """Return the normal equations from the tables of pairs."""
        if self._pairs is None:
            tables = PairTables.of(self._marginals, design, self._inputs, self._target, tick)
            self._pairs = PairEquation(tables, self._options.l2)
        return self._pairs

    @cached_property
    def network(self) -> BayesClassifier:
        """A network of features and class, learned from pairs and triples."""
        return learn_bayes_classifier(
            self._marginals,
            self._target,
            self._inputs.names,
            on_step=self._learned,
        )

    @cached_property
    def replicates(self) -> Replicates:
        """The network's tables and their bootstrap samples."""
        return Replicates.of(self.network, self._marginals, tick=lambda: self._drawn(0.0))


def bases_of(options: LinearOptions, cells: int, *, told: bool = True) -> tuple[Basis, ...]:
    """Return what a loss is fitted to, the first choice first.

    Args:
        options: the loss, and the choice of counts.
        cells: those of the features and the class together.
        told: whether the reports tell their table.

    Raises OptionError if the choice of counts leaves nothing.
    """
    tabulated = told and cells <= CELLS
    if options.loss == "perceptron":
        return ("expected",) if tabulated else ("network",)
    first: tuple[Basis, ...] = ("raw",)
    last: tuple[Basis, ...] = ("expected",)
    if not tabulated:
        first, last = (("pairs",) if options.loss == "least-squares" else ()), ("network",)
    chosen = {"raw": first, "expected": last, None: first + last}[options.counts]
    if not chosen:
        raise OptionError(
            f"The raw counts of {cells} cells are not tabulated; at most {CELLS} are."
            if told
            else "No reports tell the raw counts of all features and the class together.",
            where="counts",
            remedy="Leave the choice of counts out, choose fewer features, or least squares.",
        )
    return chosen


@dataclass(frozen=True, eq=False)
class PlaneTask:
    """What all planes of one classifier are fitted with."""

    inputs: Domain
    target: Variable
    options: LinearOptions
    scaling: Scaling
    seed: int
    sources: Sources
    positives: tuple[int, ...]
    tick: Tick

    @cached_property
    def bases(self) -> tuple[Basis, ...]:
        """What can be fitted to, the first choice first."""
        if self.wanted == ("network",) and self._linear:
            return ("naive-bayes",)
        return self.wanted

    @cached_property
    def wanted(self) -> tuple[Basis, ...]:
        """The same before a network is learned."""
        cells = self.inputs.size * self.target.size
        return bases_of(self.options, cells, told=self.sources.told)

    @property
    def _linear(self) -> bool:
        """Whether the network's own classifier is linear in the columns, and is taken."""
        if self.options.loss != "logistic" or self.sources.network.model != "naive-bayes":
            return False
        columns = Counter(column.variable for column in self.scaling.columns)
        return all(columns[variable.name] == variable.size - 1 for variable in self.inputs)

    @cached_property
    def design(self) -> DesignMatrix:
        """The scaled columns."""
        return self.scaling.design(self.inputs)

    def prepare(self, basis: Basis) -> None:
        """Draw the records of a network, which is most of the work."""
        if basis == "network":
            self._source(basis)

    def fit(self, basis: Basis, positive: int, number: int) -> PlaneFit | None:
        """Return the plane of a class, the `number`-th fitted; None if the basis has none."""
        self.tick()
        if self.options.loss == "perceptron":
            return PlaneFit(positive, self._pocket(self._source(basis), positive, number))
        if basis == "pairs":
            return self._of_pairs(positive)
        if basis == "naive-bayes":
            return self._of_odds(positive)
        solution = self._solution(basis, positive)
        if solution is None:
            return None
        if basis == "network":
            return PlaneFit(positive, solution.weights)
        equation = self.equation(positive)
        # Expected counts of noisy reports have a bias that no error tells.
        if not equation.serves or (basis == "expected" and equation.noisy):
            return PlaneFit(positive, solution.weights)
        if equation.corrects:
            corrected = equation.corrected(solution, self.tick)
            if corrected is None:
                return None
            solution = corrected
        back = self.scaling.back
        intervals = np.full((len(back), 2), np.nan)
        known = [0, *(1 + kept for kept in self.scaling.kept)]
        intervals[known] = equation.intervals(solution, back[known], self.tick)
        certainty = equation.certainty(solution, back[known])
        errors = WeightErrors(equation.covariances(solution), intervals, certainty)
        return PlaneFit(positive, solution.weights, errors)

    def accuracy(self, model: LinearClassifier) -> Accuracy | None:
        """Return how many new records a model fitted by this task classifies right, if it is told.

        Only unbiased counts of the features and the class together tell it, and planes that are
        fitted to them in little time. Of drawn records it would be that on the network's own law.
        """
        if model.basis != "raw" or self.sources.biased:
            return None
        if self.design.size * self.inputs.size * self.target.size > JUDGED_NUMBERS:
            return None
        source = self._source("raw")

        def refitted(counts: Tensor) -> Codes | None:
            others, planes = gridded(counts), []
            for plane in model.planes:
                positive = self.target.code(plane.positive)
                solution = self._solved(others, positive)
                if solution is None:
                    return None
                planes.append(plane_of(PlaneFit(positive, solution.weights), self))
            return replace(model, planes=tuple(planes)).classes_of(source.cells)

        drawn = stream(self.seed, len(self.positives))
        try:
            return accuracy_of(self.sources.table, model.classes_of(source.cells), refitted, drawn)
        except (EstimationError, LimitExceeded):
            return None

    def _of_pairs(self, positive: int) -> PlaneFit | None:
        """Return the least squares plane from pairs, with its errors."""
        equation = self.sources.pairs(self.design, self.tick)
        weights = equation.solve(positive)
        if weights is None:
            return None
        same = equation.tables.noisy and self.sources.told
        if same or self.design.size**2 * len(self.inputs) ** 2 > PAIR_ERRORS:
            return PlaneFit(positive, weights)
        covariances = equation.covariances(weights, positive)
        return PlaneFit(positive, weights, self._by_deviates(weights, covariances))

    def _of_odds(self, positive: int) -> PlaneFit:
        """Return the plane of a class by naive Bayes, with errors by bootstrap."""
        binary = self.target.size == 2
        classes = range(2) if binary else self.positives
        odds = log_odds(self.sources.replicates, classes, self.sources.network.weight)
        place = list(classes).index(positive)
        # Of two classes the only score is the difference of theirs.
        factor = 2.0 if binary else 1.0
        made = odds_weights(self.design, self.inputs, odds, place) * factor
        covariance = np.cov(made[1:], rowvar=False)
        return PlaneFit(positive, made[0], self._by_deviates(made[0], (covariance, None)))

    def _by_deviates(
        self, weights: Tensor, covariances: tuple[Tensor, Tensor | None]
    ) -> WeightErrors:
        """Return errors with intervals of so many standard errors to both sides."""
        back = self.scaling.back
        error = np.sqrt(np.maximum(((back @ covariances[0]) * back).sum(axis=1), 0.0))
        centre, far = back @ weights, normal_quantile(LEVEL) * error
        intervals = np.stack([centre - far, centre + far], axis=1)
        return WeightErrors(covariances, intervals, np.inf)

    def _pocket(self, source: Classed, positive: int, number: int) -> Tensor:
        design, options = self.design, self.options
        start = np.zeros(design.size)
        if options.keep == "fewest-wrong":
            squares = least_squares(moments_of_counts(design, source), positive, 0.0)
            start = start if squares is None else squares.weights
        rng = stream(self.seed, number)
        return pocket(design, source, positive, start, options.steps, rng, self.tick, options.keep)

    def equation(self, positive: int) -> Equation:
        """Return the estimating equation of a class's plane on the raw counts."""
        loss, l2 = self.options.loss, self.options.l2
        return Equation(self.sources.table, self.design, positive, loss, l2)

    def _source(self, basis: Basis) -> Classed:
        return self.sources.of(basis, self.seed)

    def _solution(self, basis: Basis, positive: int) -> Solution | None:
        source = self._source(basis)
        if source.valid:
            require_independent(self.design, source.cells, source.totals, self.options.l2)
        return self._solved(source, positive)

    def _solved(self, source: Classed, positive: int) -> Solution | None:
        design, l2 = self.design, self.options.l2
        if self.options.loss == "logistic":
            return logistic(design, source, positive, l2, self.tick)
        return least_squares(moments_of_counts(design, source), positive, l2)


def plane_of(fit: PlaneFit, task: PlaneTask) -> Plane:
    """Return a plane in the columns' own units."""
    scaling = task.scaling
    values = scaling.back @ fit.weights
    names = (INTERCEPT, *(column.name for column in scaling.columns))
    weights = [Weight(name, value) for name, value in zip(names, values.tolist(), strict=True)]
    # No error is known of a column that was left out, nor of any where the loss gives none.
    if fit.errors is not None:
        for place in (0, *(1 + number for number in scaling.kept)):
            row = scaling.back[place]
            se, se_records = (
                None if covariance is None else float(np.sqrt(max(row @ covariance @ row, 0.0)))
                for covariance in fit.errors.covariances
            )
            low, high = fit.errors.intervals[place].tolist()
            estimate = weights[place].estimate
            weights[place] = Weight(names[place], estimate, se, se_records, (low, high))
    return Plane(task.target.categories[fit.positive], tuple(weights))
