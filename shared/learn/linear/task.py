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
from shared.learn.linear.errors import accuracy_of, covariances
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
class PlaneFit:
    """Scaled weights for one plane; covariances against the population and given the records."""

    positive: int
    weights: Tensor
    errors: tuple[Tensor, Tensor] | None = None


class Sources:
    """The counts behind each basis, made when first asked for and kept."""

    def __init__(self, marginals: Marginals, inputs: Domain, target: str, options: LinearOptions):
        self._marginals, self._inputs, self._target = marginals, inputs, target
        self._options = options
        self._kept: dict[Basis, Classed] = {}
        self._pairs: Moments | None = None

    @cached_property
    def table(self) -> MarginalTable:
        """The raw counts, class last."""
        return self._marginals.marginal([*self._inputs.names, self._target])

    def of(self, basis: Basis, seed: int, on_share: OnShare) -> Classed:
        """Return the counts of a basis other than `pairs`."""
        if basis not in self._kept:
            found: Classed
            if basis == "raw":
                found = raw_counts(self.table)
            elif basis == "expected":
                found = expected_counts(self._marginals, [*self._inputs.names, self._target])
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
        errors = None
        if basis in ("raw", "expected"):
            table, loss = self.sources.table, self.options.loss
            errors = covariances(table, self.design, solution, positive, loss)
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
        squares = least_squares(moments_of_counts(self.design, source), positive, 0.0)
        start = np.zeros(self.design.size) if squares is None else squares.weights
        rng = stream(self.seed, number)
        return pocket(self.design, source, positive, start, self.options.steps, rng, self.tick)

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
    target: Variable,
    columns: Sequence[Column],
    options: LinearOptions,
    bases: Sequence[Basis],
    basis: Basis,
    planes: Sequence[Plane],
) -> tuple[str, ...]:
    """Return what the reader of the weights must know, a sentence each."""
    notes = []
    still = [column.name for column in columns if column.deviation == 0]
    if still:
        notes.append(f"Estimated not to vary, so without weight: {', '.join(still)}.")
    parted = {plane.positive for plane in planes}
    absent = [name for name in target.categories if len(planes) > 1 and name not in parted]
    if absent:
        notes.append(f"Without records beyond the noise, so never predicted: {', '.join(absent)}.")
    if basis != bases[0]:
        notes.append(
            "The raw counts allow no solution: noise is larger than what tells the columns apart."
        )
        if basis == "expected":
            notes.append(
                "Fitted to expected counts, which noise biases; the errors leave that out."
                " Counts estimated by maximum likelihood or a log-linear model serve better."
            )
    if basis == "network":
        notes.append(
            f"The variables have more than {CELLS} cells together: fitted to {options.sample}"
            " records drawn from a network that was learned of them. Without errors, and the"
            " accuracy is that on the drawn records. Least squares needs no drawn records."
        )
    elif basis == "pairs":
        notes.append(
            f"The variables have more than {CELLS} cells together: fitted to the counts of pairs,"
            " which are enough for the weights but not for their errors or the accuracy."
        )
    elif options.loss != "perceptron" and planes[0].weights[0].se is None:
        notes.append("Too many cells and columns together for errors of the weights.")
    return tuple(notes)
