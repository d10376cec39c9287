"""Fitting one plane after another to the counts that a loss can be fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shared.domain import Domain, Variable
from shared.errors import OptionError
from shared.learn.common.resampling import stream
from shared.learn.linear.columns import Column, DesignMatrix, Scaling
from shared.learn.linear.errors import CERTAIN, Equation, accuracy_of
from shared.learn.linear.model import Accuracy, Basis, LinearClassifier, Plane
from shared.learn.linear.options import LinearOptions
from shared.learn.linear.pocket import pocket
from shared.learn.linear.solving import Solution, least_squares, logistic, require_independent
from shared.learn.linear.sources import (
    Classed,
    DrawnRecords,
    Moments,
    drawn_counts,
    expected_counts,
    moments_of_counts,
    moments_of_pairs,
    raw_counts,
)
from shared.marginals.counts import Marginals, MarginalTable, Tensor
from shared.progress import OnShare, Tick

CELLS = 1 << 20
"""Features and class with more cells together are not tabulated."""


@dataclass(frozen=True, eq=False)
class WeightErrors:
    """The errors of weights.

    Attributes:
        covariances: of the scaled weights, against the population and given the records.
        intervals: of the weights in the columns' own units, intercept first, (1 + columns, 2).
        certainty: see `Equation.certainty`.
    """

    covariances: tuple[Tensor, Tensor]
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

    def __init__(self, marginals: Marginals, inputs: Domain, target: str, options: LinearOptions):
        self._marginals, self._inputs, self._target = marginals, inputs, target
        self._names = [*inputs.names, target]
        self._options = options
        self._kept: dict[Basis, Classed] = {}
        self._pairs: Moments | None = None

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

    def of(self, basis: Basis, seed: int, on_share: OnShare) -> Classed:
        """Return the counts of a basis other than `pairs`."""
        if basis not in self._kept:
            found: Classed
            if basis == "raw":
                found = raw_counts(self.table)
            elif basis == "expected":
                found = expected_counts(self._marginals, self._names)
            else:
                records = self._options.sample
                found = drawn_counts(
                    self._marginals, self._inputs, self._target, records, seed, on_share
                )
            self._kept[basis] = found
        return self._kept[basis]

    def pairs(self, design: DesignMatrix, tick: Tick) -> Moments:
        """Return the moments of scaled columns from the counts of pairs."""
        if self._pairs is None:
            target = self._target
            self._pairs = moments_of_pairs(self._marginals, design, self._inputs, target, tick)
        return self._pairs


def bases_of(options: LinearOptions, cells: int) -> tuple[Basis, ...]:
    """Return what a loss is fitted to, the first choice first.

    Raises OptionError if the choice of counts leaves nothing.
    """
    tabulated = cells <= CELLS
    if options.loss == "perceptron":
        return ("expected",) if tabulated else ("network",)
    first: tuple[Basis, ...] = ("raw",)
    last: tuple[Basis, ...] = ("expected",)
    if not tabulated:
        first, last = (("pairs",) if options.loss == "least-squares" else ()), ("network",)
    chosen = {"raw": first, "expected": last, None: first + last}[options.counts]
    if not chosen:
        raise OptionError(
            f"The raw counts of {cells} cells are not tabulated; at most {CELLS} are.",
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
    tick: Tick
    on_share: OnShare

    @cached_property
    def bases(self) -> tuple[Basis, ...]:
        """What can be fitted to, the first choice first."""
        return bases_of(self.options, self.inputs.size * self.target.size)

    @cached_property
    def design(self) -> DesignMatrix:
        """The scaled columns."""
        return self.scaling.design(self.inputs)

    def prepare(self, basis: Basis) -> None:
        """Draw the records of a network, which is most of the work; `on_share` says how far."""
        if basis == "network":
            self._source(basis)

    def fit(self, basis: Basis, positive: int, number: int) -> PlaneFit | None:
        """Return the plane of a class, the `number`-th fitted; None if the basis has none."""
        self.tick()
        if self.options.loss == "perceptron":
            return PlaneFit(positive, self._pocket(self._source(basis), positive, number))
        solution = self._solution(basis, positive)
        if solution is None:
            return None
        if basis not in ("raw", "expected"):
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
        """Return how many records a model fitted by this task classifies right."""
        if model.basis == "pairs":
            return None
        source = self._source(model.basis)
        predicted = model.classes_of(source.cells)
        if isinstance(source, DrawnRecords):
            return Accuracy(float(np.mean(predicted == source.codes)))
        return accuracy_of(self.sources.table, predicted)

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
        return self.sources.of(basis, self.seed, self.on_share)

    def _solution(self, basis: Basis, positive: int) -> Solution | None:
        design, l2 = self.design, self.options.l2
        if basis == "pairs":
            return least_squares(self.sources.pairs(design, self.tick), positive, l2)
        source = self._source(basis)
        if source.valid:
            require_independent(design, source.cells, source.totals, l2)
        if self.options.loss == "logistic":
            return logistic(design, source, positive, l2, self.tick)
        return least_squares(moments_of_counts(design, source), positive, l2)


def notes_of(
    task: PlaneTask,
    columns: Sequence[Column],
    basis: Basis,
    fits: Sequence[PlaneFit],
    planes: Sequence[Plane],
) -> tuple[str, ...]:
    """Return what the reader of the weights must know, a sentence or a few each."""
    notes = []
    still = [column.name for column in columns if column.deviation == 0]
    if still:
        notes.append(f"Estimated not to vary, so without weight: {', '.join(still)}.")
    parted = {plane.positive for plane in planes}
    absent = [name for name in task.target.categories if len(planes) > 1 and name not in parted]
    if absent:
        notes.append(f"Without records beyond the noise, so never predicted: {', '.join(absent)}.")
    if basis != task.bases[0]:
        notes.append(
            "The raw counts allow no solution: noise is larger than what tells the columns apart."
        )
    if basis == "network":
        notes.append(
            f"The variables have more than {CELLS} cells together: fitted to {task.options.sample}"
            " records drawn from a network that was learned of them. Without errors, and the"
            " accuracy is that on the drawn records. Least squares needs no drawn records."
        )
    elif basis == "pairs":
        notes.append(
            f"The variables have more than {CELLS} cells together: fitted to the counts of pairs,"
            " which are enough for the weights but not for their errors, the correction of what"
            " noise adds to them, or the accuracy."
        )
    elif task.options.loss != "perceptron":
        notes += _notes_of_errors(task, fits, planes)
    return tuple(notes)


def _notes_of_errors(
    task: PlaneTask, fits: Sequence[PlaneFit], planes: Sequence[Plane]
) -> list[str]:
    """Return what must be known of the errors of weights that were fitted to counts of cells."""
    notes = []
    equation = task.equation(fits[0].positive)
    if fits[0].errors is None:
        if equation.serves:
            notes.append(
                "Fitted to expected counts, whose bias draws the weights to 0 by more than an"
                " error could say: without errors and intervals. More records, less noise, fewer"
                " features or an l2 above 0 help."
            )
        else:
            notes.append("Too many cells and columns together for errors of the weights.")
        return notes
    if equation.noisy and task.sources.biased:
        notes.append(
            "The reports have no unbiased counts of these variables together. The errors and"
            " intervals leave out the bias of the estimator's, which is large where many counts"
            " are near 0."
        )
    if equation.noisy and not equation.corrects:
        notes.append(
            "Too many cells and columns together to correct the weights for what noise adds to"
            " them: those far from 0 are too far by a part of their errors."
        )
    pairs = list(zip(fits, planes, strict=True))
    weak = [p.positive for f, p in pairs if f.errors and f.errors.certainty < CERTAIN]
    if weak and equation.noisy:
        of = f" of {', '.join(weak)}" if len(planes) > 1 else ""
        notes.append(
            f"Noise hides most of how the columns vary: the weights{of} may be off by a good part"
            " of their errors, most likely too near 0. Their intervals allow for it. More records,"
            " less noise or fewer features help."
        )
    endless = {
        weight.column: None
        for plane in planes
        for weight in plane.weights
        if weight.interval is not None and not np.isfinite(weight.interval).all()
    }
    if endless:
        notes.append(
            "Of these weights the reports rule out no value, however large, on the side where the"
            f" interval has no end: {', '.join(endless)}."
        )
    return notes
